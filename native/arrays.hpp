// Arrays that pass between Python and native code.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>

#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int D> using In =
    nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D> using Out = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D> using MaybeIn = std::optional<In<T, D>>;
template <class T, int D> using MaybeOut = std::optional<Out<T, D>>;

template <class A> auto* pointer(const std::optional<A>& array) {
    return array ? array->data() : nullptr;
}

// Releases the interpreter if the work takes long enough. For a single document, waking a thread
// that waits for the interpreter takes longer than the work.
//
// A signal is handled within about 50 ms; an exception from its handler or from the thread's own
// check (`watched`) ends the call (threads.hpp). Use nb::gil_scoped_release in code that holds a
// lock or must not stop half way.
class Released {
public:
    static inline thread_local PyObject* own_check = nullptr;  // a callable or null

    explicit Released(int64_t work = kWorthReleasing) {
        if (work < kWorthReleasing) return;
        release_.emplace();
        watch_.emplace(check_signals);
    }

private:
    static void check_signals() {
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        const nb::handle own = own_check;
        if (own) own();
    }

    static constexpr int64_t kWorthReleasing =
        1 << 19;  // about 0.1 ms; measured: benchmarks/README.md, compare.py
    std::optional<nb::gil_scoped_release> release_;
    std::optional<opelda::Watch> watch_;
};

// Returns a new NumPy array of n numbers; `data` points to its memory.
template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> numpy_array(size_t n, T** data) {
    *data = new T[n ? n : 1];
    nb::capsule owner(*data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(*data, {n}, owner);
}

namespace opelda {

void add_batches(nb::module_& m);   // module_batches.cpp
void add_learning(nb::module_& m);  // module_learning.cpp
void add_sampling(nb::module_& m);  // module_sampling.cpp
void add_sweeps(nb::module_& m);    // module_sweeps.cpp
void add_counts(nb::module_& m);    // module_counts.cpp

}  // namespace opelda

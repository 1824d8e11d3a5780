// One block of scratch memory per thread, divided into aligned arrays.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "kernels.hpp"
#include "simd.hpp"

namespace OPELDA_ISA {

OPELDA_INLINE int64_t padded(int64_t n) { return (n + kPad - 1) / kPad * kPad; }

class Arena {
public:
    // `allocate` asks for every array it needs. It is called twice: to measure, and with memory.
    template <class Allocate> explicit Arena(const Allocate& allocate) {
        allocate(*this);
        block_ = static_cast<char*>(std::aligned_alloc(64, size_t(used_) + 64));
        if (!block_) opelda::out_of_memory();
        used_ = 0;
        allocate(*this);
    }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { std::free(block_); }

    template <class T> T* array(int64_t n) {
        T* part = block_ ? reinterpret_cast<T*>(block_ + used_) : nullptr;
        used_ += (n * int64_t(sizeof(T)) + 63) / 64 * 64;
        return part;
    }

private:
    char* block_ = nullptr;
    int64_t used_ = 0;  // a multiple of 64
};

}  // namespace OPELDA_ISA

// One block of scratch memory per thread, divided into aligned arrays.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

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
        // (huge pages: with small pages, random reads miss the TLB)
        const size_t unit = used_ < kHuge ? 64 : kHuge, bytes = (size_t(used_) / unit + 1) * unit;
        block_ = static_cast<char*>(std::aligned_alloc(unit, bytes));
        if (!block_) opelda::out_of_memory();
#if defined(__linux__)
        if (unit == kHuge) (void)madvise(block_, bytes, MADV_HUGEPAGE);  // granted or not
#endif
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
    static constexpr int64_t kHuge = 1 << 21;  // a page's bytes

    char* block_ = nullptr;
    int64_t used_ = 0;  // a multiple of 64
};

}  // namespace OPELDA_ISA

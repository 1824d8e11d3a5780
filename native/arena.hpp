// One block of scratch memory per thread, cut into aligned arrays.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "simd.hpp"

namespace OPELDA_ISA {

OPELDA_INLINE int64_t padded(int64_t n) { return (n + kPad - 1) / kPad * kPad; }

class Arena {
  public:
    // Two passes over the same `cut` calls: the first, without memory, measures.
    template <class T> T* cut(int64_t n) {
        const int64_t bytes = (n * int64_t(sizeof(T)) + 63) / 64 * 64;
        T* part = block_ ? reinterpret_cast<T*>(block_ + used_) : nullptr;
        used_ += bytes;
        return part;
    }
    bool allocate() {
        const size_t bytes = size_t(used_) + 64;
        block_ = static_cast<char*>(std::aligned_alloc(64, bytes / 64 * 64));
        used_ = 0;
        return block_ != nullptr;
    }
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { std::free(block_); }

  private:
    char* block_ = nullptr;
    int64_t used_ = 0;
};

}  // namespace OPELDA_ISA

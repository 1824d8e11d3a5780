// Rows of topic weights as one-byte floats rounded up, for bounds (read in document.hpp): a quarter
// of the memory traffic. Five bits of exponent below the row's largest weight and three of
// mantissa.
#pragma once

#include <cmath>

#include "document.hpp"

namespace OPELDA_ISA {

// The bytes of kLanes weights scaled to at most 1, each in a separate integer.
OPELDA_INLINE vi coarse_bytes(vf scaled) {
    vi bits;
    std::memcpy(&bits, &scaled, sizeof bits);
    const vi rounded_up = ((bits + 0xfffff) >> 20) - (96 << 3);
    const vi lowest = vi{} + (1 << 3);
    const vi code = rounded_up > lowest ? rounded_up : lowest;
    return bits > 0 ? code : vi{};
}

inline void coarsen_row(const float* row, int64_t stride, int32_t* out, float* scale) {
    vf top = {};
    for (int64_t k = 0; k < stride; k += kLanes) top = max(top, load(row + k));
    int exponent;
    std::frexp(largest(top), &exponent);
    const float down = std::ldexp(1.0f, -exponent);
    for (int64_t block = 0; block < stride; block += 4 * kCoarseBlock, out += kCoarseBlock) {
        for (int64_t i = 0; i < kCoarseBlock; i += kLanes) {
            vi packed = {};
            for (int64_t g = 0; g < 4; ++g) {
                const int64_t k = block + g * kCoarseBlock + i;
                if (k < stride) packed |= coarse_bytes(load(row + k) * down) << int(8 * g);
            }
            std::memcpy(out + i, &packed, sizeof packed);
        }
    }
    *scale = std::ldexp(1.0f, exponent + 48);
}

}  // namespace OPELDA_ISA

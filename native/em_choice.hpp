// The largest of many non-negative numbers, without sorting.
#pragma once

#include "checked.hpp"
#include "document.hpp"

namespace OPELDA_ISA {

OPELDA_INLINE vi as_bits(vf v) {
    vi bits;
    std::memcpy(&bits, &v, sizeof bits);
    return bits;
}

OPELDA_INLINE int32_t bits_of(float value) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

OPELDA_INLINE int32_t total(vi v) {
    return fold(v, [](auto a, auto b) { return a + b; });
}

// Writes the indices of the `wanted` largest of n values, ascending; of equal values the lowest
// indices. Non-negative floats have the same order as their bits, so bisection on the bits finds
// the limit; the bits of -0 would sort below all values. `chosen` has room for n + 1 indices;
// values from n to `stride`, a multiple of kPad, are overwritten.
__attribute__((noinline)) inline void choose_largest(float* value, int64_t n, int64_t stride,
                                                     int64_t wanted, int32_t* chosen) {
    for (int64_t k = 0; k < n; ++k) OPELDA_ASSERT(bits_of(value[k]) >= 0);
    for (int64_t k = n; k < stride; ++k) value[k] = -1;  // bits below all valid values
    vf top = {};
    for (int64_t k = 0; k < stride; k += kLanes) top = max(top, load(value + k));
    // more than `wanted` lie above low, at most `wanted` above high
    int32_t low = -1, high = bits_of(largest(top)), above = 0;
    if (wanted >= n) high = low, above = int32_t(wanted);
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        vi counts = {};
        for (int64_t k = 0; k < stride; k += kLanes) counts -= as_bits(load(value + k)) > middle;
        const int32_t count = total(counts);
        if (count > wanted) {
            low = middle;
            continue;
        }
        high = middle, above = count;
        if (count == wanted) break;
    }
    int64_t found = 0, equal = wanted - above;  // number of values equal to the limit to take
    if (equal == 0) {
        for (int64_t k = 0; k < n; ++k) {
            chosen[found] = int32_t(k);
            found += bits_of(value[k]) > high;
        }
        OPELDA_ASSERT(found == (wanted < n ? wanted : n));
        return;
    }
    for (int64_t k = 0; k < n; ++k) {
        const int32_t bits = bits_of(value[k]);
        const bool tied = bits == high && equal > 0;
        chosen[found] = int32_t(k);
        found += bits > high || tied;
        equal -= tied;
    }
    OPELDA_ASSERT(found == (wanted < n ? wanted : n));
}

// The same for some number from `least` to `most`, which needs fewer passes over the values;
// returns the number.
__attribute__((noinline)) inline int64_t choose_some(float* value, int64_t n, int64_t stride,
                                                     int64_t least, int64_t most, int32_t* chosen) {
    for (int64_t k = n; k < stride; ++k) value[k] = -1;
    vf top = {};
    for (int64_t k = 0; k < stride; k += kLanes) top = max(top, load(value + k));
    // start from an interval that most likely contains the limit; otherwise, or with many equal
    // values, use the full search
    int32_t high = bits_of(largest(top)), low = high - (6 << 23);
    for (int looks = 0; looks < 16 && n > most; ++looks) {
        const int32_t middle = low + (high - low) / 2;
        vi counts = {};
        for (int64_t k = 0; k < stride; k += kLanes) counts -= as_bits(load(value + k)) > middle;
        const int32_t count = total(counts);
        if (count > most) {
            low = middle;
        } else if (count < least) {
            high = middle;
        } else {
            int64_t found = 0;
            for (int64_t k = 0; k < n; ++k) {
                chosen[found] = int32_t(k);
                found += bits_of(value[k]) > middle;
            }
            return found;
        }
    }
    const int64_t wanted = most < n ? most : n;
    choose_largest(value, n, stride, wanted, chosen);
    return wanted;
}

}  // namespace OPELDA_ISA

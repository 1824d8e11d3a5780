// The 64-bit arithmetic of random numbers, identical to engines/_documents.py. Always inlined: the
// linker could keep a copy built for one processor for all.
#pragma once

#include <cstdint>

namespace opelda {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;

// The finaliser of SplitMix64 (Steele et al. 2014).
__attribute__((always_inline)) constexpr uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

}  // namespace opelda

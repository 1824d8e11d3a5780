// Random numbers that depend on the seed and the document's content alone: the same arithmetic as inference/_randomness.py.
#pragma once

#include "document.hpp"

namespace OPELDA_ISA {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;

OPELDA_INLINE uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

inline uint64_t document_key(const Problem& p, int64_t index, uint64_t seed) {
    uint64_t total = 0;
    for (int64_t at = p.indptr[index]; at < p.indptr[index + 1]; ++at) {
        uint32_t bits;
        std::memcpy(&bits, p.counts + at, sizeof bits);
        const uint32_t word = uint32_t(p.ids ? p.ids[p.words[at]] : p.words[at]);
        total += mix((uint64_t(word) << 32 | bits) + kGolden);
    }
    return mix(total + mix(seed + kGolden));
}

}  // namespace OPELDA_ISA

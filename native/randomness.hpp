// Random numbers that depend on the seed and the document's content only: identical to
// engines/_documents.py.
#pragma once

#include "document.hpp"
#include "mixing.hpp"

namespace OPELDA_ISA {

using opelda::kGolden;
using opelda::mix;

constexpr uint64_t kBetweenLooks = 1 << 12;  // draws between two signal checks

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

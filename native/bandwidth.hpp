// The memory bandwidth that limits inference.
#pragma once

#include "document.hpp"

namespace OPELDA_ISA {

// Only reads every topic weight of a document's words once, optionally with the rows of later words
// fetched `ahead`.
inline float read_rows(const Problem& p, int64_t begin, int64_t end, int64_t ahead) {
    vf total[4] = {};
    for (int64_t at = p.indptr[begin]; at < p.indptr[end]; ++at) {
        if (ahead > 0 && at + ahead < p.indptr[p.n_docs]) {
            const float* later = p.rows + int64_t(p.words[at + ahead]) * p.stride;
            for (int64_t k = 0; k < p.stride; k += kPad) __builtin_prefetch(later + k, 0, 2);
        }
        const float* row = p.rows + int64_t(p.words[at]) * p.stride;
        for (int64_t k = 0; k < p.stride; k += kLanes) total[k / kLanes % 4] += load(row + k);
    }
    return sum(total[0] + total[1] + total[2] + total[3]);
}

}  // namespace OPELDA_ISA

// What learning needs from a batch: for each of its words, sums over the documents that hold it. A word's documents are
// added in their order by one thread, so the sums do not depend on the number of threads.
#pragma once

#include "document.hpp"

namespace OPELDA_ISA {

using opelda::WordSums;

OPELDA_INLINE float dot(const float* a, const float* b, int64_t n) {
    vf acc = {};
    int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes) acc += load(a + k) * load(b + k);
    float total = sum(acc);
    for (; k < n; ++k) total += a[k] * b[k];
    return total;
}

// sums_jk = sum_d w_dj theta_dk with w = d_j, or d_j / x_dj where the words' probabilities under the mixtures are wanted.
inline void sum_word(const WordSums& s, int64_t i) {
    float* out = s.sums + i * s.n_topics;
    std::memset(out, 0, sizeof(float) * s.n_topics);
    const float* row = s.rows + int64_t(s.words[i]) * s.stride;
    for (int64_t at = s.indptr[i]; at < s.indptr[i + 1]; ++at) {
        const float* theta = s.theta + int64_t(s.docs[at]) * s.n_topics;
        float w = s.counts[at];
        if (s.divide) {  // a word that no topic of the mixture has tells nothing about the topics
            const float x = dot(theta, row, s.n_topics);
            w = x > 1e-30f ? w / x : 0;
            w = w < 1e30f ? w : 1e30f;
        }
        for (int64_t k = 0; k < s.n_topics; ++k) out[k] += w * theta[k];
    }
}

// The limit that inference is measured against: reads every topic weight of a document's words once and does nothing else,
// plainly or with the rows of later words fetched `ahead`.
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

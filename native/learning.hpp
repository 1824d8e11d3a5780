// Learning: rows of probabilities for the words of a batch, and the batch's statistics added to the
// learner's rows. One thread adds a word's documents in order, and totals are summed per block of
// words, so results do not depend on the number of threads.
#pragma once

#include "document.hpp"
#include "special.hpp"

namespace OPELDA_ISA {

using opelda::Addition;
using opelda::Mixtures;
using opelda::TopicRows;

// Smaller probabilities count as zero (see inference/_checked_topics.py).
constexpr float kSmallestProbability = 1e-15f;
// Minimum peak of a row of exp(E[log beta]): only ratios between a word's topics matter, and rows
// of words that are rare in every topic would underflow in floats.
constexpr double kLowestPeak = 1e-6;

OPELDA_INLINE float dot(const float* a, const float* b, int64_t n) {
    vf acc = {};
    int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes) acc += load(a + k) * load(b + k);
    float total = sum(acc);
    for (; k < n; ++k) total += a[k] * b[k];
    return total;
}

// Number of rows to prefetch, since rows of successive words are far apart.
constexpr int64_t kAhead = 4;
OPELDA_INLINE void fetch_row(const float* row, int64_t stride) {
    for (int64_t k = 0; k < stride; k += kPad) __builtin_prefetch(row + k, 0, 3);
}

// lambda_jk = scale * kept_jk + (prior's weight) * eta_jk
struct Weights {
    const float *kept, *prior;
    float scale, prior_weight, offset;

    Weights(const TopicRows& t, int64_t word)
        : kept(t.kept + word * t.stride),
          prior(t.prior_rows ? t.prior_rows + word * t.stride : nullptr),
          scale(t.scale),
          prior_weight(t.prior_weight),
          offset(t.prior_weight * (t.prior_words ? t.prior_words[word] : t.prior)) {}
    OPELDA_INLINE vf at(int64_t k) const {
        const vf lambda = load(kept + k) * scale;
        return prior ? lambda + load(prior + k) * prior_weight : lambda + offset;
    }
};

// beta_jk = lambda_jk / sum_j lambda_jk; `inverse` is 0 in the columns that pad the row.
inline void write_mean(const TopicRows& t, const Weights& lambda, float* row) {
    for (int64_t k = 0; k < t.stride; k += kLanes) {
        const vf p = lambda.at(k) * load(t.inverse + k);
        store(row + k, p < kSmallestProbability ? vf{} : p);
    }
}

// exp(E[log beta_jk]) = exp(psi(lambda_jk) - psi(sum_j lambda_jk)); `logs` is scratch of a row.
inline void write_logs(const TopicRows& t, const Weights& lambda, double* logs, float* row) {
    for (int64_t k = 0; k < t.stride; k += kLanes) store(row + k, lambda.at(k));
    vd highest = broadcast(-1e300);
    for (int64_t k = 0; k < t.stride; k += kDoubles) {
        const vd value = max(widen(row + k), broadcast(1e-30));
        // a rounded lambda may be above the total, a probability never above 1
        const vd difference = gamma_pair(value).digamma - load(t.digamma + k);
        const vd log_beta = difference < 0.0 ? difference : vd{};
        store(logs + k, log_beta);
        highest = max(highest, log_beta);
    }
    const double peak = largest(highest);
    constexpr double lowest = -13.815510557964274;  // log kLowestPeak
    const double lift = peak < lowest ? lowest - peak : 0;
    for (int64_t k = 0; k < t.stride; k += kDoubles) {
        const vd p = exp(load(logs + k) + lift);
        store(row + k, narrow(p < double(kSmallestProbability) ? vd{} : p));
    }
}

inline void topic_rows(const TopicRows& t, opelda::Queue& queue) {
    double* logs = nullptr;
    const Arena arena([&](Arena& a) { logs = a.array<double>(t.stride); });
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) {
        for (int64_t i = begin; i < end; ++i) {
            if (t.words && i + kAhead < t.n_words)
                fetch_row(t.kept + int64_t(t.words[i + kAhead]) * t.stride, t.stride);
            const Weights lambda(t, t.words ? t.words[i] : i);
            float* row = t.rows + i * t.stride;
            t.logs ? write_logs(t, lambda, logs, row) : write_mean(t, lambda, row);
            for (int64_t k = t.n_topics; k < t.stride; ++k) row[k] = 0;
            vd total = {};
            for (int64_t k = 0; k < t.stride; k += kDoubles) total += widen(row + k);
            if (sum(total) == 0) {  // a word unknown to all topics: a constant row, without
                                    // influence on mixtures
                for (int64_t k = 0; k < t.n_topics; ++k) row[k] = kSmallestProbability;
                total[0] = double(kSmallestProbability) * double(t.n_topics);
            }
            t.mean[i] = float(sum(total) / double(t.n_topics));
        }
    }
}

// Weight of an entry: d_j, or d_j / x_dj. A word with probability 0 under the mixture has weight 0.
OPELDA_INLINE float entry_weight(float count, float x) {
    const float w = x > 1e-30f ? count / x : 0;
    return w < 1e30f ? w : 1e30f;
}

// acc_k = sum_d w_dj theta_dk over the documents that hold word i.
inline void sum_dense(const Addition& a, int64_t i, const float* beta, float* acc) {
    const int64_t n_topics = a.n_topics;
    for (int64_t at = a.starts[i]; at < a.starts[i + 1]; ++at) {
        const opelda::Entry entry = a.entries[at];
        const float* theta = a.mixtures.theta + int64_t(entry.doc) * n_topics;
        const float w =
            a.divide ? entry_weight(entry.count, dot(theta, beta, n_topics)) : entry.count;
        for (int64_t k = 0; k < n_topics; ++k) acc[k] += w * theta[k];
    }
}

// The same for mixtures of a few topics and a rest distributed like the start: the rests reduce to
// one number per word.
inline void sum_sparse(const Addition& a, int64_t i, const float* beta, float* acc) {
    const Mixtures& m = a.mixtures;
    const float start_word = m.start_words[i];
    float rest = 0;
    for (int64_t at = a.starts[i]; at < a.starts[i + 1]; ++at) {
        const opelda::Entry entry = a.entries[at];
        const opelda::FourPicks *four = m.fours + m.first[entry.doc],
                                *last = m.fours + m.first[entry.doc + 1];
        float w = entry.count;
        if (a.divide) {
            float x = m.rest[entry.doc] * start_word;
            for (const auto* f = four; f < last; ++f) {
                const float low = f->share[0] * beta[f->topic[0]] + f->share[1] * beta[f->topic[1]];
                x += low + (f->share[2] * beta[f->topic[2]] + f->share[3] * beta[f->topic[3]]);
            }
            w = entry_weight(w, x);
        }
        rest += w * m.rest[entry.doc];
        for (; four < last; ++four)
            for (int i = 0; i < 4; ++i) acc[four->topic[i]] += w * four->share[i];
    }
    for (int64_t k = 0; k < a.stride; k += kLanes)
        store(acc + k, load(acc + k) + load(m.start + k) * rest);
}

// Adds gain_k * acc_k (times beta_jk if entries were divided) to the stored row, and the change to
// the totals.
inline void add_row(const Addition& a, const float* beta, const float* acc, float* kept,
                    double* totals) {
    for (int64_t k = 0; k < a.stride; k += kLanes) {
        vf more = load(acc + k) * load(a.gain + k);
        if (a.divide) more = more * load(beta + k);
        const vf before = load(kept + k);
        const vf after = before + more;
        store(kept + k, after);
        for (int64_t h = 0; h < kLanes; h += kDoubles) {
            // from stored values, so that totals include rounding
            const vd change = half(after, h) - half(before, h);
            store(totals + k + h, load(totals + k + h) + change);
        }
    }
}

inline void add(const Addition& a, opelda::Queue& queue) {
    float* acc = nullptr;
    const Arena arena([&](Arena& scratch) { acc = scratch.array<float>(a.stride); });
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) {
        double* totals = a.totals + begin / a.block * a.stride;
        std::memset(totals, 0, sizeof(double) * a.stride);
        for (int64_t i = begin; i < end; ++i) {
            std::memset(acc, 0, sizeof(float) * a.stride);
            if (i + kAhead < a.n_words)
                fetch_row(a.kept + int64_t(a.words[i + kAhead]) * a.stride, a.stride);
            const float* beta = a.rows + i * a.stride;
            a.mixtures.theta ? sum_dense(a, i, beta, acc) : sum_sparse(a, i, beta, acc);
            add_row(a, beta, acc, a.kept + int64_t(a.words[i]) * a.stride, totals);
        }
    }
}

}  // namespace OPELDA_ISA

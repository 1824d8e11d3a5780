// The certificate of a mixture (gap and likelihood gap) and the two terms of f, in double
// precision.
#pragma once

#include <cmath>

#include "document.hpp"
#include "special.hpp"

namespace OPELDA_ISA {

using opelda::Outputs;

// Probabilities below this count as this: a mixture that gives a word no chance at all still has a
// finite certificate.
constexpr double kTiny = 1e-30;

// sum_j d_j log x_j; leaves d_j / x_j in `ratio`.
inline double log_likelihood(const Document& doc, const double* x, double* ratio) {
    vd total = {};
    for (int64_t j = 0; j < doc.n_padded; j += kDoubles) {
        vd xs = load(x + j);
        const vd d = widen(doc.count + j);
        xs = max(xs, broadcast(kTiny));
        total += d * log(xs);
        store(ratio + j, d / xs);
    }
    return sum(total);
}

// g1'_k = sum_j d_j beta_kj / x_j
inline double likelihood_slope(const Document& doc, const double* ratio, int64_t topic) {
    double g[4] = {};
    int64_t j = 0;
    for (; j + 4 <= doc.n; j += 4)
        for (int i = 0; i < 4; ++i) g[i] += ratio[j + i] * doc.row[j + i][topic];
    for (; j < doc.n; ++j) g[0] += ratio[j] * doc.row[j][topic];
    return (g[0] + g[1]) + (g[2] + g[3]);
}

OPELDA_INLINE double positive(double gap) { return gap > 0 ? gap : 0; }

// Certifies any mixture: every method's results pass through here, except OPE's, whose own kernel
// does it on the way.
struct Certifier {
    const Problem& p;
    Document doc;
    double *x, *ratio, *slope;

    explicit Certifier(const Problem& problem) : p(problem) {}

    void allocate(Arena& arena) {
        doc.allocate(arena, p.max_words);
        x = arena.array<double>(padded(p.max_words));
        ratio = arena.array<double>(padded(p.max_words));
        slope = arena.array<double>(p.stride);
    }

    void run(int64_t index, const float* theta, const Outputs& out) {
        doc.open(p, index);
        for (int64_t j = 0; j < doc.n; ++j) {
            vd acc = {};
            int64_t k = 0;
            for (; k + kDoubles <= p.n_topics; k += kDoubles)
                acc += widen(theta + k) * widen(doc.row[j] + k);
            double total = sum(acc);
            for (; k < p.n_topics; ++k) total += double(theta[k]) * doc.row[j][k];
            x[j] = total;
        }
        for (int64_t j = doc.n; j < doc.n_padded; ++j) x[j] = 1;
        out.log_likelihood[index] = log_likelihood(doc, x, ratio);
        std::memset(slope, 0, sizeof(double) * p.stride);
        for (int64_t j = 0; j < doc.n; ++j) {
            const float* row = doc.row[j];
            const double r = ratio[j];
            for (int64_t k = 0; k < p.stride; ++k) slope[k] += r * row[k];
        }
        double best = -1e300, best_likelihood = -1e300, prior = 0, constant = 0;
        for (int64_t k = 0; k < p.n_topics; ++k) {
            const double weight = double(p.alpha[k]) - 1;
            const double share = theta[k] > kTiny ? double(theta[k]) : kTiny;
            prior += weight * std::log(share);
            constant += weight;
            if (slope[k] > best_likelihood) best_likelihood = slope[k];
            if (slope[k] + weight / share > best) best = slope[k] + weight / share;
        }
        out.log_prior[index] = prior;
        out.likelihood_gap[index] = positive(best_likelihood - doc.tokens);
        out.gap[index] = positive(best - doc.tokens - constant);
    }
};

}  // namespace OPELDA_ISA

// The certificate of a mixture (gap and likelihood gap) and the two terms of f, in double
// precision.
#pragma once

#include <cmath>

#include "document.hpp"
#include "special.hpp"

namespace OPELDA_ISA {

using opelda::Outputs;

// Smaller probabilities count as this value: a mixture that gives a word probability 0 still has a
// finite certificate.
constexpr double kTiny = 1e-30;

// The same in double precision, where bounds must hold: below any product of a share and a weight,
// and d_j divided by this value is finite.
constexpr double kImpossible = 1e-280;

// sum_j d_j log x_j; leaves d_j / x_j in `ratio`.
inline double log_likelihood(const Document& doc, const double* x, double* ratio) {
    vd total = {};
    for (int64_t j = 0; j < doc.n_padded; j += kDoubles) {
        vd xs = load(x + j);
        const vd d = widen(doc.count + j);
        xs = max(xs, broadcast(kImpossible));
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

// Upper bound of the gain in log-likelihood of any mixture, from the largest slope: N log(slope /
// N) (Jensen), plus the rounding error of sums of positive numbers over n words and m topics and of
// a few products.
inline double jensen_loss(const Document& doc, double slope, int64_t n_topics) {
    const double rounding = 0x1p-52 * double(doc.n + n_topics + 16);
    return doc.tokens * std::log1p(positive(slope / doc.tokens * (1 + rounding) - 1));
}

// Certifies the mixtures of all methods except OPE, whose kernel computes its own certificate.
// Single precision finds candidates for the largest slope; double precision decides.
struct Certifier {
    const Problem& p;
    Document doc;
    double *x, *ratio;
    double *share, *weights, *prior_slope, *nothing;  // per topic: theta_k, alpha_k - 1, and so on
    float *ratio32, *slope;
    int32_t* place;

    explicit Certifier(const Problem& problem) : p(problem) {}

    void allocate(Arena& arena) {
        doc.allocate(arena, p.max_words);
        x = arena.array<double>(padded(p.max_words));
        ratio = arena.array<double>(padded(p.max_words));
        ratio32 = arena.array<float>(padded(p.max_words));
        for (double** per_topic : {&share, &weights, &prior_slope, &nothing})
            *per_topic = arena.array<double>(p.stride);
        slope = arena.array<float>(p.stride);
        place = arena.array<int32_t>(p.stride + 1);
    }

    void prepare() {
        for (int64_t k = 0; k < p.stride; ++k) {
            weights[k] = k < p.n_topics ? (p.prior ? p.prior[k] : double(p.alpha[k])) - 1 : 0;
            nothing[k] = 0;
        }
    }

    void run(int64_t index, const float* theta, const Outputs& out) {
        doc.open(p, index);
        const double rarest = explain(theta);
        out.log_likelihood[index] = log_likelihood(doc, x, ratio);
        double excess = 0;
        out.log_prior[index] = prior(&excess);
        const bool in_range = rarest > 1e-25;  // of single precision
        for (int64_t j = 0; j < doc.n_padded && in_range; j += kDoubles)
            store(ratio32 + j, narrow(load(ratio + j) / doc.tokens));
        if (in_range) add_rows(doc.n, doc.row, ratio32, p.stride, 1.0f, slope);
        for (int64_t k = 0; k < p.n_topics && !in_range; ++k) slope[k] = 3e38f;  // any may be
        // sums of n positive terms in single precision: at most n units of 2^-24 off, and a few
        const double off = in_range ? 0x1p-24 * double(doc.n + 8) : 1;
        const double likeliest = steepest(off, nothing);
        const double best = steepest(off, prior_slope);
        out.likelihood_gap[index] = positive(likeliest - doc.tokens);
        out.likelihood_loss[index] =
            rarest > kImpossible ? jensen_loss(doc, likeliest, p.n_topics) : HUGE_VAL;
        out.gap[index] = positive(best - doc.tokens - excess);
    }

private:
    // Computes the words' probabilities under the mixture, divided by its sum because floats rarely
    // sum to 1. Skips topics without a share. Returns the smallest probability.
    double explain(const float* theta) {
        double whole = 0, rarest = 1;
        int64_t n_shares = 0;
        for (int64_t k = 0; k < p.n_topics; ++k) whole += theta[k];
        for (int64_t k = 0; k < p.stride; ++k) {
            share[k] = k < p.n_topics ? theta[k] / whole : 0;
            place[n_shares] = int32_t(k);
            n_shares += share[k] != 0;
        }
        const bool few = 4 * n_shares < p.n_topics;
        for (int64_t j = 0; j < doc.n; ++j) {
            const float* row = doc.row[j];
            double total = 0;
            if (few) {
                for (int64_t i = 0; i < n_shares; ++i) total += share[place[i]] * row[place[i]];
            } else {
                constexpr int n = kPad / kDoubles < 4 ? kPad / kDoubles : 4;  // that divide a row
                vd acc[4] = {};
                for (int64_t k = 0; k < p.stride; k += n * kDoubles)
                    for (int i = 0; i < n; ++i)
                        acc[i] += load(share + k + i * kDoubles) * widen(row + k + i * kDoubles);
                total = sum((acc[0] + acc[1]) + (acc[2] + acc[3]));
            }
            x[j] = total;
            if (!(total >= rarest)) rarest = total;
        }
        for (int64_t j = doc.n; j < doc.n_padded; ++j) x[j] = 1;
        return rarest;
    }

    // sum_k (alpha_k - 1) log theta_k, and the sum of alpha_k - 1.
    double prior(double* excess) {
        vd total = {}, all = {};
        for (int64_t k = 0; k < p.stride; k += kDoubles) {
            const vd floored = max(load(share + k), broadcast(kTiny)), weight = load(weights + k);
            total += weight * log(floored);
            all += weight;
            store(prior_slope + k, weight / floored);
        }
        *excess = sum(all);
        return sum(total);
    }

    // max_k of g1'_k + more_k; g1'_k is known with relative error `off`.
    double steepest(double off, const double* more) {
        const double low = doc.tokens * (1 - off), high = doc.tokens * (1 + off);
        vd least = broadcast(-1e300);  // lower bound of the maximum
        for (int64_t k = 0; k < p.n_topics; k += kDoubles) {
            vd value = low * widen(slope + k) + load(more + k);
            for (int64_t i = p.n_topics - k; i < kDoubles; ++i) value[i] = -1e300;
            least = max(least, value);
        }
        const double enough = largest(least);
        double best = -1e300;
        for (int64_t k = 0; k < p.n_topics; k += kDoubles) {
            const vd value = high * widen(slope + k) + load(more + k);
            if (!(largest(value) >= enough)) continue;
            for (int64_t i = 0; i < kDoubles && k + i < p.n_topics; ++i) {
                if (!(value[i] >= enough)) continue;
                const double found = likelihood_slope(doc, ratio, k + i) + more[k + i];
                if (found > best) best = found;
            }
        }
        return best;
    }
};

}  // namespace OPELDA_ISA

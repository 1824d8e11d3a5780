// Collapsed Gibbs sampling for a document with fixed topics (Griffiths & Steyvers 2004; Mimno et
// al. 2012).
//
// P(z = k) ~ N_k beta_kj + alpha_k beta_kj: the first term covers the few topics in use, kept in a
// list; the second is constant per document, so only its sum over topics is stored, and a draw that
// falls into it, which is rare, scans its topics.
#pragma once

#include "randomness.hpp"
#include "solver.hpp"

namespace OPELDA_ISA {

using opelda::CgsSettings;

class Cgs {
public:
    Cgs(const Problem& p, const CgsSettings& settings) : p(p), settings(settings) {}

    void allocate(Arena& arena) {
        alpha = arena.array<double>(p.stride);
        sizes = arena.array<double>(p.stride);
        total = arena.array<double>(p.stride);
        prior = arena.array<double>(p.max_words);
        part = arena.array<double>(p.n_topics + 1);
        tokens_of = arena.array<int32_t>(p.n_topics);
        in_use = arena.array<int32_t>(p.n_topics + 1);
        z = arena.array<int32_t>(settings.max_tokens);
    }

    void prepare() {
        for (int64_t k = 0; k < p.stride; ++k) alpha[k] = k < p.n_topics ? double(p.alpha[k]) : 0.0;
    }

    int32_t solve(const Gathered& gathered, int64_t index, float* theta) {
        const Document& doc = gathered.doc;
        key = settings.keys[index];
        drawn = 0;
        n_in_use = 0;
        for (int64_t k = 0; k < p.n_topics; ++k) sizes[k] = total[k] = 0, tokens_of[k] = 0;
        for (int64_t j = 0; j < doc.n; ++j) {
            vd mass = {};
            for (int64_t k = 0; k < p.stride; k += kDoubles)
                mass += load(alpha + k) * widen(doc.row[j] + k);
            prior[j] = sum(mass);
        }
        const int64_t n_sweeps = settings.burn_in + settings.n_samples;
        for (int64_t sweep = 0; sweep < n_sweeps; ++sweep) {
            if (!go_through(doc, sweep == 0)) break;
            if (sweep < settings.burn_in) continue;
            for (int64_t i = 0; i < n_in_use; ++i) total[in_use[i]] += sizes[in_use[i]];
        }
        for (int64_t k = 0; k < p.n_topics; ++k)
            total[k] = total[k] / double(settings.n_samples) + alpha[k];
        normalise(total, p.n_topics, theta);
        return int32_t(n_sweeps);
    }

private:
    // Visits every token; in the first sweep each token joins the tokens placed before it. A count
    // of 2.5 is tokens of 1, 1 and 0.5. Returns false if the call must end.
    bool go_through(const Document& doc, bool first) {
        int64_t i = 0;
        for (int64_t j = 0; j < doc.n; ++j) {
            // NOLINTNEXTLINE(bugprone-float-loop-counter,clang-analyzer-security.FloatLoopCounter)
            for (double left = doc.count[j]; left > 0; left -= 1, ++i) {
                if ((drawn + 1) % kBetweenLooks == 0 && opelda::stopped()) return false;
                const double w = left < 1 ? left : 1;
                if (!first) leave(z[i], w);
                z[i] = draw(doc.row[j], prior[j]);
                enter(z[i], w);
            }
        }
        return true;
    }

    OPELDA_INLINE int32_t draw(const float* row, double prior_mass) {
        double used_mass = 0;
        for (int64_t i = 0; i < n_in_use; ++i) {
            used_mass += sizes[in_use[i]] * row[in_use[i]];
            part[i] = used_mass;
        }
        double target = uniform() * (used_mass + prior_mass);
        if (target < used_mass) {
            int64_t at = 0;
            for (int64_t i = 0; i + 1 < n_in_use; ++i) at += part[i] <= target;
            return in_use[at];
        }
        return draw_from_prior(row, target - used_mass);
    }

    int32_t draw_from_prior(const float* row, double target) const {
        int64_t k = 0;
        for (; k + kDoubles < p.stride; k += kDoubles) {
            const double block = sum(load(alpha + k) * widen(row + k));
            if (block > target) break;
            target -= block;
        }
        int64_t found = -1;
        for (; k < p.n_topics; ++k) {
            if (row[k] <= 0) continue;
            found = k;
            target -= alpha[k] * row[k];
            if (target < 0) break;
        }
        // rounding can put the target beyond the end: take the last topic that has the word
        for (k = p.n_topics - 1; found < 0; --k)
            if (row[k] > 0) found = k;
        return int32_t(found);
    }

    OPELDA_INLINE void leave(int32_t k, double w) {
        sizes[k] -= w;
        if (--tokens_of[k] > 0) return;
        sizes[k] = 0;
        int64_t at = 0;
        while (in_use[at] != k) ++at;
        for (--n_in_use; at < n_in_use; ++at) in_use[at] = in_use[at + 1];
    }

    OPELDA_INLINE void enter(int32_t k, double w) {
        sizes[k] += w;
        if (tokens_of[k]++ > 0) return;
        int64_t at = n_in_use++;  // sorted, so that sums are taken in topic order
        for (; at > 0 && in_use[at - 1] > k; --at) in_use[at] = in_use[at - 1];
        in_use[at] = k;
    }

    // The random stream of engines/_documents.py (uniforms).
    OPELDA_INLINE double uniform() {
        return (double(mix(key + ++drawn * kGolden) >> 40) + 0.5) / 16777216.0;
    }

    const Problem& p;
    const CgsSettings& settings;
    double *alpha, *sizes, *total, *prior,
        *part;  // sizes: N_k; prior: sum_k alpha_k beta_kj per word
    int32_t *tokens_of, *in_use, *z;
    int64_t n_in_use = 0;
    uint64_t key = 0, drawn = 0;
};

}  // namespace OPELDA_ISA

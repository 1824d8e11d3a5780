// Stochastic CVB0 for one document with fixed topics (Asuncion et al. 2009, Foulds et al. 2013),
// clumped per distinct word:
//     gamma_jk ~ beta_kj (N_k + alpha_k),    N <- r N + (1 - r) |d| gamma_j,
//     r = (1 - rho_t)^d_j,    rho_t = s / (tau + t)^kappa.
//
// With S = N + alpha a visit is  S <- S (r + c beta_j) + (1 - r) alpha,  c = (1 - r) |d| / (beta_j
// . S). Each visit depends on the visit before, so the latency of c sets the speed. Two words share
// this latency: beta . S of the second word after the first visit is computed from products with S
// before that visit. In this chain doubles cost the same as floats.
#pragma once

#include "solver.hpp"

namespace OPELDA_ISA {

using opelda::Cvb0Settings;

class Cvb0 {
public:
    Cvb0(const Problem& p, const Cvb0Settings& settings) : p(p), settings(settings) {}

    void allocate(Arena& arena) {
        alpha = arena.array<double>(p.stride);
        sizes = arena.array<double>(p.stride);
        total = arena.array<double>(p.stride);
        keep = arena.array<double>(padded(p.max_words));
        prior = arena.array<double>(padded(p.max_words));
    }

    void prepare() {
        alpha_sum = 0;
        for (int64_t k = 0; k < p.stride; ++k) {
            alpha[k] = k < p.n_topics ? double(p.alpha[k]) : 0.0;
            alpha_sum += alpha[k];
        }
    }

    int32_t solve(const Gathered& gathered, int64_t, float* theta) {
        const Document& doc = gathered.doc;
        for (int64_t j = 0; j < doc.n_padded; ++j) {
            vd acc = {};
            for (int64_t k = 0; k < p.stride; k += kDoubles)
                acc += widen(doc.row[j] + k) * load(alpha + k);
            prior[j] = sum(acc);
        }
        for (int64_t k = 0; k < p.stride; ++k) {
            sizes[k] = doc.tokens * alpha[k] / alpha_sum + alpha[k];
            total[k] = 0;
        }
        const int64_t n_passes = settings.burn_in + settings.n_samples;
        for (int64_t pass = 0; pass < n_passes && !doc.stopped(pass); ++pass) {
            set_rates(doc, pass * doc.n);
            for (int64_t j = 0; j < doc.n; j += 2)
                visit_two(doc, j);  // padding at an odd end has r = 1
            if (pass < settings.burn_in) continue;
            for (int64_t k = 0; k < p.stride; k += kDoubles)
                store(total + k, load(total + k) + load(sizes + k));
        }
        normalise(total, p.n_topics, theta);
        return int32_t(n_passes);
    }

private:
    // r of every word of a pass whose first visit is number `visits` + 1.
    void set_rates(const Document& doc, int64_t visits) {
        vd t = load(kNumbers64) + 1.0 + (double(visits) + settings.offset);
        for (int64_t j = 0; j < doc.n_padded; j += kDoubles, t += double(kDoubles)) {
            const vd left = 1.0 - settings.scale * exp(-settings.decay * log(t));
            const vd power = exp(widen(doc.count + j) * log(max(left, broadcast(kTiny))));
            store(keep + j,
                  left > kTiny ? power : (widen(doc.count + j) > 0.0 ? vd{} : broadcast(1.0)));
        }
    }

    OPELDA_INLINE void visit_two(const Document& doc, int64_t j) {
        const float *first = doc.row[j], *second = doc.row[j + 1];
        const double r1 = keep[j], r2 = keep[j + 1];
        vd acc1 = {}, acc2 = {}, acc12 = {};
        for (int64_t k = 0; k < p.stride; k += kDoubles) {
            const vd s = load(sizes + k), b2 = widen(second + k);
            const vd s1 = widen(first + k) * s;
            acc1 += s1;
            acc2 += b2 * s;
            acc12 += b2 * s1;
        }
        const double c1 = (1 - r1) * doc.tokens / positive_mass(sum(acc1));
        const double mass2 = r1 * sum(acc2) + (1 - r1) * prior[j + 1] + c1 * sum(acc12);
        const double c2 = (1 - r2) * doc.tokens / positive_mass(mass2);
        for (int64_t k = 0; k < p.stride; k += kDoubles) {
            const vd a = load(alpha + k);
            const vd s = load(sizes + k) * (r1 + c1 * widen(first + k)) + (1 - r1) * a;
            store(sizes + k, s * (r2 + c2 * widen(second + k)) + (1 - r2) * a);
        }
    }

    static OPELDA_INLINE double positive_mass(double mass) { return mass > 1e-300 ? mass : 1e-300; }

    const Problem& p;
    const Cvb0Settings& settings;
    double *alpha, *sizes, *total;  // sizes: S
    double *keep, *prior;           // per word: r and sum_k alpha_k beta_kj
    double alpha_sum = 0;
};

}  // namespace OPELDA_ISA

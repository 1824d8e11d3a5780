// Frank-Wolfe on the likelihood alone (Than & Ho 2012): starts at the most likely single topic and
// moves towards the topic with the largest slope.
//
// Single precision finds candidates, double precision decides: the walk equals a walk in double
// precision.
#pragma once

#include "solver.hpp"

namespace OPELDA_ISA {

using opelda::FwSettings;

class Fw {
public:
    Fw(const Problem& p, const FwSettings& settings) : p(p), settings(settings) {}

    void allocate(Arena& arena) {
        theta = arena.array<double>(p.stride);
        score = arena.array<float>(p.stride);
        ratio = arena.array<float>(padded(p.max_words));
        x = arena.array<double>(padded(p.max_words));
        ratio64 = arena.array<double>(padded(p.max_words));
    }

    void prepare() {}

    int32_t solve(const Gathered& gathered, int64_t, float* mixture) {
        const Document& doc = gathered.doc;
        for (int64_t k = 0; k < p.stride; ++k) theta[k] = 0;
        int64_t k = likeliest(gathered);
        theta[k] = 1;
        for (int64_t j = 0; j < doc.n; ++j) x[j] = doc.row[j][k];
        for (int64_t j = doc.n; j < doc.n_padded; ++j) x[j] = 1;
        for (int64_t t = 0; t < settings.n_iter && !doc.stopped(t); ++t) {
            k = steepest(doc);
            const double step = settings.steps[t];
            for (int64_t i = 0; i < p.stride; i += kDoubles)
                store(theta + i, load(theta + i) * (1 - step));
            theta[k] += step;
            for (int64_t j = 0; j < doc.n; ++j) x[j] = (1 - step) * x[j] + step * doc.row[j][k];
        }
        normalise(theta, p.n_topics, mixture);
        return int32_t(settings.n_iter);
    }

private:
    // argmax_k sum_j d_j log beta_kj, lowest index first
    int64_t likeliest(const Gathered& gathered) {
        const Document& doc = gathered.doc;
        for (int64_t k = 0; k < p.stride && !doc.stopped(k / kLanes); k += kLanes) {
            vf acc = {};
            for (int64_t j = 0; j < doc.n; ++j)
                acc += gathered.share[j] * log(max(load(doc.row[j] + k), broadcast(float(kTiny))));
            store(score + k, acc);
        }
        return decide(doc, [&](int64_t k) {
            double value = 0;
            for (int64_t j = 0; j < doc.n; ++j) {
                const double b = doc.row[j][k];
                value += doc.count[j] * std::log(b > kTiny ? b : kTiny);
            }
            return value;
        });
    }

    // argmax_k sum_j d_j beta_kj / x_j, lowest index first
    int64_t steepest(const Document& doc) {
        for (int64_t j = 0; j < doc.n_padded; j += kDoubles) {
            const vd r = widen(doc.count + j) / (doc.tokens * max(load(x + j), broadcast(kTiny)));
            store(ratio64 + j, r);
            store(ratio + j, narrow(r));
        }
        add_rows(doc.n, doc.row, ratio, p.stride, 1.0f, score);
        return decide(doc, [&](int64_t k) { return likelihood_slope(doc, ratio64, k); });
    }

    // The largest `exact(k)` among topics whose score is within rounding of the largest:
    // single-precision sums of n terms of equal sign have an error of about n units of 2^-24, and a
    // difference of two sums twice this error.
    template <class Exact> OPELDA_INLINE int64_t decide(const Document& doc, Exact exact) {
        vf top = broadcast(-3e38f);
        for (int64_t k = p.n_topics; k < p.stride; ++k) score[k] = -3e38f;
        for (int64_t k = 0; k < p.stride; k += kLanes) top = max(top, load(score + k));
        const float best = largest(top);
        const float enough = best - 1.3e-7f * float(doc.n + 8) * std::fabs(best);
        int64_t found = -1;
        double value = 0;
        bool compared = false;
        for (int64_t k = 0; k < p.stride; k += kLanes) {
            const vi near = load(score + k) >= enough;
            if (!any(near)) continue;
            for (int i = 0; i < kLanes; ++i) {
                if (!near[i]) continue;
                if (found < 0) {
                    found = k + i;
                    continue;
                }
                if (!compared) value = exact(found), compared = true;
                const double other = exact(k + i);
                if (other > value) value = other, found = k + i;
            }
        }
        return found;
    }

    const Problem& p;
    const FwSettings& settings;
    double *theta, *x, *ratio64;
    float *score, *ratio;
};

}  // namespace OPELDA_ISA

// Collapsed variational Bayes for a document with fixed topics (Teh et al. 2007), second order:
//     q_jk ~ beta_kj a_k exp(-V_k / (2 a_k^2)),    a_k = alpha_k + E_k,
// E and V are the mean and variance of the topic counts of all tokens except this token. All tokens
// of a word have the same q.
#pragma once

#include "solver.hpp"

namespace OPELDA_ISA {

using opelda::CvbSettings;

class Cvb {
public:
    Cvb(const Problem& p, const CvbSettings& settings) : p(p), settings(settings) {}

    void allocate(Arena& arena) {
        alpha = arena.array<double>(p.stride);
        mean = arena.array<double>(p.stride);
        variance = arena.array<double>(p.stride);
        size = arena.array<double>(p.stride);
        power = arena.array<double>(p.stride);
        q = arena.array<float>(p.max_words * p.stride);
    }

    void prepare() {
        for (int64_t k = 0; k < p.stride; ++k)
            alpha[k] = k < p.n_topics && p.alpha[k] > kTiny ? double(p.alpha[k]) : kTiny;
    }

    int32_t solve(const Gathered& gathered, int64_t, float* theta) {
        const Document& doc = gathered.doc;
        begin(doc);
        int64_t t = 1;
        int64_t visits = 0;
        for (; t <= settings.n_iter; ++t) {
            vd change = {};
            for (int64_t j = 0; j < doc.n; ++j) {
                if (++visits % 256 == 0 && opelda::stopped()) return 0;
                change = max(change, visit(doc.row[j], doc.count[j], q + j * p.stride));
            }
            if (largest(change) < settings.tol) break;
        }
        // rounding of additions and subtractions can leave negative values
        for (int64_t k = 0; k < p.stride; k += kDoubles)
            store(mean + k, load(alpha + k) + max(load(mean + k), vd{}));
        normalise(mean, p.n_topics, theta);
        return int32_t(t < settings.n_iter ? t : settings.n_iter);
    }

private:
    // q_jk ~ beta_kj alpha_k
    void begin(const Document& doc) {
        for (int64_t k = 0; k < p.stride; ++k) mean[k] = variance[k] = 0;
        for (int64_t j = 0; j < doc.n; ++j) {
            if (j % 256 == 255 && opelda::stopped()) return;
            vd acc = {};
            for (int64_t k = 0; k < p.stride; k += kDoubles)
                acc += widen(doc.row[j] + k) * load(alpha + k);
            const double mass = sum(acc);
            for (int64_t k = 0; k < p.stride; k += kDoubles)
                put(q + j * p.stride + k, k, double(doc.count[j]),
                    widen(doc.row[j] + k) * load(alpha + k) / mass);
        }
    }

    // Sets kDoubles q of a word, updates E and V, and returns the change.
    OPELDA_INLINE vd put(float* at, int64_t k, double d, vd value, vd before = vd{}) {
        const vh single = narrow(value < kTiny ? vd{} : value);  // no denormal numbers
        store(at, single);
        const vd after = widen(single);
        store(mean + k, load(mean + k) + d * (after - before));
        store(variance + k,
              load(variance + k) + d * (after * (1.0 - after) - before * (1.0 - before)));
        return after - before;
    }

    // Returns the change of each q of the word.
    OPELDA_INLINE vd visit(const float* row, double d, float* own) {
        const double w = d < 1 ? d : 1;  // the token itself, or a fraction if the count is below 1
        vd highest = broadcast(-1e300);
        for (int64_t k = 0; k < p.stride; k += kDoubles) {
            const vd before = widen(own + k);
            const vd a = load(alpha + k) + max(load(mean + k) - w * before, vd{});
            const vd v = max(load(variance + k) - w * before * (1.0 - before), vd{});
            const vd h = -0.5 * v / (a * a);
            const vd b = widen(row + k);
            store(size + k, a * b);
            store(power + k, h);
            highest = max(highest, b > 0.0 ? h : broadcast(-1e300));
        }
        const double top = largest(highest);  // only ratios count; avoids underflow of all topics
        vd acc = {};
        for (int64_t k = 0; k < p.stride; k += kDoubles) {
            const vd h = load(power + k) - top;
            const vd value = load(size + k) * (h < -200.0 ? vd{} : exp(h < 0.0 ? h : vd{}));
            store(size + k, value);
            acc += value;
        }
        const double scale = 1 / sum(acc);
        vd change = {};
        for (int64_t k = 0; k < p.stride; k += kDoubles) {
            const vd moved = put(own + k, k, d, load(size + k) * scale, widen(own + k));
            change = max(change, max(moved, -moved));
        }
        return change;
    }

    const Problem& p;
    const CvbSettings& settings;
    double *alpha, *mean, *variance, *size, *power;
    float* q;
};

}  // namespace OPELDA_ISA

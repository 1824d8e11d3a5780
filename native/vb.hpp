// Variational Bayes for a document (Blei et al. 2003), stopped by the bound of the document alone.
//
// With E_k = exp(psi(gamma_k)) up to a common factor:
//     phi_j = sum_k E_k beta_kj,    gamma_k = alpha_k + E_k sum_j d_j beta_kj / phi_j.
// E is scaled by its largest value so that products fit floats; E below 1e-20 is ignored, and
// powers of two prevent denormal numbers. Words with a small phi ("hard") are computed in doubles.
//
// With alpha < 1 most topics soon fall to gamma_k = alpha_k, where E_k is about e^-100 of the
// largest. These topics are set aside: the rest is packed, and the work shrinks with their number.
// If a word then becomes hard, the document is solved again without packing.
#pragma once

#include "solver.hpp"

namespace OPELDA_ISA {

using opelda::VbSettings;

constexpr double kAside = 1e-20;
constexpr float kHard = 1e-13f;
constexpr double kFloor = 1e-300;
constexpr float kWeightUnit = 0x1p60f, kRatioUnit = 0x1p30f;

class Vb {
public:
    Vb(const Problem& p, const VbSettings& settings) : p(p), settings(settings) {}

    void allocate(Arena& arena) {
        prior = arena.array<double>(p.stride);
        prior_lgamma = arena.array<double>(p.stride);
        result = arena.array<double>(p.stride);
        alpha = arena.array<double>(p.stride);
        alpha_lgamma = arena.array<double>(p.stride);
        gamma = arena.array<double>(p.stride);
        seen = arena.array<double>(p.stride);
        digamma = arena.array<double>(p.stride);
        lgamma = arena.array<double>(p.stride);
        weight = arena.array<double>(p.stride);
        extra = arena.array<double>(p.stride);
        topic = arena.array<int32_t>(p.stride);
        place = arena.array<int32_t>(p.stride);
        weight32 = arena.array<float>(p.stride);
        slope = arena.array<float>(p.stride);
        phi = arena.array<float>(padded(p.max_words));
        ratio = arena.array<float>(padded(p.max_words));
    }

    void prepare() {
        double alpha_sum = 0;
        for (int64_t k = 0; k < p.stride; ++k) {
            // padding has a low digamma and never counts
            prior[k] = k < p.n_topics && p.alpha[k] > kTiny ? double(p.alpha[k]) : kTiny;
            if (k < p.n_topics) alpha_sum += prior[k];
        }
        for (int64_t k = 0; k < p.stride; k += kDoubles)
            store(prior_lgamma + k, gamma_pair(load(prior + k)).lgamma);
        constant = gamma_pair(broadcast(alpha_sum)).lgamma[0];
        tiny_lgamma = gamma_pair(broadcast(kTiny)).lgamma[0];
    }

    int32_t solve(Gathered& gathered, int64_t index, float* theta, float* factors) {
        int64_t n_iter = ascend(gathered, gathered.copied);
        if (n_iter < 0) {
            gathered.open(index);
            n_iter = ascend(gathered, false);
        }
        for (int64_t i = 0; i < n_alive; ++i) result[topic[i]] = gamma[i];
        normalise(result, p.n_topics, theta);
        if (factors) weigh(factors);
        return int32_t(n_iter);
    }

private:
    void begin(const Document& doc);
    int64_t ascend(Gathered& gathered, bool may_pack);
    void pack(const Document& doc);
    double evaluate(const Gathered& gathered);
    void update(const Gathered& gathered);
    void weigh(float* factors);
    void solve_hard(const Gathered& gathered, int64_t j, double& log_phi);

    const Problem& p;
    const VbSettings& settings;
    double *prior, *prior_lgamma, *result;  // per topic; result: gamma, at the end
    // per active topic, n_alive padded to width
    int32_t *topic, *place;
    double *alpha, *alpha_lgamma, *gamma;
    double *digamma, *lgamma, *seen;  // seen: the gamma of the current digamma, lgamma
    double *weight, *extra;           // weight: E_k; extra: what hard words give the topic
    float *weight32, *slope;
    int64_t n_alive = 0, width = 0;
    float *phi, *ratio;  // per word; ratio: d_j / (N phi_j), in units of 1 / kRatioUnit
    bool any_hard = false;
    double constant = 0, tiny_lgamma = 0;
    double aside = 0;  // sum of the alpha of the topics set aside
};

inline void Vb::begin(const Document& doc) {
    n_alive = p.n_topics;
    width = p.stride;
    aside = 0;
    for (int64_t k = 0; k < p.stride; ++k) {
        topic[k] = int32_t(k);
        alpha[k] = gamma[k] = prior[k];
        alpha_lgamma[k] = prior_lgamma[k];
        if (k < p.n_topics)
            gamma[k] =
                settings.start ? settings.start[k] : prior[k] + doc.tokens / double(p.n_topics);
        seen[k] = 0;  // gamma is never 0: evaluates all topics first
    }
}

// Returns the number of iterations, or -1 if a word needs a topic that was set aside.
inline int64_t Vb::ascend(Gathered& gathered, bool may_pack) {
    begin(gathered.doc);
    double bound = evaluate(gathered);
    for (int64_t t = 1;; ++t) {
        update(gathered);
        if (t == settings.n_iter || gathered.doc.stopped(t)) return t;
        const double after = evaluate(gathered);
        if (width < p.stride && any_hard) return -1;
        if (settings.tol > 0 && after - bound < settings.tol * std::fabs(after)) return t;
        bound = after;
        if (may_pack && width > kPad && !any_hard) pack(gathered.doc);
    }
}

// Moves active topics to the front, in the arrays and in the copied rows, if that halves the width.
inline void Vb::pack(const Document& doc) {
    int64_t n = 0;
    for (int64_t i = 0; i < n_alive; ++i) n += weight[i] >= kAside;
    if (padded(n) > width / 2) return;
    n = 0;
    double* const arrays[] = {alpha, alpha_lgamma, gamma, seen, digamma, lgamma, weight};
    for (int64_t i = 0; i < n_alive; ++i) {
        if (weight[i] < kAside) {  // the next gamma is alpha, whose terms in the bound are 0
            result[topic[i]] = alpha[i];
            aside += alpha[i];
            continue;
        }
        place[n] = int32_t(i);
        topic[n] = topic[i];
        for (double* values : arrays) values[n] = values[i];
        ++n;
    }
    n_alive = n;
    width = padded(n);
    for (int64_t i = n_alive; i < width; ++i) {
        alpha[i] = gamma[i] = kTiny;
        alpha_lgamma[i] = tiny_lgamma;
        seen[i] = weight[i] = 0;
    }
    for (int64_t j = 0; j < doc.n; ++j) {
        float* row = const_cast<float*>(doc.row[j]);  // the copy, owned by this document
        for (int64_t i = 0; i < n_alive; ++i) row[i] = row[place[i]];
        for (int64_t i = n_alive; i < width; ++i) row[i] = 0;
    }
}

// E, phi, d / phi and the bound at the current gamma.
inline double Vb::evaluate(const Gathered& gathered) {
    const Document& doc = gathered.doc;
    double gamma_sum = aside;
    vd highest = broadcast(-1e300);
    for (int64_t k = 0; k < width; k += kDoubles) {
        const vd g = load(gamma + k);
        if (!all(g == load(seen + k))) {  // most topics soon stay at alpha exactly
            const GammaPair pair = gamma_pair(g);
            store(digamma + k, pair.digamma);
            store(lgamma + k, pair.lgamma);
            store(seen + k, g);
        }
        highest = max(highest, load(digamma + k));
    }
    for (int64_t k = 0; k < n_alive; ++k) gamma_sum += gamma[k];
    const double top = largest(highest);
    const GammaPair whole = gamma_pair(broadcast(gamma_sum));
    vd terms = {};
    for (int64_t k = 0; k < width; k += kDoubles) {
        const vd e = exp(load(digamma + k) - top);
        store(weight + k, e);
        terms += (load(alpha + k) - load(gamma + k)) * (load(digamma + k) - whole.digamma);
        terms += load(lgamma + k) - load(alpha_lgamma + k);
    }
    for (int64_t k = 0; k < width; ++k)
        weight32[k] = weight[k] < kAside ? 0.0f : float(weight[k]) * kWeightUnit;
    dot_rows(doc, weight32, width, phi);

    vf least = broadcast(3e38f);
    for (int64_t j = 0; j < doc.n_padded; j += kLanes) {
        const vf x = load(phi + j) * (1 / kWeightUnit);
        least = x < least ? x : least;
        store(phi + j, x);
        store(ratio + j, load(gathered.share + j) * kRatioUnit / max(x, broadcast(kHard)));
    }
    any_hard = -largest(-least) < kHard;
    double logs = 0;
    if (any_hard) {
        for (int64_t k = 0; k < n_alive; ++k) extra[k] = 0;
        for (int64_t j = 0; j < doc.n; ++j)
            if (phi[j] < kHard) solve_hard(gathered, j, logs);
    }
    vd likelihood = {};
    for (int64_t j = 0; j < doc.n_padded; j += kDoubles) {
        const vd x = widen(phi + j);
        likelihood += widen(doc.count + j) * log(x < double(kHard) ? broadcast(1.0) : x);
    }
    return sum(likelihood) + logs + doc.tokens * (top - whole.digamma[0]) + sum(terms) + constant -
           whole.lgamma[0];
}

// exp(psi(gamma_k)) at the last gamma, divided by the largest: weights of a token's topics.
inline void Vb::weigh(float* factors) {
    vd highest = broadcast(-1e300);
    for (int64_t k = p.n_topics; k < p.stride; ++k) result[k] = kTiny;
    for (int64_t k = 0; k < p.stride; k += kDoubles) {
        const vd value = gamma_pair(load(result + k)).digamma;
        store(digamma + k, value);
        highest = max(highest, value);
    }
    const double top = largest(highest);
    for (int64_t k = 0; k < p.stride; k += kDoubles)
        store(weight + k, exp(load(digamma + k) - top));
    for (int64_t k = 0; k < p.n_topics; ++k)
        factors[k] = weight[k] > kTiny ? float(weight[k]) : 0.0f;
}

// A hard word's part of gamma, and d log phi, in doubles; subtracted from the single-precision
// sums.
inline void Vb::solve_hard(const Gathered& gathered, int64_t j, double& log_phi) {
    const float* row = gathered.doc.row[j];
    const double d = gathered.doc.count[j];
    double total = 0;
    for (int64_t k = 0; k < n_alive; ++k) total += weight[k] * row[k];
    total = total > kFloor ? total : kFloor;
    for (int64_t k = 0; k < n_alive; ++k) extra[k] += d * (weight[k] * row[k] / total);
    log_phi += d * std::log(total);
    ratio[j] = 0;
    phi[j] = 0;
}

// gamma_k = alpha_k + E_k sum_j d_j beta_kj / phi_j
inline void Vb::update(const Gathered& gathered) {
    add_rows(gathered.doc.n, gathered.doc.row, ratio, width, 1 / kRatioUnit, slope);
    for (int64_t k = 0; k < width; k += kDoubles)
        store(gamma + k,
              load(alpha + k) + gathered.doc.tokens * load(weight + k) * widen(slope + k));
    if (any_hard)
        for (int64_t k = 0; k < n_alive; ++k) gamma[k] += extra[k];
}

}  // namespace OPELDA_ISA

// OPE (Than & Doan, Algorithm 1), exact, at a cost that hardly depends on the number of topics.
//
// After s moves the mixture is u / (base + s) with u = base * start + c, where c_k counts the picks
// of topic k; likewise the words' probabilities are y / (base + s) with y_j = base * start_j +
// sum_k c_k beta_kj. The common factor drops out of the argmax: the next vertex maximises
// a G_k + b (alpha_k - 1) / u_k,  G_k = sum_j d_j beta_kj / y_j.
//
// y only grows, so every G_k only falls: an earlier value is an upper bound now. A topic that was
// never picked competes with its bound; its G_k is recomputed only when the bound reaches the best
// score. Rounding preserves this: y, d / y and the sums below are monotone in floating point if a
// G_k is always summed in the same order ("exact" below). Bounds from a full gradient, which has
// another summation order, are widened by the worst-case rounding error.
#pragma once

#include <cmath>

#include "certificate.hpp"
#include "ope_bounds.hpp"
#include "randomness.hpp"

namespace OPELDA_ISA {

constexpr int64_t kGapEvery = 5;  // moves between two evaluations of the gap

class Ope {
public:
    Ope(const Problem& problem, const OpePlan& schedule)
        : p(problem), plan(schedule), walk(problem, schedule), bounds(walk), ahead(problem) {}

    void allocate(Arena& arena) {
        walk.allocate(arena);
        bounds.allocate(arena);
        kept_topic = arena.array<int32_t>(walk.max_picked);
        kept_count = arena.array<float>(walk.max_picked);
        x64 = arena.array<double>(walk.capacity);
        ratio64 = arena.array<double>(walk.capacity);
    }

    void prepare() {
        bounds.prepare();
        for (int64_t k = 0; k < p.n_topics; ++k) {
            alpha_excess += double(p.alpha[k]) - 1;
            log_prior_start += (double(p.alpha[k]) - 1) * std::log(double(plan.start[k]));
        }
    }

    void run(int64_t index, int64_t last, const Outputs& out);

    // The picks of the last run, in picking order.
    int64_t n_picked() const { return kept; }
    const int32_t* topics() const { return kept_topic; }
    const float* counts() const { return kept_count; }

private:
    void search(int64_t restart);
    bool second_is_better(const Vertex& first, const Vertex& second, int64_t move);
    double certify(int64_t index, const Outputs& out);

    const Problem& p;
    const OpePlan& plan;
    OpeWalk walk;
    OpeBounds bounds;
    Prefetcher ahead;
    int64_t first_sequence = 0;

    // the best of the restarts
    int64_t kept = 0, kept_moves = 0;
    int32_t* kept_topic;
    float* kept_count;

    // for the certificate
    double alpha_excess = 0, log_prior_start = 0;
    double *x64, *ratio64;
};

// f(theta after first) < f(theta after second), or the coin of OPE2. Only the terms of these two
// topics differ.
inline bool Ope::second_is_better(const Vertex& first, const Vertex& second, int64_t move) {
    const double after = plan.base[move + 1];
    double f[2];
    for (int side = 0; side < 2; ++side) {
        const Vertex& v = side == 0 ? first : second;
        walk.doc.column(v.topic, walk.spare);
        vd total = {};
        for (int64_t j = 0; j < walk.doc.n_padded; j += kDoubles)
            total += widen(walk.doc.count + j) * log(walk.y64(j, after) + widen(walk.spare + j));
        const double u = after * plan.start[v.topic] + (v.slot >= 0 ? walk.count[v.slot] : 0);
        f[side] = sum(total) + (double(p.alpha[v.topic]) - 1) * std::log1p(1 / u);
    }
    if (!plan.coin) return f[1] > f[0];
    return double(plan.coin[move]) >= 1 / (1 + std::exp(f[1] - f[0]));
}

inline void Ope::search(int64_t restart) {
    bounds.begin(restart == 0);
    const int64_t sequence = (first_sequence + restart) % plan.n_sequences;
    const float *a = plan.a + sequence * plan.n_moves, *b = plan.b + sequence * plan.n_moves;
    const bool skips = plan.screen && !plan.a2 && plan.tol == 0;
    for (int64_t move = 0; move < plan.n_moves && !walk.doc.stopped(move); ++move) {
        bounds.rebase(plan.base[move]);
        ahead.turn();
        // with a single picked topic, and all bounds below its prior term, the words are not needed
        if (skips && walk.picked == 1 &&
            bounds.optimum_of_unpicked(a[move], b[move]) < b[move] * walk.penalty[0]) {
            walk.pick(walk.topic[0], 0);
            continue;
        }
        walk.evaluate_picked();
        Vertex v = bounds.vertex(a[move], b[move]);
        if (plan.a2) {
            const int64_t at = sequence * plan.n_moves + move;
            const Vertex second = bounds.vertex(plan.a2[at], plan.b2[at]);
            if (second.topic != v.topic && second_is_better(v, second, move)) v = second;
        }
        bounds.move_to(v);
        if (plan.tol > 0 && walk.moves % kGapEvery == 0 && walk.moves < plan.n_moves) {
            bounds.rebase(plan.base[walk.moves]);
            walk.evaluate_picked();
            if (walk.mass() * bounds.vertex(1, 1).score - walk.doc.tokens - alpha_excess <=
                plan.tol * walk.doc.tokens)
                break;
        }
    }
    bounds.rebase(plan.base[walk.moves]);
}

// Writes the certificate and returns f. Single precision finds the topics that determine the two
// gaps; double precision computes the values.
inline double Ope::certify(int64_t index, const Outputs& out) {
    for (int64_t j = 0; j < walk.doc.n_padded; j += kDoubles)
        store(x64 + j, walk.y64(j, walk.base) / walk.mass());
    const double likelihood = log_likelihood(walk.doc, x64, ratio64);
    double prior_term = log_prior_start + alpha_excess * std::log(double(walk.base) / walk.mass());
    for (int64_t i = 0; i < walk.picked; ++i)
        prior_term += double(walk.weight[i]) *
                      std::log1p(double(walk.count[i]) / (double(walk.base) * walk.share[i]));
    if (out.gap) {
        walk.evaluate_picked();
        const Vertex steepest = bounds.vertex(1, 1), likeliest = bounds.vertex(1, 0);
        const double slope = likelihood_slope(walk.doc, ratio64, likeliest.topic);
        out.gap[index] =
            positive(likelihood_slope(walk.doc, ratio64, steepest.topic) - walk.doc.tokens +
                     walk.mass() * walk.prior_slope(steepest.topic, steepest.slot) - alpha_excess);
        out.likelihood_gap[index] = positive(slope - walk.doc.tokens);
        // the largest slope was found in single precision
        out.likelihood_loss[index] =
            jensen_loss(walk.doc, slope * (1 + double(bounds.noise)), p.n_topics);
        out.log_likelihood[index] = likelihood;
        out.log_prior[index] = prior_term;
    }
    return likelihood + prior_term;
}

inline void Ope::run(int64_t index, int64_t last, const Outputs& out) {
    walk.open(index);
    bounds.open();
    kept = kept_moves = 0;
    if (out.n_iter) out.n_iter[index] = 0;
    if (walk.doc.n == 0) return;  // the caller sets the prior's mean
    ahead.aim(index + 1, last, plan.n_moves * plan.n_restarts);
    first_sequence = plan.by_content
                         ? int64_t(document_key(p, index, plan.seed) % uint64_t(plan.n_sequences))
                         : 0;
    double best = -HUGE_VAL;
    for (int64_t r = 0; r < plan.n_restarts; ++r) {
        search(r);
        if (plan.n_restarts > 1) {
            const double f = certify(index, Outputs{});
            if (f <= best) continue;
            best = f;
        }
        if (out.gap) certify(index, out);
        kept = walk.picked, kept_moves = walk.moves;
        std::memcpy(kept_topic, walk.topic, sizeof(int32_t) * walk.picked);
        for (int64_t i = 0; i < kept; ++i) kept_count[i] = float(walk.count[i]);
    }
    if (out.n_iter) out.n_iter[index] = int32_t(kept_moves);
    if (!out.theta) return;
    const float kept_base = plan.base[kept_moves];
    const float mass = kept_base + float(kept_moves);
    float* theta = out.theta + index * p.n_topics;
    for (int64_t k = 0; k < p.n_topics; ++k) theta[k] = kept_base / mass * plan.start[k];
    for (int64_t i = 0; i < kept; ++i) {
        const int64_t k = kept_topic[i];
        theta[k] = (kept_base * plan.start[k] + kept_count[i]) / mass;
    }
}

}  // namespace OPELDA_ISA

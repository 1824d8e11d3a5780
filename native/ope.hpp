// OPE (Than & Doan, Algorithm 1), exact, at a cost that hardly depends on the number of topics.
//
// After s moves the mixture is u / (base + s) with u = base * start + c, where c_k counts how often topic k was picked, and
// likewise the words' probabilities are y / (base + s) with y_j = base * start_j + sum_k c_k beta_kj. The common factor
// drops out of the argmax: the next vertex maximises  a G_k + b (alpha_k - 1) / u_k,  G_k = sum_j d_j beta_kj / y_j.
//
// y only grows, so every G_k only falls: a value computed earlier is an upper bound now. A topic never picked competes with
// its bound; its G_k is computed afresh only when the bound reaches the best score found. Rounding cannot break this: y, d /
// y and the sums below are monotone in floating point too, as long as a G_k is always summed in the same order ("exact"
// below), and bounds taken from a full gradient, which sums in another order, are widened by the worst rounding error.
#pragma once

#include <cmath>

#include "certificate.hpp"
#include "ope_walk.hpp"
#include "randomness.hpp"

namespace OPELDA_ISA {

constexpr float kOut = -1e30f;  // the bound of a topic that does not compete among the never picked
constexpr float kUnknown = 3e38f;
constexpr int64_t kGapEvery = 5;  // moves between two looks at the gap

class Ope : OpeWalk {
  public:
    Ope(const Problem& problem, const OpePlan& plan) : OpeWalk(problem, plan), ahead(problem) {}

    bool allocate() {
        cut();
        if (!arena.allocate()) return false;
        cut();
        prepare();
        return true;
    }

    void run(int64_t index, int64_t last, const Outputs& out);

    // What the last run picked, in picking order.
    int64_t n_picked() const { return kept; }
    const int32_t* topics() const { return kept_topic; }
    const int32_t* counts() const { return kept_count; }

  private:
    struct Vertex {
        int64_t topic = -1;
        int64_t slot = -1;      // -1: not picked so far
        double score = -1e300;  // in double: a steep prior must not drown the likelihood
        OPELDA_INLINE void offer(double s, int64_t k, int64_t at) {
            if (s > score || (s == score && k < topic)) score = s, topic = k, slot = at;
        }
    };

    void cut();
    void prepare();
    void search(int64_t sequence);
    void rebase(float value);
    void full_gradient();
    Vertex vertex(float a, float b);
    Vertex challenged(Vertex best, float a, float b);
    Vertex most_promising(float a, float b, float& top) const;
    Vertex vertex_of_last_resort() const {  // no score is a number: still a topic that exists
        Vertex v;
        v.topic = picked > 0 ? topic[0] : 0;
        v.slot = picked > 0 ? 0 : -1;
        return v;
    }
    bool second_is_better(const Vertex& first, const Vertex& second, int64_t move);
    void move_to(const Vertex& v);
    double certify(int64_t index, const Outputs& out);

    // Scores are compared with bounds with room for the rounding of both: of the sums over words, and of the prior's share.
    float rounding(float likelihood, float b) const { return noise * likelihood + 1e-6f * b * prior_abs; }
    float optimum_of_unpicked(float a, float b) const {
        const float b_new = b * inverse_base;
        return a * highest + b_new * prior_max + rounding(a * highest, b_new);
    }

    Arena arena;
    Prefetcher ahead;
    float noise = 0;  // relative rounding error of a sum over the words

    float *bound, *first_bound;  // per topic: upper bound of G_k, kOut once picked
    bool first_ready = false;
    float highest = 0;       // no bound is above this
    int64_t moves_then = 0;  // when the bounds were last taken from a full gradient
    int64_t* tried;
    float* tried_slope;

    // the best of the restarts
    int64_t kept = 0, kept_moves = 0;
    int32_t *kept_topic, *kept_count;

    // the problem's constants
    float* prior;  // (alpha_k - 1) / start_k
    float prior_max = 0, prior_abs = 0;
    double alpha_excess = 0, log_prior_start = 0;
    double *x64, *ratio64;
};

inline void Ope::cut() {
    OpeWalk::cut(arena);
    kept_topic = arena.cut<int32_t>(max_picked);
    kept_count = arena.cut<int32_t>(max_picked);
    bound = arena.cut<float>(p.stride + 64);
    first_bound = arena.cut<float>(p.stride);
    prior = arena.cut<float>(p.stride);
    tried = arena.cut<int64_t>(p.n_topics);
    tried_slope = arena.cut<float>(p.n_topics);
    x64 = arena.cut<double>(capacity);
    ratio64 = arena.cut<double>(capacity);
}

inline void Ope::prepare() {
    prior_max = -3e38f;
    for (int64_t k = 0; k < p.stride; ++k) {
        prior[k] = 0;
        if (k >= p.n_topics) continue;
        prior[k] = (p.alpha[k] - 1) / plan.start[k];
        if (prior[k] > prior_max) prior_max = prior[k];
        if (std::fabs(prior[k]) > prior_abs) prior_abs = std::fabs(prior[k]);
        alpha_excess += double(p.alpha[k]) - 1;
        log_prior_start += (double(p.alpha[k]) - 1) * std::log(double(plan.start[k]));
    }
}

inline void Ope::full_gradient() {
    set_ratio();
    bound_all(bound);
    moves_then = moves;
    for (int64_t k = p.n_topics; k < p.stride; ++k) bound[k] = kOut;
    for (int64_t i = 0; i < picked; ++i) bound[topic[i]] = kOut;
}

// The never picked topic with the largest bound on its score, lowest index first; `top` gets the largest bound on G.
inline Ope::Vertex Ope::most_promising(float a, float b, float& top) const {
    vf best = broadcast(-3e38f), most = broadcast(-3e38f);
    vi where = {}, block = {};
    for (int64_t k = 0; k < p.stride; k += kLanes, block += 1) {
        const vf g = load(bound + k);
        const vf s = g * a + load(prior + k) * b;
        most = max(most, g);
        keep_larger(best, where, s, block);
    }
    top = largest(most);
    Vertex v;
    const float reached = largest(best);
    v.score = reached;
    v.topic = smallest(places_of(reached, best, where * kLanes + load(kNumbers)));
    return v;
}

// argmax_k  a G_k + b (alpha_k - 1) / u_k, lowest index first; `slope` holds the picked topics' G.
OPELDA_INLINE Ope::Vertex Ope::vertex(float a, float b) {
    Vertex best;
    for (int64_t i = 0; i < picked; ++i) best.offer(double(a) * slope[i] + b * penalty[i], topic[i], i);
    if (plan.screen && picked > 0 && optimum_of_unpicked(a, b) < best.score) return best;
    return challenged(best, a, b);
}

// The same where a topic never picked may be better than the best of the picked.
__attribute__((noinline)) Ope::Vertex Ope::challenged(Vertex best, float a, float b) {
    const float b_new = b * inverse_base;
    set_ratio();
    // trying a topic costs a strided walk over the words, a full gradient one vector per 16 topics
    const int64_t patience = 1 + p.stride / 256;
    bool fresh = false;
    int64_t n_tried = 0, looks = 0;
    if (!plan.screen || moves > 8 * moves_then + 8) full_gradient(), fresh = true;
    float top = 0;
    while (true) {
        const Vertex candidate = most_promising(a, b_new, top);
        const float reach = bound[candidate.topic];
        if (reach == kOut || candidate.score + rounding(a * reach, b_new) < best.score) break;
        if (!fresh && looks++ >= patience) {
            full_gradient();
            for (int64_t i = 0; i < n_tried; ++i) bound[tried[i]] = kOut;
            fresh = true;
            continue;
        }
        if (p.coarse && !fresh) {  // a look at the bytes, which are in the cache, may save one at the rows, which are not
            bound[candidate.topic] = coarse_bound(candidate.topic);
            const float closer = a * bound[candidate.topic] + b_new * prior[candidate.topic];
            if (closer + rounding(a * reach, b_new) < best.score) continue;
        }
        const float g = exact(candidate.topic);
        best.offer(double(a) * g + b * prior_slope(candidate.topic, -1), candidate.topic, -1);
        tried[n_tried] = candidate.topic;
        tried_slope[n_tried++] = g;
        bound[candidate.topic] = kOut;
    }
    for (int64_t i = 0; i < n_tried; ++i) {
        bound[tried[i]] = tried_slope[i];
        if (tried_slope[i] > top) top = tried_slope[i];
    }
    highest = top;
    if (best.topic < 0) best = vertex_of_last_resort();
    return best;
}

inline void Ope::move_to(const Vertex& v) {
    pick(v.topic, v.slot);
    bound[v.topic] = kOut;
}

// f(theta after first) < f(theta after second), or the coin of OPE2 in its place. Only the two topics' terms differ.
inline bool Ope::second_is_better(const Vertex& first, const Vertex& second, int64_t move) {
    const double after = plan.base[move + 1];
    double f[2];
    for (int side = 0; side < 2; ++side) {
        const Vertex& v = side == 0 ? first : second;
        doc.column(v.topic, spare);
        vd total = {};
        for (int64_t j = 0; j < doc.n_padded; j += kDoubles)
            total += widen(doc.count + j) * log(y64(j, after) + widen(spare + j));
        const double u = after * plan.start[v.topic] + (v.slot >= 0 ? count[v.slot] : 0);
        f[side] = sum(total) + (double(p.alpha[v.topic]) - 1) * std::log1p(1 / u);
    }
    if (!plan.coin) return f[1] > f[0];
    return double(plan.coin[move]) >= 1 / (1 + std::exp(f[1] - f[0]));
}

// Gives the start another weight. The literal schedule's first move forgets the start: y falls, and no bound holds any more.
inline void Ope::rebase(float value) {
    if (value == base) return;
    const bool forgets = value < base;
    set_base(value);
    if (forgets) full_gradient(), highest = kUnknown;
}

inline void Ope::search(int64_t sequence) {
    begin();
    highest = kUnknown;
    if (first_ready) {
        std::memcpy(bound, first_bound, sizeof(float) * p.stride);
        moves_then = 0;
    } else {
        full_gradient();
        if (plan.n_restarts > 1) std::memcpy(first_bound, bound, sizeof(float) * p.stride);
        first_ready = true;
    }
    const float *a = plan.a + sequence * plan.n_moves, *b = plan.b + sequence * plan.n_moves;
    const bool skips = plan.screen && !plan.a2 && plan.tol == 0;
    for (int64_t move = 0; move < plan.n_moves; ++move) {
        rebase(plan.base[move]);
        ahead.turn();
        // with one topic picked and the others' bounds below even its prior term, there is no need to look at the words
        if (skips && picked == 1 && optimum_of_unpicked(a[move], b[move]) < b[move] * penalty[0]) {
            pick(topic[0], 0);
            continue;
        }
        evaluate_picked();
        Vertex v = vertex(a[move], b[move]);
        if (plan.a2) {
            const int64_t at = sequence * plan.n_moves + move;
            const Vertex second = vertex(plan.a2[at], plan.b2[at]);
            if (second.topic != v.topic && second_is_better(v, second, move)) v = second;
        }
        move_to(v);
        if (plan.tol > 0 && moves % kGapEvery == 0 && moves < plan.n_moves) {
            rebase(plan.base[moves]);
            evaluate_picked();
            if (mass() * vertex(1, 1).score - doc.tokens - alpha_excess <= plan.tol * doc.tokens) break;
        }
    }
    rebase(plan.base[moves]);
}

// Writes the certificate and returns f. The topics that decide the two gaps are found in single precision, the values in
// double.
inline double Ope::certify(int64_t index, const Outputs& out) {
    for (int64_t j = 0; j < doc.n_padded; j += kDoubles) store(x64 + j, y64(j, base) / mass());
    const double likelihood = log_likelihood(doc, x64, ratio64);
    double prior_term = log_prior_start + alpha_excess * std::log(double(base) / mass());
    for (int64_t i = 0; i < picked; ++i)
        prior_term += double(weight[i]) * std::log1p(double(count[i]) / (double(base) * share[i]));
    if (out.gap) {
        evaluate_picked();
        const Vertex steepest = vertex(1, 1), likeliest = vertex(1, 0);
        out.gap[index] = positive(likelihood_slope(doc, ratio64, steepest.topic) - doc.tokens +
                                  mass() * prior_slope(steepest.topic, steepest.slot) - alpha_excess);
        out.likelihood_gap[index] = positive(likelihood_slope(doc, ratio64, likeliest.topic) - doc.tokens);
        out.log_likelihood[index] = likelihood;
        out.log_prior[index] = prior_term;
    }
    return likelihood + prior_term;
}

inline void Ope::run(int64_t index, int64_t last, const Outputs& out) {
    open(index);
    kept = kept_moves = 0;
    if (out.n_iter) out.n_iter[index] = 0;
    if (doc.n == 0) return;  // the caller fills in the prior's mean
    noise = 2.5e-7f * float(doc.n_padded / kLanes + 8);
    ahead.aim(index + 1, last, plan.n_moves * plan.n_restarts);
    first_ready = false;
    const int64_t first = plan.by_content ? int64_t(document_key(p, index, plan.seed) % uint64_t(plan.n_sequences)) : 0;
    double best = -HUGE_VAL;
    for (int64_t r = 0; r < plan.n_restarts; ++r) {
        search((first + r) % plan.n_sequences);
        if (plan.n_restarts > 1) {
            const double f = certify(index, Outputs{});
            if (f <= best) continue;
            best = f;
        }
        if (out.gap) certify(index, out);
        kept = picked, kept_moves = moves;
        std::memcpy(kept_topic, topic, sizeof(int32_t) * picked);
        std::memcpy(kept_count, count, sizeof(int32_t) * picked);
    }
    if (out.n_iter) out.n_iter[index] = int32_t(kept_moves);
    if (!out.theta) return;
    const float kept_base = plan.base[kept_moves];
    const float mass = kept_base + float(kept_moves);
    float* theta = out.theta + index * p.n_topics;
    for (int64_t k = 0; k < p.n_topics; ++k) theta[k] = kept_base / mass * plan.start[k];
    for (int64_t i = 0; i < kept; ++i) {
        const int64_t k = kept_topic[i];
        theta[k] = (kept_base * plan.start[k] + float(kept_count[i])) / mass;
    }
}

}  // namespace OPELDA_ISA

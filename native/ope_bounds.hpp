// OPE's argmax over all topics, at the cost of a few topics (see ope.hpp): topics that were never
// picked compete with bounds.
#pragma once

#include <cmath>

#include "ope_walk.hpp"

namespace OPELDA_ISA {

constexpr float kOut = -1e30f;  // the bound of a topic excluded from the never picked
constexpr float kUnknown = 3e38f;

struct Vertex {
    int64_t topic = -1;
    int64_t slot = -1;      // -1: not picked so far
    double score = -1e300;  // in double: a steep prior must not drown the likelihood
    OPELDA_INLINE void offer(double s, int64_t k, int64_t at) {
        if (s > score || (s == score && k < topic)) score = s, topic = k, slot = at;
    }
};

struct OpeBounds {
    OpeWalk& walk;
    const Problem& p;
    const OpePlan& plan;
    float *bound,
        *first_bound;   // per topic: upper bound of G_k, kOut once picked; the same at the start
    float highest = 0;  // upper limit of all bounds
    int64_t moves_then = 0;  // when the bounds were last taken from a full gradient
    int64_t* tried;
    float* tried_slope;
    float noise = 0;  // relative rounding error of a sum over the words
    float* prior;     // (alpha_k - 1) / start_k
    float prior_max = -3e38f, prior_abs = 0;

    explicit OpeBounds(OpeWalk& state) : walk(state), p(state.p), plan(state.plan) {}

    void allocate(Arena& arena) {
        bound = arena.array<float>(p.stride + 64);
        first_bound = arena.array<float>(p.stride);
        prior = arena.array<float>(p.stride);
        tried = arena.array<int64_t>(p.n_topics);
        tried_slope = arena.array<float>(p.n_topics);
    }

    void prepare() {
        for (int64_t k = 0; k < p.stride; ++k) {
            prior[k] = k < p.n_topics ? (p.alpha[k] - 1) / plan.start[k] : 0;
            if (k < p.n_topics && prior[k] > prior_max) prior_max = prior[k];
            if (std::fabs(prior[k]) > prior_abs) prior_abs = std::fabs(prior[k]);
        }
    }

    void open() {
        const int64_t vectors = walk.doc.n_padded / kLanes;
        noise = 2.5e-7f * float(vectors + 8);
    }

    // Starts a walk; all walks of a document start from the same bounds.
    void begin(bool first) {
        walk.begin();
        highest = kUnknown;
        if (first) {
            full_gradient();
            if (plan.n_restarts > 1) std::memcpy(first_bound, bound, sizeof(float) * p.stride);
        } else {
            std::memcpy(bound, first_bound, sizeof(float) * p.stride);
            moves_then = 0;
        }
    }

    void move_to(const Vertex& v) {
        walk.pick(v.topic, v.slot);
        bound[v.topic] = kOut;
    }

    // Margin for rounding when scores are compared with bounds: of sums over words, and of the
    // prior's term.
    float rounding(float likelihood, float b) const {
        return noise * likelihood + 1e-6f * b * prior_abs;
    }
    float optimum_of_unpicked(float a, float b) const {
        const float b_new = b * walk.inverse_base;
        return a * highest + b_new * prior_max + rounding(a * highest, b_new);
    }

    void rebase(float value);
    void full_gradient();
    Vertex vertex(float a, float b);
    Vertex vertex_of_all(Vertex best, float a, float b);
    Vertex most_promising(float a, float b, float& top) const;
    Vertex vertex_of_last_resort() const {  // all scores are NaN: any valid topic
        Vertex v;
        v.topic = walk.picked > 0 ? walk.topic[0] : 0;
        v.slot = walk.picked > 0 ? 0 : -1;
        return v;
    }
};

inline void OpeBounds::full_gradient() {
    walk.set_ratio();
    walk.bound_all(bound);
    moves_then = walk.moves;
    for (int64_t k = p.n_topics; k < p.stride; ++k) bound[k] = kOut;
    for (int64_t i = 0; i < walk.picked; ++i) bound[walk.topic[i]] = kOut;
}

// The never picked topic with the largest bound on its score, lowest index first; `top` gets the
// largest bound on G.
inline Vertex OpeBounds::most_promising(float a, float b, float& top) const {
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

// argmax_k  a G_k + b (alpha_k - 1) / u_k, lowest index first; `walk.slope` holds the picked
// topics' G.
OPELDA_INLINE Vertex OpeBounds::vertex(float a, float b) {
    Vertex best;
    for (int64_t i = 0; i < walk.picked; ++i)
        best.offer(double(a) * walk.slope[i] + b * walk.penalty[i], walk.topic[i], i);
    if (plan.screen && walk.picked > 0 && optimum_of_unpicked(a, b) < best.score) return best;
    return vertex_of_all(best, a, b);
}

// The same if a topic never picked may exceed the best picked topic.
__attribute__((noinline)) inline Vertex OpeBounds::vertex_of_all(Vertex best, float a, float b) {
    const float b_new = b * walk.inverse_base;
    walk.set_ratio();
    // testing a topic costs a strided walk over the words, a full gradient one vector per 16 topics
    const int64_t patience = 1 + p.stride / 256;
    bool fresh = false;
    int64_t n_tried = 0, looks = 0;
    if (!plan.screen || walk.moves > 8 * moves_then + 8) full_gradient(), fresh = true;
    float top = 0;
    while (!(walk.doc.is_long && opelda::stopped())) {
        const Vertex candidate = most_promising(a, b_new, top);
        const float reach = bound[candidate.topic];
        if (reach == kOut || candidate.score + rounding(a * reach, b_new) < best.score) break;
        if (!fresh && looks++ >= patience) {
            full_gradient();
            for (int64_t i = 0; i < n_tried; ++i) bound[tried[i]] = kOut;
            fresh = true;
            continue;
        }
        if (p.coarse && !fresh) {  // the coarse bytes are in the cache and may save a read of the
                                   // rows, which are not
            bound[candidate.topic] = walk.coarse_bound(candidate.topic);
            const float closer = a * bound[candidate.topic] + b_new * prior[candidate.topic];
            if (closer + rounding(a * reach, b_new) < best.score) continue;
        }
        const float g = walk.exact(candidate.topic);
        best.offer(double(a) * g + b * walk.prior_slope(candidate.topic, -1), candidate.topic, -1);
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

// Changes the weight of the start. In the literal schedule the first move forgets the start: y
// falls, and all bounds become invalid.
inline void OpeBounds::rebase(float value) {
    if (value == walk.base) return;
    const bool forgets = value < walk.base;
    walk.set_base(value);
    if (forgets) full_gradient(), highest = kUnknown;
}

}  // namespace OPELDA_ISA

// The state of a walk of OPE (ope.hpp): pick counts of topics, and derived values of the words.
#pragma once

#include "document.hpp"

namespace OPELDA_ISA {

using opelda::OpePlan;

struct OpeWalk {
    const Problem& p;
    const OpePlan& plan;
    const int64_t capacity;    // words, padded
    const int64_t max_picked;  // topics
    Document doc;

    int64_t picked = 0, moves = 0;
    float base = 1, inverse_base = 1;  // the start's weight
    float *start, *ratio, *columns,
        *spare;  // per word: start_j, d_j / y_j; one column per picked topic; scratch
    bool ratio_ready = false;
    int32_t *topic, *count;         // per picked topic
    float *slope, *weight, *share;  // per picked topic: G_k, alpha_k - 1, start_k
    double* penalty;                // per picked topic: (alpha_k - 1) / u_k

    OpeWalk(const Problem& problem, const OpePlan& plan)
        : p(problem),
          plan(plan),
          capacity(padded(problem.max_words)),
          max_picked(p.n_topics < plan.n_moves ? p.n_topics : plan.n_moves) {}

    void allocate(Arena& arena) {
        doc.allocate(arena, p.max_words);
        start = arena.array<float>(capacity);
        ratio = arena.array<float>(capacity);
        columns = arena.array<float>(capacity * max_picked);
        spare = arena.array<float>(capacity);
        topic = arena.array<int32_t>(max_picked);
        count = arena.array<int32_t>(max_picked);
        slope = arena.array<float>(max_picked);
        weight = arena.array<float>(max_picked);
        share = arena.array<float>(max_picked);
        penalty = arena.array<double>(max_picked);
    }

    void open(int64_t index) {
        doc.open(p, index);
        const int32_t* words = p.words + p.indptr[index];
        for (int64_t j = 0; j < doc.n; ++j) start[j] = plan.start_words[words[j]];
        for (int64_t j = doc.n; j < doc.n_padded; ++j) start[j] = 1;
    }

    void begin() {
        picked = moves = 0;
        set_base(plan.base[0]);
    }

    void set_base(float value) {
        base = value;
        inverse_base = 1 / base;
        ratio_ready = false;
        for (int64_t i = 0; i < picked; ++i) weigh(i);
    }

    // Moves towards a topic, at its slot if picked before.
    void pick(int64_t k, int64_t slot) {
        if (slot < 0) {
            slot = picked++;
            doc.column(k, columns + slot * capacity);
            topic[slot] = int32_t(k);
            count[slot] = 0;
            weight[slot] = p.alpha[k] - 1;
            share[slot] = plan.start[k];
        }
        ++count[slot];
        ++moves;
        weigh(slot);
        ratio_ready = false;
    }

    void weigh(int64_t slot) {
        penalty[slot] = weight[slot] / (double(base) * share[slot] + count[slot]);
    }

    // The prior's slope of a topic in u; equals penalty for picked topics.
    double prior_slope(int64_t k, int64_t slot) const {
        return slot >= 0 ? penalty[slot]
                         : (double(p.alpha[k]) - 1) / (double(base) * plan.start[k]);
    }

    double mass() const { return double(base) + double(moves); }

    // y of kDoubles words from j on, in double precision, with the given weight of the start.
    vd y64(int64_t j, double weight_of_start) const {
        vd y = widen(start + j) * weight_of_start;
        for (int64_t i = 0; i < picked; ++i)
            y += double(count[i]) * widen(columns + i * capacity + j);
        return y;
    }

    // Sums of n positive terms in two orders differ by at most about 2 n units in the last place.
    float widened() const { return 1 + 2.5e-7f * float(doc.n + 8); }

    void evaluate_picked();
    template <int P> void evaluate_few();
    void evaluate_many();
    void set_ratio();
    float exact(int64_t k);
    float coarse_bound(int64_t k) const;
    void bound_all(float* bound);
};

// One pass over the words for up to four picked topics: y, d / y and the sums never leave the
// registers.
template <int P> void OpeWalk::evaluate_few() {
    vf acc[P] = {};
    vf times[P];
    for (int i = 0; i < P; ++i) times[i] = broadcast(float(count[i]));
    for (int64_t j = 0; j < doc.n_padded; j += kLanes) {
        vf column[P];
        vf y = load(start + j) * base;
        for (int i = 0; i < P; ++i) {
            column[i] = load(columns + i * capacity + j);
            y += times[i] * column[i];
        }
        const vf r = load(doc.count + j) / y;
        for (int i = 0; i < P; ++i) acc[i] += r * column[i];
    }
    for (int i = 0; i < P; ++i) slope[i] = sum(acc[i]);
}

inline void OpeWalk::evaluate_many() {
    set_ratio();
    for (int64_t i = 0; i < picked; ++i) {
        vf acc = {};
        for (int64_t j = 0; j < doc.n_padded; j += kLanes)
            acc += load(ratio + j) * load(columns + i * capacity + j);
        slope[i] = sum(acc);
    }
}

// Computes the picked topics' G.
inline void OpeWalk::evaluate_picked() {
    switch (picked) {
        case 0:
            return;
        case 1:
            return evaluate_few<1>();
        case 2:
            return evaluate_few<2>();
        case 3:
            return evaluate_few<3>();
        case 4:
            return evaluate_few<4>();
        default:
            return evaluate_many();
    }
}

// d_j / y_j, once per state.
inline void OpeWalk::set_ratio() {
    if (ratio_ready) return;
    for (int64_t j = 0; j < doc.n_padded; j += kLanes) {
        vf y = load(start + j) * base;
        for (int64_t i = 0; i < picked; ++i)
            y += float(count[i]) * load(columns + i * capacity + j);
        store(ratio + j, load(doc.count + j) / y);
    }
    ratio_ready = true;
}

// G_k of a topic never picked. `ratio` is ready.
inline float OpeWalk::exact(int64_t k) {
    doc.column(k, spare);
    vf acc = {};
    for (int64_t j = 0; j < doc.n_padded; j += kLanes) acc += load(ratio + j) * load(spare + j);
    return sum(acc);
}

// An upper bound of G_k from the coarse rows.
inline float OpeWalk::coarse_bound(int64_t k) const {
    const int64_t at = k / 64 * kCoarseBlock + k % kCoarseBlock;
    const int shift = int(k % 64 / kCoarseBlock) * 8;
    float g[4] = {};
    for (int64_t j = 0; j < doc.n; ++j)
        g[j % 4] += ratio[j] * doc.coarse_scale[j] * coarse_value(doc.coarse[j][at] >> shift);
    return ((g[0] + g[1]) + (g[2] + g[3])) * kCoarseUnit * widened();
}

// Upper bounds of every G_k; `ratio` is ready.
inline void OpeWalk::bound_all(float* bound) {
    if (p.coarse && plan.screen) {
        for (int64_t j = 0; j < doc.n; ++j) spare[j] = ratio[j] * doc.coarse_scale[j];
        add_coarse(doc.n, doc.coarse, spare, p.coarse_stride, widened(), bound);
    } else {
        add_rows(doc.n, doc.row, ratio, p.stride, widened(), bound);
    }
}

}  // namespace OPELDA_ISA

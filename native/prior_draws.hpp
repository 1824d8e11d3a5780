// Draws from the prior's part of a word's topics, P(k) ~ alpha_k beta_kj: rare, usually one or two
// per word at a time (sweep.hpp).
#pragma once

#include "arena.hpp"
#include "kernels.hpp"

namespace OPELDA_ISA {

class PriorDraws {
public:
    explicit PriorDraws(const opelda::Sweep& s) : s(s), n_blocks(s.stride / kPad) {}

    void allocate(Arena& arena) {
        base_masses = arena.array<float>(s.n_priors * n_blocks);
        before = arena.array<float>(padded(n_blocks));
    }
    // `row` is `base`, or zeros for dense rows.
    void prepare(const float* row) {
        for (alpha = s.alpha; alpha < s.alpha + s.n_priors * s.stride; alpha += s.stride)
            for (int64_t b = 0; b < n_blocks; ++b)
                base_masses[(alpha - s.alpha) / s.stride * n_blocks + b] = mass_of(row, b);
        for (int64_t b = 0; b < padded(n_blocks); ++b) before[b] = __builtin_huge_valf();
    }
    // Selects the word of the next draws.
    OPELDA_INLINE void turn_to(int64_t to) {
        word = to;
        alpha = nullptr;
    }

    // Draws a topic of the word, whose row is in `row`; `own` of row[now] is the token itself.
    // Draws the block of topics first, then the topic.
    __attribute__((noinline)) uint16_t draw(const float* row, uint32_t prior_row, float target,
                                            uint32_t now, float own) {
        if (alpha != s.alpha + prior_row * s.stride) sum_up(row, prior_row);
        const int64_t here = now / kPad;
        const float mine = own > 0 ? alpha[now] * own : 0;  // later blocks start earlier by this
        int64_t block = n_begun(target + mine) - 1;
        if (block <= here)
            block = n_begun(target) - 1;
        else
            target += mine;
        block = block < n_blocks ? block : n_blocks - 1;
        target -= before[block];
        // (rounding can put the target beyond the end, or in an empty block)
        int64_t found = -1;
        for (int64_t k = block * kPad; k < (block + 1) * kPad && (found < 0 || target >= 0); ++k) {
            const float p = alpha[k] * (k == int64_t(now) ? row[k] - own : row[k]);
            if (p > 0) found = k, target -= p;
        }
        for (int64_t k = s.n_topics - 1; k >= 0 && found < 0; --k)
            if (alpha[k] * row[k] > 0) found = k;
        return uint16_t(found < 0 ? 0 : found);
    }

private:
    // Sums the masses before each block of topics: from the word's few topics, or from all.
    void sum_up(const float* row, uint32_t prior_row) {
        alpha = s.alpha + prior_row * s.stride;
        float total = 0;
        const int64_t begin = s.dense ? 0 : s.row_starts[word];
        const int64_t end = s.dense ? 0 : s.row_starts[word + 1];
        if (s.dense || end - begin > kFewTopics * n_blocks) {
            for (int64_t b = 0; b < n_blocks; ++b) {
                before[b] = total;
                total += mass_of(row, b);
            }
            return;
        }
        std::memcpy(before, base_masses + prior_row * n_blocks, size_t(n_blocks) * sizeof(float));
        for (int64_t i = begin; i < end; ++i) {
            const int32_t k = s.row_topics[i];
            before[k / kPad] += alpha[k] * (s.row_values[i] - s.base[k]);
        }
        for (int64_t b = 0; b < n_blocks; ++b) {
            const float mass = before[b];
            before[b] = total;
            total += mass;
        }
    }
    OPELDA_INLINE float mass_of(const float* row, int64_t block) const {
        vf mass = {};
        for (int64_t k = 0; k < kPad; k += kLanes)
            mass += load(alpha + block * kPad + k) * load(row + block * kPad + k);
        return sum(mass);
    }
    // Number of blocks that start at `target` or before; at least 1.
    OPELDA_INLINE int64_t n_begun(float target) const {
        vi begun = {};
        for (int64_t b = 0; b < padded(n_blocks); b += kLanes) begun -= load(before + b) <= target;
        const int64_t n = fold(begun, [](auto a, auto b) { return a + b; });
        return n > 1 ? n : 1;
    }

    static constexpr int64_t kFewTopics = 2;  // of a block: for more, a full sum is faster

    const opelda::Sweep& s;
    const int64_t n_blocks;
    float *base_masses, *before;  // of blocks of topics
    int64_t word = 0;
    const float* alpha = nullptr;  // of the prior whose masses are summed up
};

}  // namespace OPELDA_ISA

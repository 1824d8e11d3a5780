// A sweep of collapsed Gibbs sampling over a collection whose tokens keep their topics between
// sweeps. The topics' counts are constant during a sweep, so documents are independent.
//
//     P(z = k) ~ (N_dk + alpha_k) (beta_kj - own)
//
// where N_dk and beta exclude the token itself. The term with N_dk covers the few topics of the
// document; the term with alpha_k is a number per word, except for the rare draws that fall into
// it.
//
// A block of documents is processed word by word: a word's row is unpacked once, into the L1 cache,
// for all of the block's tokens of the word; random reads concern the documents' topics, in the L2
// cache. A document's tokens are drawn in word order for any division into blocks, so blocks do not
// affect the result.
#pragma once

#include "arena.hpp"
#include "prior_draws.hpp"
#include "randomness.hpp"
#include "slots.hpp"

namespace OPELDA_ISA {

using opelda::kGroupStep;
using opelda::Sweep;

class Sweeper {
public:
    explicit Sweeper(const Sweep& s) : s(s), from_prior(s) {}

    void allocate(Arena& arena) {
        row = arena.array<float>(s.stride + kPad);
        shares = arena.array<Share>(s.n_priors * s.n_topics);
        ends = arena.array<float>(kAtOnce * kFew);
        many_ends = arena.array<float>(s.stride + kSlots);
        groups = arena.array<SlotGroup>(s.most_groups);
        from_prior.allocate(arena);
    }

    void prepare() {
        for (int64_t k = 0; k < s.stride + kPad; ++k) row[k] = 0;
        if (s.base) std::memcpy(row, s.base, size_t(s.n_topics) * sizeof(float));
        for (int64_t r = 0; r < s.n_priors; ++r)
            for (int64_t k = 0; k < s.n_topics; ++k)
                shares[r * s.n_topics + k] = {s.inverse[k], s.alpha[r * s.stride + k]};
        from_prior.prepare(row);
    }

    void run(int64_t block) {
        opelda::load_slots(s, block, groups, s.fresh || s.given);
        if (s.given) {
            enter_tokens(block);
            opelda::save_slots(s, block, groups);
            opelda::load_slots(s, block, groups, false);
        }
        for (int64_t d = s.block_docs[block]; d < s.block_docs[block + 1]; ++d)
            groups[s.first_group[d] - s.block_groups[block]].key = mix(s.keys[d] + s.seed);
        for (int64_t draw = 0; draw < s.n_draws && !opelda::stopped(); ++draw)
            go_through_words(block, s.fresh && draw == 0);
        opelda::save_slots(s, block, groups);
    }

private:
    void enter_tokens(int64_t block) {
        const int64_t end = s.run_starts[s.block_runs[block + 1]];
        for (int64_t i = s.run_starts[s.block_runs[block]]; i < end; ++i)
            enter(groups + kGroupStep * s.at[i], s.z[i], s.sizes ? s.sizes[i] : 1,
                  uint16_t(s.n_topics));
    }

    void go_through_words(int64_t block, bool first) {
        for (int64_t i = s.block_runs[block]; i < s.block_runs[block + 1]; ++i) {
            // (tokens without topics must not be mistaken for tokens with topics)
            if (!first && opelda::stopped()) return;
            lay_out(s.run_words[i]);
            fetch_rows(i, s.block_runs[block + 1] - 1);
            if (s.run_alike && !s.run_alike[i])
                first ? go_through<false, true>(i) : go_through<false, false>(i);
            else
                first ? go_through<true, true>(i) : go_through<true, false>(i);
            clear(s.run_words[i]);
        }
    }

    void lay_out(int64_t word) {
        priors = s.prior + word * s.n_priors;
        from_prior.turn_to(word);
        if (s.dense) {
            std::memcpy(row, s.dense + word * s.stride, size_t(s.n_topics) * sizeof(float));
            return;
        }
        for (int64_t i = s.row_starts[word]; i < s.row_starts[word + 1]; ++i)
            row[s.row_topics[i]] = s.row_values[i];
    }
    // Words are rare in a block, and their rows scattered: fetches rows ahead of run i.
    OPELDA_INLINE void fetch_rows(int64_t i, int64_t last) const {
        if (s.dense) return;
        const int64_t far = s.run_words[i + 8 < last ? i + 8 : last];
        __builtin_prefetch(s.row_starts + far);
        __builtin_prefetch(s.prior + far);
        const int64_t near = s.row_starts[s.run_words[i + 4 < last ? i + 4 : last]];
        __builtin_prefetch(s.row_topics + near);
        __builtin_prefetch(s.row_values + near);
    }
    void clear(int64_t word) {
        if (s.dense) return;
        for (int64_t i = s.row_starts[word]; i < s.row_starts[word + 1]; ++i)
            row[s.row_topics[i]] = s.base[s.row_topics[i]];
    }

    // Draws the block's tokens of a word. A document's tokens of the word are not adjacent if other
    // documents have the word: tokens are drawn together while documents ascend, in three steps
    // over all these tokens, since tokens do not depend on each other within a step.
    template <bool Unit, bool First> void go_through(int64_t run) {
        for (int64_t begin = s.run_starts[run]; begin < s.run_starts[run + 1];) {
            const int64_t left = s.run_starts[run + 1] - begin;
            const uint32_t n =
                take_out<Unit, First>(begin, uint32_t(left < kAtOnce ? left : kAtOnce));
            weigh<Unit, First>(begin, n);
            choose<Unit, First>(begin, n);
            begin += n;
        }
    }

    // Draws random numbers for up to `most` tokens and removes the tokens from their topics, while
    // their documents ascend; returns the number of tokens.
    template <bool Unit, bool First>
    OPELDA_INLINE uint32_t take_out(int64_t begin, uint32_t most) {
        const uint16_t* const __restrict at = s.at + begin;
        const uint16_t* const __restrict z = s.z + begin;
        SlotGroup* const groups = this->groups;
        uint32_t i = 0, here;
        do {
            __builtin_prefetch(groups + kGroupStep * at[i + kAhead], 1, 3);
            __builtin_prefetch(groups + kGroupStep * at[i + kAhead] + 1, 1, 3);
            here = at[i];
            SlotGroup* const doc = groups + kGroupStep * here;
            const uint64_t key = doc->key += kGolden;
            uniforms[i] = float(int32_t(mix(key) >> 40)) * 0x1p-24f + 0x1p-25f;
            if (!First) *size_of(doc, doc->n_slots, z[i]) -= Unit ? 1 : s.sizes[begin + i];
            ++i;
        } while (i < most && at[i] > here);
        return i;
    }

    OPELDA_INLINE float alpha_of(const SlotGroup* doc, uint32_t topic) const {
        return shares[doc->prior_row * s.n_topics + topic].alpha;
    }
    // The token's own part of row[now].
    template <bool Unit> OPELDA_INLINE float own_part(uint32_t now, int64_t token) const {
        const float most = Unit ? shares[now].inverse : shares[now].inverse * s.weights[token];
        return smaller(most, row[now]);
    }

    // The running sums of the tokens' slots, a float at a time: combining four costs more than it
    // saves. Also the drawn index among them; it lies beyond the end if there are too many slots
    // (choose_further). Slots without a topic add exactly 0.
    template <bool Unit, bool First> OPELDA_INLINE void weigh(int64_t begin, uint32_t n) {
        const uint16_t* const __restrict at = s.at + begin;
        const uint16_t* const __restrict z = s.z + begin;
        const SlotGroup* const groups = this->groups;
        float* const row = this->row;
        const float* const priors = this->priors;
        float* __restrict end = ends;
        for (uint32_t i = 0; i < n; ++i, end += kFew) {
            const SlotGroup* doc = groups + kGroupStep * at[i];
            const uint32_t now = z[i], n_slots = doc->n_slots;
            float rest = priors[doc->prior_row], beta = 0;
            if (!First) {  // temporarily remove the token's own part
                beta = row[now];
                const float own = own_part<Unit>(now, begin + i);
                rest = larger(rest - own * alpha_of(doc, now), 0);
                row[now] = beta - own;
            }
            float used = add(doc, 0, row, 0, end);
            used = add(doc, kQuad, row, used, end + kQuad);
            for (uint32_t first = kSlots; first < n_slots && n_slots <= kFew; first += kQuad)
                used = add(doc + first / kSlots, first % kSlots, row, used, end + first);
            if (!First) row[now] = beta;
            targets[i] = n_slots <= kFew ? uniforms[i] * (used + rest) : __builtin_huge_valf();
        }
    }
    OPELDA_INLINE static float add(const SlotGroup* group, uint32_t from, const float* row,
                                   float used, float* __restrict end) {
        uint64_t topics;
        std::memcpy(&topics, group->topics + from, sizeof topics);
        float sums[kQuad];
        for (int k = 0; k < kQuad; ++k)
            sums[k] = used += group->sizes[from + k] * row[topics >> (16 * k) & 0xffff];
        for (int k = 0; k < kQuad; ++k) end[k] = sums[k];
        return used;
    }

    // Assigns the drawn topics to the tokens: mostly from the document's first group.
    template <bool Unit, bool First> OPELDA_INLINE void choose(int64_t begin, uint32_t n) {
        const uint16_t* const __restrict at = s.at + begin;
        uint16_t* const __restrict z = s.z + begin;
        SlotGroup* const groups = this->groups;
        const float* end = ends;
        for (uint32_t i = 0; i < n; ++i, end += kFew) {
            SlotGroup* const doc = groups + kGroupStep * at[i];
            const uint32_t to = count_up_to(end, targets[i]);
            if (to < kSlots) [[likely]] {
                OPELDA_ASSERT(doc->topics[to] < s.n_topics);
                doc->sizes[to] += Unit ? 1 : s.sizes[begin + i];
                z[i] = doc->topics[to];
            } else {
                choose_further<Unit, First>(begin + i, doc, end, targets[i], uniforms[i]);
            }
        }
    }
    template <bool Unit, bool First>
    __attribute__((noinline)) void choose_further(int64_t token, SlotGroup* doc, const float* end,
                                                  float target, float u) {
        const uint32_t now = First ? uint32_t(s.n_topics) : s.z[token], n = doc->n_slots;
        if (n > kFew) {
            end = many_ends;
            target = u * weigh_many<Unit, First>(token, doc, now);
        }
        uint32_t to = n > kFew ? 0 : kSlots;
        for (uint32_t passed = kQuad; to < n && passed == kQuad; to += passed)
            passed = quad_up_to(end + to, target);
        const float weight = Unit ? 1 : s.sizes[token];
        if (to < n) {
            doc[to / kSlots].sizes[to % kSlots] += weight;
            s.z[token] = doc[to / kSlots].topics[to % kSlots];
            return;
        }
        const float own = First ? 0 : own_part<Unit>(now, token);
        const float used = end[n <= kSlots ? kSlots - 1 : n - 1];
        s.z[token] = from_prior.draw(row, doc->prior_row, target - used, now, own);
        enter(doc, s.z[token], weight, uint16_t(s.n_topics));
    }
    template <bool Unit, bool First>
    float weigh_many(int64_t token, const SlotGroup* doc, uint32_t now) {
        const float own = First ? 0 : own_part<Unit>(now, token), beta = row[now];
        const float prior = priors[doc->prior_row];
        const float rest = First ? prior : larger(prior - own * alpha_of(doc, now), 0);
        row[now] -= own;
        float used = 0;
        for (uint32_t first = 0; first < doc->n_slots; first += kQuad)
            used = add(doc + first / kSlots, first % kSlots, row, used, many_ends + first);
        row[now] = beta;
        return used + rest;
    }

    static constexpr int64_t kAtOnce = 128, kAhead = 16;
    static constexpr uint32_t kFew = 32;  // slots; larger documents are drawn individually

    struct Share {
        float inverse, alpha;
    };

    const Sweep& s;
    SlotGroup* groups;  // of the block
    // the word's probabilities, and a zero for slots without a topic; running sums of the current
    // tokens
    float *row, *ends, *many_ends;
    Share* shares;                  // of topics, by prior
    const float* priors = nullptr;  // of the word
    PriorDraws from_prior;
    float uniforms[kAtOnce], targets[kAtOnce];
};

inline void sweep(const Sweep& s, opelda::Queue& queue) {
    Sweeper worker(s);
    const Arena arena([&](Arena& a) { worker.allocate(a); });
    worker.prepare();
    int64_t begin, end;
    while (opelda::take(queue, begin, end))
        for (int64_t block = begin; block < end; ++block) worker.run(block);
}

}  // namespace OPELDA_ISA

// One sweep of collapsed Gibbs sampling over a collection whose tokens keep their topics from sweep
// to sweep; the topics' counts stand still meanwhile, so that documents do not depend on each
// other.
//
//     P(z = k) ~ (N_dk + alpha_k) (beta_kj - own)
//
// where the token itself is taken out of N_dk and of beta. The part with N_dk lives on the few
// topics that the document has, the part with alpha_k is one number per word but for the rare draw
// that lands there.
//
// A block of documents is gone through word by word: a word's row is laid out once, in the first
// cache, for all of the block's tokens of the word, and what is read at random is the documents'
// few topics, in the second. A document's tokens are drawn in the order of its words whatever the
// blocks, so that these do not matter to the result.
#pragma once

#include "arena.hpp"
#include "randomness.hpp"

namespace OPELDA_ISA {

using opelda::kSlots;
using opelda::SlotGroup;
using opelda::Sweep;

// As many tokens are drawn at once, each in a lane, as a register has lanes, at most eight.
constexpr int kTokens = kLanes < 8 ? kLanes : 8;
typedef float vt __attribute__((vector_size(4 * kTokens)));
typedef int32_t vn __attribute__((vector_size(4 * kTokens)));

OPELDA_INLINE vt load_tokens(const float* p) {
    vt v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
OPELDA_INLINE void store_tokens(float* p, vt v) { std::memcpy(p, &v, sizeof v); }

class Sweeper {
public:
    explicit Sweeper(const Sweep& s) : s(s) {}

    void allocate(Arena& arena) {
        row = arena.array<float>(s.stride + kPad);
        sums = arena.array<float>(s.stride / kPad);
        ends = arena.array<float>((s.stride + kSlots) * kTokens);
        nothing = arena.array<SlotGroup>(1);
    }

    void prepare() {
        for (int64_t k = 0; k < s.stride + kPad; ++k) row[k] = 0;
        if (s.base) std::memcpy(row, s.base, size_t(s.n_topics) * sizeof(float));
        *nothing = {};
        for (uint16_t& topic : nothing->topics) topic = uint16_t(s.n_topics);
    }

    void run(int64_t block) {
        groups = s.groups + s.block_groups[block];
        begin_documents(block);
        for (int64_t draw = 0; draw < s.n_draws; ++draw)
            for (int64_t i = s.block_runs[block]; i < s.block_runs[block + 1]; ++i) {
                if (opelda::stopped()) return;
                lay_out(s.run_words[i]);
                const bool first = s.fresh && draw == 0;
                if (s.weights)
                    first ? go_through<false, true>(i) : go_through<false, false>(i);
                else
                    first ? go_through<true, true>(i) : go_through<true, false>(i);
                clear(s.run_words[i]);
            }
    }

private:
    // Gives every document its random numbers of this sweep, and takes empty slots away.
    void begin_documents(int64_t block) {
        for (int64_t d = s.block_docs[block]; d < s.block_docs[block + 1]; ++d) {
            SlotGroup* doc = s.groups + s.first_group[d];
            doc->key = mix(s.keys[d] + s.seed);
            uint32_t kept = 0;
            for (uint32_t slot = 0; slot < doc->n_slots; ++slot) {
                const SlotGroup& from = doc[slot / kSlots];
                SlotGroup& to = doc[kept / kSlots];
                to.sizes[kept % kSlots] = from.sizes[slot % kSlots];
                to.topics[kept % kSlots] = from.topics[slot % kSlots];
                kept += to.sizes[kept % kSlots] > 0;
            }
            for (uint32_t slot = kept; slot < doc->n_slots; ++slot) {
                doc[slot / kSlots].sizes[slot % kSlots] = 0;
                doc[slot / kSlots].topics[slot % kSlots] = uint16_t(s.n_topics);
            }
            doc->n_slots = kept;
        }
    }

    void lay_out(int64_t word) {
        prior = s.prior[word];
        summed = false;
        if (s.dense) {
            std::memcpy(row, s.dense + word * s.stride, size_t(s.n_topics) * sizeof(float));
            return;
        }
        for (int64_t i = s.row_starts[word]; i < s.row_starts[word + 1]; ++i)
            row[s.row_topics[i]] = s.row_values[i];
    }
    void clear(int64_t word) {
        if (s.dense) return;
        for (int64_t i = s.row_starts[word]; i < s.row_starts[word + 1]; ++i)
            row[s.row_topics[i]] = s.base[s.row_topics[i]];
    }

    // Draws the block's tokens of a word, some at a time: first the random numbers, and which
    // documents have few topics, for nothing of it waits for anything else; then the topics.
    template <bool Unit, bool First> void go_through(int64_t run) {
        const int64_t end = s.run_starts[run + 1];
        for (int64_t begin = s.run_starts[run]; begin < end; begin += kAtOnce) {
            const uint32_t n = uint32_t(end - begin < kAtOnce ? end - begin : kAtOnce);
            const uint16_t* at = s.at + begin;
            uint32_t n_few = 0, n_more = 0;
            for (uint32_t i = 0; i < n; ++i) {
                __builtin_prefetch(groups + at[i + kAhead], 1, 3);
                SlotGroup* doc = groups + at[i];
                const uint64_t key = doc->key += kGolden;
                uniforms[i] = (float(int32_t(mix(key) >> 40)) + 0.5f) * 0x1p-24f;
                const bool few = doc->n_slots <= kSlots;
                lists[0][n_few] = lists[1][n_more] = i;
                n_few += few, n_more += !few;
            }
            draw_list<Unit, First>(begin, lists[0], n_few);
            draw_list<Unit, First>(begin, lists[1], n_more);
        }
    }

    // A document's tokens of a word are not neighbours where others have it too: tokens are drawn
    // together as long as documents ascend.
    template <bool Unit, bool First>
    OPELDA_INLINE void draw_list(int64_t begin, const uint32_t* list, uint32_t n) {
        constexpr std::make_integer_sequence<int, kTokens> lanes{};
        const uint16_t* at = s.at + begin;
        for (uint32_t i = 0; i < n;) {
            bool ascend = i + kTokens <= n;
            if (ascend)
                for (int t = 1; t < kTokens; ++t) ascend &= at[list[i + t]] > at[list[i + t - 1]];
            if (ascend) [[likely]] {
                draw<Unit, First>(begin, list + i, kTokens, lanes);
                i += kTokens;
                continue;
            }
            int some = 1;
            while (some < kTokens && i + some < n && at[list[i + some]] > at[list[i + some - 1]])
                ++some;
            draw_few<Unit, First>(begin, list + i, some);
            i += some;
        }
    }
    template <bool Unit, bool First> void draw_few(int64_t begin, const uint32_t* list, int n) {
        draw<Unit, First>(begin, list, n, std::make_integer_sequence<int, kTokens>{});
    }

    // Draws topics for n tokens of different documents.
    template <bool Unit, bool First, int... T>
    OPELDA_INLINE void draw(int64_t begin, const uint32_t* list, const int n,
                            std::integer_sequence<int, T...>) {
        SlotGroup* const docs[] = {(T < n ? groups + s.at[begin + list[T]] : nothing)...};
        const vt u = {(T < n ? uniforms[list[T]] : 0)...};
        const float weight[] = {(Unit ? 1.0f : T < n ? s.weights[begin + list[T]] : 0)...};
        const uint32_t now[] = {(!First && T < n ? s.z[begin + list[T]] : uint32_t(s.n_topics))...};
        vt rest = prior - vt{}, staying = {}, own = {};
        uint32_t slot[] = {(First ? 0 * T : slot_of(docs[T], uint16_t(now[T])))...};
        if (!First) {  // the tokens taken out of their topics; own is 0 where they are in no count
            const vt heavy = {weight[T]...}, beta = {row[now[T]]...};
            own = heavy * vt{s.inverse[now[T]]...};
            own = own < beta ? own : beta;
            rest -= own * vt{s.alpha[now[T]]...};
            rest = rest > 0 ? rest : vt{};
            staying =
                (vt{docs[T][slot[T] / kSlots].sizes[slot[T] % kSlots]...} - heavy) * (beta - own);
        }
        vn place = {int32_t(slot[T])...};
        uint32_t most = 0;
        ((most = docs[T]->n_slots > most ? docs[T]->n_slots : most), ...);
        vt used = {};
        for (uint32_t first = 0; first < most; first += kTokens) {
            const SlotGroup* const part[] = {
                (first < docs[T]->n_slots ? docs[T] + first / kSlots : nothing)...};
            const uint32_t from = first % kSlots;
            vt size[] = {load_tokens(part[T]->sizes + from)...};
            transpose<kTokens / 2>(size);
            const auto add = [&](uint32_t i, vt sizes) __attribute__((always_inline)) {
                const vt mass = sizes * vt{row[part[T]->topics[from + i]]...};
                used += First ? mass : (place == int32_t(i) ? staying : mass);
                store_tokens(ends + (first + i) * kTokens, used);
            };
            (add(T, size[T]), ...);
            place -= kTokens;
        }
        const vt target = u * (used + rest);
        vn passed = {};
        for (uint32_t i = 0; i < most; i += kTokens)
            ((passed -= load_tokens(ends + (i + T) * kTokens) <= target), ...);
        ((T < n ? move<First>(begin + list[T], docs[T], now[T], slot[T], weight[T], own[T],
                              uint32_t(passed[T]), target[T] - used[T])
                : void()),
         ...);
    }

    template <bool First> OPELDA_INLINE void move(int64_t token, SlotGroup* doc, uint32_t now,
                                                  uint32_t slot, float weight, float own,
                                                  uint32_t to, float beyond) {
        if (!First) doc[slot / kSlots].sizes[slot % kSlots] -= weight;
        if (beyond < 0) [[likely]] {
            doc[to / kSlots].sizes[to % kSlots] += weight;
            s.z[token] = doc[to / kSlots].topics[to % kSlots];
        } else {
            s.z[token] = draw_from_prior(beyond, now, own);
            enter(doc, s.z[token], weight);
        }
    }

    OPELDA_INLINE uint32_t slot_of(const SlotGroup* doc, uint16_t topic) const {
        typedef uint16_t v8 __attribute__((vector_size(16)));
        for (uint32_t first = 0;; first += kSlots, ++doc) {
            v8 topics;
            std::memcpy(&topics, doc->topics, sizeof topics);
            const auto same = topics == topic;
            typedef int8_t b8 __attribute__((vector_size(8)));
            const b8 bytes = __builtin_convertvector(same, b8);
            uint64_t bits;
            std::memcpy(&bits, &bytes, sizeof bits);
            if (bits) return first + uint32_t(__builtin_ctzll(bits)) / 8;
        }
    }

    // A topic from the prior's part of the weights; `own` of row[now] is the token itself.
    __attribute__((noinline)) uint16_t draw_from_prior(float target, uint32_t now, float own) {
        if (!summed) {
            for (int64_t b = 0; b < s.stride / kPad; ++b) {
                vf mass = {};
                for (int64_t k = b * kPad; k < (b + 1) * kPad; k += kLanes)
                    mass += load(s.alpha + k) * load(row + k);
                sums[b] = sum(mass);
            }
            summed = true;
        }
        uint16_t found = uint16_t(now);
        for (int64_t b = 0; b < s.stride / kPad; ++b) {
            const float mass =
                sums[b] - (own > 0 && now / kPad == uint32_t(b) ? s.alpha[now] * own : 0);
            if (mass <= target && (b + 1) * kPad < s.n_topics) {
                target -= mass;
                continue;
            }
            for (int64_t k = b * kPad; k < (b + 1) * kPad; ++k) {
                const float p = s.alpha[k] * (k == int64_t(now) ? row[k] - own : row[k]);
                if (p <= 0) continue;
                found = uint16_t(k);
                target -= p;
                if (target < 0) return found;
            }
        }
        return found;  // rounding may have left the target beyond the end
    }

    // Puts a token into a topic, which gets a slot if it has none: the first that is empty.
    __attribute__((noinline)) void enter(SlotGroup* doc, uint16_t topic, float weight) const {
        uint32_t slot = doc->n_slots;
        for (uint32_t i = doc->n_slots; i-- > 0;) {
            if (doc[i / kSlots].topics[i % kSlots] == topic) {
                doc[i / kSlots].sizes[i % kSlots] += weight;
                return;
            }
            if (doc[i / kSlots].sizes[i % kSlots] == 0) slot = i;
        }
        if (slot == doc->n_slots) ++doc->n_slots;
        doc[slot / kSlots].topics[slot % kSlots] = topic;
        doc[slot / kSlots].sizes[slot % kSlots] = weight;
    }

    static constexpr int64_t kAtOnce = 256, kAhead = 16;

    const Sweep& s;
    SlotGroup* groups = nullptr;  // of the block
    SlotGroup* nothing;           // where a document has no more
    // the word's probabilities, and a zero for slots without a topic; the prior's part in sums;
    // the running sums of the tokens at hand
    float *row, *sums, *ends;
    float prior = 0;
    bool summed = false;
    float uniforms[kAtOnce];
    uint32_t lists[2][kAtOnce];
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

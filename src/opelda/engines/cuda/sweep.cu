// A sweep of collapsed Gibbs sampling, a warp per document; native/sweep.hpp has the equation.
//
//     P(z = k) ~ (N_dk + alpha_k) (beta_kj - own)
//
// A document's topics are in slots, a lane each, in groups of 32: running sums over slots are a
// warp scan, and a draw is a ballot. The largest topics come first, as on the CPU, and random
// numbers are keyed by document and token number: results do not depend on the grid or the split.

constexpr int kWarps = 8;  // per block

__device__ __forceinline__ float running_sum(float value, int lane) {
    for (int by = 1; by < kLanes; by *= 2) {
        const float before = __shfl_up_sync(kAll, value, by);
        if (lane >= by) value += before;
    }
    return value;
}

__device__ __forceinline__ int last_of(unsigned mask) { return 31 - __clz(int(mask)); }

// Topics and the sums for drawing.
struct Topics {
    const float* beta;     // words x stride, zeros from n_topics on
    const float* masses;   // words x n_blocks: sum of alpha_k beta_kj over 32 topics
    const float* prior;    // words: that over all topics
    const float* alpha;    // stride, zeros from n_topics on
    const float* inverse;  // stride: increase of a probability by a token of weight 1
    int n_topics, n_blocks;

    __device__ const float* row(int word) const { return beta + size_t(word) * n_blocks * kLanes; }

    // Draws a topic by alpha_k beta_kj: the block of topics first, then the topic. `own` of topic
    // `now` is the token itself. (Rounding can put the target beyond the end: then the last topic
    // is drawn.)
    __device__ int draw(int word, float target, int now, float own, int lane) const {
        const float* const mass = masses + size_t(word) * n_blocks;
        float before = 0, start = 0;
        int block = -1, last = -1;
        for (int first = 0; first < n_blocks && block < 0; first += kLanes) {
            const int b = first + lane;
            float here = b < n_blocks ? mass[b] : 0;
            if (now >= 0 && b == now / kLanes) here = fmaxf(here - own * alpha[now], 0);
            const float end = before + running_sum(here, lane);
            const unsigned some = __ballot_sync(kAll, here > 0);
            const unsigned beyond = __ballot_sync(kAll, here > 0 && end > target);
            if (beyond || some) {
                const int at = beyond ? __ffs(int(beyond)) - 1 : last_of(some);
                start = __shfl_sync(kAll, end - here, at);
                if (beyond)
                    block = first + at;
                else
                    last = first + at;
            }
            before = __shfl_sync(kAll, end, kLanes - 1);
        }
        for (int b = block < 0 ? last : block, left = n_blocks; left > 0; --left) {
            if (b >= 0) {
                const int k = b * kLanes + lane;
                float p = alpha[k] * (row(word)[k] - (k == now ? own : 0));
                p = p > 0 ? p : 0;
                const float end = running_sum(p, lane);
                const unsigned some = __ballot_sync(kAll, p > 0);
                const unsigned beyond = __ballot_sync(kAll, p > 0 && end > target - start);
                if (some) return b * kLanes + (beyond ? __ffs(int(beyond)) - 1 : last_of(some));
            }
            b = b > 0 ? b - 1 : n_blocks - 1;  // an empty block: rounding
        }
        return now < 0 ? 0 : now;
    }
};

// Slots in registers, `Groups` groups; with 0 groups, in memory.
template <int Groups> struct Slots {
    static constexpr int kStep = 1;
    int topic[Groups];
    float size[Groups], end[Groups];
};
template <> struct Slots<0> {
    static constexpr int kStep = kLanes;
    int* topic;  // this lane's of each group
    float *size, *end;
};

template <int Groups> struct Document {
    static constexpr int kStep = Slots<Groups>::kStep;
    Slots<Groups> s;
    int* spare_topic;  // scratch for all slots, to reorder them
    float* spare_size;
    int n = 0, lane;

    // `One`: there is a single group, known at compile time.
    template <bool One = false, class Do> __device__ __forceinline__ void each_group(Do act) {
        if constexpr (One) {
            act(0, 0);
        } else if constexpr (Groups > 0) {
#pragma unroll
            for (int g = 0; g < Groups; ++g)
                if (g * kLanes < n) act(g, g * kStep);
        } else {
            for (int g = 0; g * kLanes < n; ++g) act(g, g * kStep);
        }
    }

    // Adds a token to a topic: its slot, or the first empty slot, or a new slot.
    __device__ void enter(int topic, float weight) {
        int to = -1, empty = -1;
        each_group([&](int g, int i) {
            const unsigned has = __ballot_sync(kAll, s.topic[i] == topic);
            const unsigned free = __ballot_sync(kAll, g * kLanes + lane < n && s.size[i] == 0);
            if (has && to < 0) to = g * kLanes + __ffs(int(has)) - 1;
            if (free && empty < 0) empty = g * kLanes + __ffs(int(free)) - 1;
        });
        to = to < 0 ? empty : to;
        const bool more = to < 0;
        if (more) to = n++;
        each_group([&](int g, int i) {
            if (more && to == g * kLanes) s.topic[i] = -1, s.size[i] = 0;
            if (to == g * kLanes + lane) s.topic[i] = topic, s.size[i] += weight;
        });
    }

    // Enters up to 32 tokens, one a lane, topic by topic. Sums are exact in any order.
    __device__ void enter_all(int topic, float weight, bool alike, bool used) {
        unsigned left = __ballot_sync(kAll, used);
        while (left) {
            const int here = __shfl_sync(kAll, topic, __ffs(int(left)) - 1);
            const unsigned same = __ballot_sync(kAll, used && topic == here);
            float total = float(__popc(same));
            if (!alike) {
                total = used && topic == here ? weight : 0;
                for (int by = 16; by > 0; by /= 2) total += __shfl_xor_sync(kAll, total, by);
            }
            enter(here, total);
            left &= ~same;
        }
    }

    // Largest first, ties by topic.
    __device__ void sort() {
        const int count = n;
        each_group([&](int g, int i) {
            spare_topic[g * kLanes + lane] = s.topic[i], spare_size[g * kLanes + lane] = s.size[i];
            s.end[i] = 0;  // its rank
        });
        __syncwarp();
        for (int j = 0; j < count; ++j) {
            const int topic = spare_topic[j];
            const float size = spare_size[j];
            each_group([&](int, int i) {
                if (size > s.size[i] || (size == s.size[i] && topic < s.topic[i])) s.end[i] += 1;
            });
        }
        __syncwarp();
        each_group([&](int g, int i) {
            if (g * kLanes + lane >= count) return;
            spare_topic[int(s.end[i])] = s.topic[i], spare_size[int(s.end[i])] = s.size[i];
        });
        __syncwarp();
        each_group([&](int g, int i) {
            if (g * kLanes + lane >= count) return;
            s.topic[i] = spare_topic[g * kLanes + lane];
            s.size[i] = spare_size[g * kLanes + lane];
        });
        __syncwarp();
    }

    // Draws the topic of a token whose topic was `now`, if any, and adds it.
    template <bool One>
    __device__ __forceinline__ int draw(const Topics& t, int word, int now, float size,
                                        float weight, float uniform) {
        const float* const row = t.row(word);
        float used = 0, own = 0;
        each_group<One>([&](int, int i) {
            const bool mine = s.topic[i] == now;
            if (mine) s.size[i] -= size;
            float p = s.size[i] > 0 || mine ? row[s.topic[i]] : 0;
            float here = 0;
            if (mine) here = fminf(t.inverse[now] * weight, p), p -= here;
            p *= s.size[i];
            const float sums = running_sum(p, lane);
            // a slot without a topic is never drawn, regardless of rounding
            s.end[i] = p > 0 ? used + sums : -1.0f;
            used += __shfl_sync(kAll, sums, kLanes - 1);
            const unsigned where = __ballot_sync(kAll, mine);
            if (One || where) own = __shfl_sync(kAll, here, __ffs(int(where)) - 1);
        });
        float rest = t.prior[word];
        if (now >= 0) rest = fmaxf(rest - own * t.alpha[now], 0);
        const float target = uniform * (used + rest);
        int to = -1;
        each_group<One>([&](int, int i) {
            const unsigned beyond = __ballot_sync(kAll, s.end[i] > target);
            if (to >= 0 || !beyond) return;
            const int at = __ffs(int(beyond)) - 1;
            to = __shfl_sync(kAll, s.topic[i], at);
            if (lane == at) s.size[i] += size;
        });
        if (to >= 0) return to;
        to = t.draw(word, target - used, now, own, lane);
        enter(to, size);
        return to;
    }
};

template <int Groups>
__device__ void sweep(Document<Groups>& doc, const Topics& t, int n_tokens, const int* words,
                      unsigned short* topics, const float* sizes, const float* weights, u64 key,
                      bool fresh, int n_draws) {
    const int lane = doc.lane;
    for (int first = 0; first < n_tokens && !fresh; first += kLanes) {
        const int i = first + lane;
        const bool used = i < n_tokens;
        doc.enter_all(used ? topics[i] : 0, used && sizes ? sizes[i] : 1.0f, !sizes, used);
    }
    if (!fresh) doc.sort();
    for (int draw = 0; draw < n_draws; ++draw) {
        const bool none = fresh && draw == 0;
        for (int first = 0; first < n_tokens; first += kLanes) {
            const int i = first + lane, many = min(kLanes, n_tokens - first);
            const bool used = lane < many;
            const int word = used ? words[i] : 0;
            int topic = used && !none ? topics[i] : -1;
            const float size = used && sizes ? sizes[i] : 1.0f;
            const float weight = used && sizes ? weights[i] : 1.0f;
            const u64 number = u64(draw) * u64(n_tokens) + u64(i) + 1;
            const float uniform =
                float(int(mix(key + number * kGolden) >> 40)) * 0x1p-24f + 0x1p-25f;
            for (int l = 0; l < many; ++l) {
                const int from = __shfl_sync(kAll, word, l);
                const int now = none ? -2 : __shfl_sync(kAll, topic, l);
                const float its_size = sizes ? __shfl_sync(kAll, size, l) : 1.0f;
                const float its_weight = sizes ? __shfl_sync(kAll, weight, l) : 1.0f;
                const float u = __shfl_sync(kAll, uniform, l);
                const int to =
                    !none && doc.n <= kLanes
                        ? doc.template draw<true>(t, from, now, its_size, its_weight, u)
                        : doc.template draw<false>(t, from, now, its_size, its_weight, u);
                if (lane == l) topic = to;
            }
            if (used) topics[i] = (unsigned short)topic;
            __syncwarp();
        }
    }
}

#define OPELDA_ARGUMENTS                                                                          \
    const int *docs, int n_docs, const long long *first_token, const u64 *keys, u64 seed,         \
        const int *words, unsigned short *topics, const unsigned char *plain, const float *sizes, \
        const float *weights, const float *beta, const float *masses, const float *prior,         \
        const float *alpha, const float *inverse, int n_topics, int n_blocks, int fresh,          \
        int n_draws, const unsigned short *prior_rows, int n_words

#define OPELDA_SWEEP                                                                        \
    const size_t row = prior_rows ? prior_rows[d] : 0;                                      \
    const Topics t = {beta,                                                                 \
                      masses + row * size_t(n_words) * n_blocks,                            \
                      prior + row * size_t(n_words),                                        \
                      alpha + row * n_blocks * kLanes,                                      \
                      inverse,                                                              \
                      n_topics,                                                             \
                      n_blocks};                                                            \
    const long long begin = first_token[d];                                                 \
    const int n_tokens = int(first_token[d + 1] - begin);                                   \
    const bool alike = plain[d];                                                            \
    sweep(doc, t, n_tokens, words + begin, topics + begin, alike ? nullptr : sizes + begin, \
          alike ? nullptr : weights + begin, mix(keys[d] + seed), bool(fresh), n_draws)

// Documents of at most 32 * Groups topics.
template <int Groups> __device__ __forceinline__ void sweep_few(OPELDA_ARGUMENTS) {
    __shared__ int spare_topics[kWarps][Groups * kLanes];
    __shared__ float spare_sizes[kWarps][Groups * kLanes];
    const int warp = threadIdx.x / kLanes, at = blockIdx.x * kWarps + warp;
    if (at >= n_docs) return;
    const int d = docs[at];
    Document<Groups> doc;
    doc.lane = threadIdx.x % kLanes;
    doc.spare_topic = spare_topics[warp];
    doc.spare_size = spare_sizes[warp];
#pragma unroll
    for (int g = 0; g < Groups; ++g) doc.s.topic[g] = -1, doc.s.size[g] = 0, doc.s.end[g] = -1;
    OPELDA_SWEEP;
}

extern "C" __global__ void __launch_bounds__(kWarps* kLanes) sweep_128(OPELDA_ARGUMENTS) {
    sweep_few<4>(docs, n_docs, first_token, keys, seed, words, topics, plain, sizes, weights, beta,
                 masses, prior, alpha, inverse, n_topics, n_blocks, fresh, n_draws, prior_rows,
                 n_words);
}

extern "C" __global__ void __launch_bounds__(kWarps* kLanes) sweep_512(OPELDA_ARGUMENTS) {
    sweep_few<16>(docs, n_docs, first_token, keys, seed, words, topics, plain, sizes, weights, beta,
                  masses, prior, alpha, inverse, n_topics, n_blocks, fresh, n_draws, prior_rows,
                  n_words);
}

// Documents with any number of topics; each warp has `room` slots in memory and processes documents
// sequentially.
extern "C" __global__ void __launch_bounds__(kWarps* kLanes)
    sweep_any(OPELDA_ARGUMENTS, int* slots, int room) {
    const int warp = blockIdx.x * kWarps + threadIdx.x / kLanes, n_warps = gridDim.x * kWarps;
    int* const mine = slots + size_t(warp) * 5 * room;
    for (int at = warp; at < n_docs; at += n_warps) {
        const int d = docs[at];
        Document<0> doc;
        doc.lane = threadIdx.x % kLanes;
        doc.s.topic = mine + doc.lane;
        doc.s.size = reinterpret_cast<float*>(mine + room) + doc.lane;
        doc.s.end = reinterpret_cast<float*>(mine + 2 * room) + doc.lane;
        doc.spare_topic = mine + 3 * room;
        doc.spare_size = reinterpret_cast<float*>(mine + 4 * room);
        OPELDA_SWEEP;
    }
}

// OPE (Than & Doan, Algorithm 1), a warp per document; native/ope.hpp explains why bounds hold.
//
// The next vertex maximises a G_k + b (alpha_k - 1) / u_k with G_k = sum_j d_j beta_kj / y_j. y
// only grows, so every G_k only falls: topics never picked compete with earlier values, which are
// recomputed only if they reach the best score.

struct Walk {
    const float *a, *b;  // n_sequences x n_moves
    const float* base;   // n_moves + 1: the start's weight
    const float *alpha, *start;
    const float* prior;        // (alpha_k - 1) / start_k
    const float* start_words;  // words: sum_k start_k beta_kj
    const int* ids;            // the rows' words if they are not 0, 1, 2, ...
    u64 seed;                  // mixed
    int n_moves, n_sequences, max_picked, by_content;
    int max_columns;  // number of picked topics with a column; others are read from beta
};

constexpr int kColumns = 16;       // maximum of max_columns: half of the lanes
constexpr float kPicked = -3e38f;  // the bound of picked topics

struct Vertex {
    double score;
    int topic, slot;
    __device__ void offer(double s, int k, int at) {
        if (s > score || (s == score && k < topic)) score = s, topic = k, slot = at;
    }
    // The best over all lanes.
    __device__ void agree() {
        for (int by = kLanes / 2; by > 0; by /= 2) {
            const double s = __shfl_xor_sync(kAll, score, by);
            const int k = __shfl_xor_sync(kAll, topic, by), at = __shfl_xor_sync(kAll, slot, by);
            offer(s, k, at);
        }
    }
};

__device__ int first_sequence(const Walk& w, const Words& doc) {
    if (!w.by_content) return 0;
    u64 total = 0;
    for (int j = lane_of(); j < doc.n; j += kLanes) {
        const u64 word = u64(unsigned(w.ids ? w.ids[doc.word[j]] : doc.word[j]));
        total += mix((word << 32 | u64(unsigned(__float_as_int(doc.count[j])))) + kGolden);
    }
    return int(mix(sum_of(total) + w.seed) % u64(w.n_sequences));
}

template <bool Shared>
__device__ void run_ope(const Batch& b, const Walk& w, int room, float* memory, i64 floats,
                        float* theta, int* n_picked, int* pick_topics, float* pick_counts) {
    const int lane = lane_of();
    float* const ratio = own_room<Shared>(memory, floats);  // d_j / y_j
    float* const start = ratio + room;                      // start_j
    float* const bound = start + room;                      // topics: upper bounds of G_k
    float* const columns = bound + b.width;                 // words x step: of the topics picked
    const int step = w.max_columns | 1;                     // odd: avoids bank conflicts
    float* const count = columns + i64(room) * step;
    int* const topic = reinterpret_cast<int*>(count + w.max_picked);
    const int patience = 4 + b.width / 16;  // topics tested individually before a full gradient
    const i64 n_warps = i64(gridDim.x) * blockDim.x / kLanes;
    for (i64 i = warp_of(); i < b.n; i += n_warps) {
        const int at = b.order[i];
        const Words doc(b, at);
        const int n = doc.n;
        if (n == 0) {
            if (lane == 0) n_picked[at] = 0;
            continue;
        }
        const i64 sequence = i64(first_sequence(w, doc)) * w.n_moves;
        for (int j = lane; j < n; j += kLanes) start[j] = w.start_words[doc.word[j]];
        int picked = 0;
        const auto beta = [&](int k, int j) { return b.beta[i64(doc.word[j]) * b.width + k]; };
        const float widened = 1 + 2.5e-7f * float(n + 8);  // sums in a different order
        const auto look_at_all = [&] {
            each_slope(b, doc, ratio, [&](int k, float g) {
                if (bound[k] != kPicked) bound[k] = k < b.n_topics ? g * widened : kPicked;
            });
            __syncwarp();
        };
        for (int k = lane; k < b.width; k += kLanes) bound[k] = 0;
        for (int move = 0; move < w.n_moves; ++move) {
            const float base = w.base[move], a = w.a[sequence + move], pull = w.b[sequence + move];
            const double of_prior = double(pull) / double(base);  // of topics never picked
            __syncwarp();
            for (int j = lane; j < n; j += kLanes) {
                float y = start[j] * base;
                for (int s = 0; s < min(picked, w.max_columns); ++s)
                    y += count[s] * columns[i64(j) * step + s];
                for (int s = w.max_columns; s < picked; ++s) y += count[s] * beta(topic[s], j);
                ratio[j] = doc.count[j] / y;
            }
            __syncwarp();
            // if the start is forgotten, y falls and all bounds become invalid
            if (move == 0 || base < w.base[move - 1]) look_at_all();
            Vertex best = {-1e300, 0x7fffffff, -1};
            const auto offer = [&](int s, float g) {
                const int k = topic[s];
                const double u = double(base) * double(w.start[k]) + double(count[s]);
                best.offer(double(a) * double(g) + pull * (double(w.alpha[k]) - 1) / u, k, s);
            };
            // every other word, a lane per picked topic
            const int mine = lane % kColumns, n_mine = min(picked, w.max_columns);
            float g = 0;
            if (mine < n_mine)
                for (int j = lane / kColumns; j < n; j += kLanes / kColumns)
                    g += ratio[j] * columns[i64(j) * step + mine];
            g += __shfl_xor_sync(kAll, g, kColumns);
            if (mine < n_mine) offer(mine, g);
            best.agree();
            for (int s = w.max_columns; s < picked; ++s) {
                float more = 0;
                for (int j = lane; j < n; j += kLanes) more += ratio[j] * beta(topic[s], j);
                offer(s, sum_of(more));
            }
            for (int looks = 0;; ++looks) {
                float score = kPicked;
                int k = 0, from;
                for (int o = lane; o < b.n_topics; o += kLanes) {
                    const float here = a * bound[o] + float(of_prior) * w.prior[o];
                    if (bound[o] >= 0 && here > score) score = here, k = o;
                }
                score = largest_of(score, from);
                k = __shfl_sync(kAll, k, from);
                if (score == kPicked) break;
                const float reach = a * bound[k];
                // margin for rounding: scores are compared in double precision
                const float slack = 2e-6f * (reach + fabsf(float(of_prior) * w.prior[k]));
                if (double(score + slack) < best.score) break;
                if (looks == patience) {
                    // (topics tested in this move keep their exact values)
                    for (int o = lane; o < b.n_topics; o += kLanes)
                        if (bound[o] < 0 && bound[o] != kPicked) bound[o] = -bound[o];
                    __syncwarp();
                    look_at_all();
                    continue;
                }
                float g = 0;
                for (int j = lane; j < n; j += kLanes) g += ratio[j] * beta(k, j);
                g = sum_of(g);
                best.offer(double(a) * double(g) + of_prior * double(w.prior[k]), k, -1);
                __syncwarp();
                if (lane == 0) bound[k] = -fmaxf(g, 1e-37f);  // negative: exact in this move
                __syncwarp();
            }
            __syncwarp();
            for (int k = lane; k < b.n_topics; k += kLanes)
                if (bound[k] < 0 && bound[k] != kPicked) bound[k] = -bound[k];
            if (best.topic == 0x7fffffff)  // all scores are NaN: any valid topic
                best.topic = picked ? topic[0] : 0, best.slot = picked ? 0 : -1;
            __syncwarp();
            const int slot = best.slot < 0 ? picked : best.slot;
            if (best.slot < 0) {
                for (int j = lane; slot < w.max_columns && j < n; j += kLanes)
                    columns[i64(j) * step + slot] = beta(best.topic, j);
                ++picked;
            }
            if (lane == 0) {
                topic[slot] = best.topic;
                count[slot] = best.slot < 0 ? 1.0f : count[slot] + 1;
                bound[best.topic] = kPicked;
            }
        }
        __syncwarp();
        if (lane == 0) n_picked[at] = picked;
        const float base = w.base[w.n_moves], mass = base + float(w.n_moves);
        for (int s = lane; s < picked; s += kLanes) {
            pick_topics[i64(at) * w.max_picked + s] = topic[s];
            pick_counts[i64(at) * w.max_picked + s] = count[s];
        }
        if (theta) {
            float* const mine = theta + i64(at) * b.n_topics;
            for (int k = lane; k < b.n_topics; k += kLanes) mine[k] = base / mass * w.start[k];
            __syncwarp();
            for (int s = lane; s < picked; s += kLanes)
                mine[topic[s]] = (base * w.start[topic[s]] + count[s]) / mass;
        }
        __syncwarp();
    }
}

#define OPELDA_OPE(name, shared)                                                                \
    extern "C" __global__ void name(                                                            \
        OPELDA_BATCH, int room, float* memory, i64 floats, const float* a, const float* b_,     \
        const float* base, const float* alpha, const float* start, const float* prior,          \
        const float* start_words, const int* ids, u64 seed, int n_moves, int n_sequences,       \
        int max_picked, int by_content, int max_columns, float* theta, int* n_picked,           \
        int* pick_topics, float* pick_counts) {                                                 \
        const Batch b = OPELDA_MADE;                                                            \
        const Walk w = {a,   b_,   base,    alpha,       start,      prior,      start_words,   \
                        ids, seed, n_moves, n_sequences, max_picked, by_content, max_columns};  \
        run_ope<shared>(b, w, room, memory, floats, theta, n_picked, pick_topics, pick_counts); \
    }
OPELDA_OPE(ope_shared, true)
OPELDA_OPE(ope_memory, false)

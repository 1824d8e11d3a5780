// EM on the topics that explain most of a document, a warp per document; native/em.hpp has the
// equations.

struct Em {
    const float* alpha;        // n_topics
    const float* start;        // n_topics: alpha over its sum
    const float* start_words;  // words: sum_k start_k beta_kj
    double total_alpha;
    int n_iter, n_kept, step;  // step: row length of a word's selected topics, odd
};

template <bool Shared>
__device__ void run_em(const Batch& b, const Em& em, int room, float* memory, i64 floats,
                       float* theta, int* kept_topics, float* kept_shares) {
    const int lane = lane_of(), step = em.step, n_kept = em.n_kept;
    float* const part = own_room<Shared>(memory, floats);  // d_j / tokens
    float* const rest = part + room;                       // the prior's part of x_j
    float* const ratio = rest + room;                      // d_j / x_j
    float* const columns = ratio + room;                   // words x topics kept
    float* const score = columns + i64(room) * step;       // topics
    float* const share = score + b.width;
    float* const prior = share + n_kept;
    int* const topic = reinterpret_cast<int*>(prior + n_kept);
    // with few topics, a word uses a part of the warp, which processes several words at a time
    int lanes = 1;
    while (lanes < n_kept && lanes < kLanes) lanes *= 2;
    const int at_once = kLanes / lanes, my_topic = lane % lanes, my_word = lane / lanes;
    const i64 n_warps = i64(gridDim.x) * blockDim.x / kLanes;
    for (i64 i = warp_of(); i < b.n; i += n_warps) {
        const int at = b.order[i];
        const Words doc(b, at);
        const int n = doc.n;
        if (n == 0) continue;
        const double tokens = doc.tokens();
        const float scale = float(1 / tokens), of_prior = float(em.total_alpha / tokens);
        for (int j = lane; j < n; j += kLanes) {
            const float d = doc.count[j] * scale, x = fmaxf(em.start_words[doc.word[j]], kTiny);
            part[j] = d, ratio[j] = d / x, rest[j] = x * of_prior;
        }
        __syncwarp();
        each_slope(b, doc, ratio,
                   [&](int k, float g) { score[k] = k < b.n_topics ? g * em.start[k] : 0; });
        __syncwarp();
        choose_largest(score, b.n_topics, n_kept, topic);
        for (int s = my_topic; s < n_kept; s += lanes)
            for (int j = my_word; j < n; j += at_once)
                columns[i64(j) * step + s] = b.beta[i64(doc.word[j]) * b.width + topic[s]];
        for (int s = lane; s < n_kept; s += kLanes)
            share[s] = score[topic[s]], prior[s] = float(em.alpha[topic[s]] / tokens);
        __syncwarp();
        for (int t = 0; t <= em.n_iter; ++t) {
            float whole = 0;
            for (int s = lane; s < n_kept; s += kLanes) whole += share[s];
            whole = sum_of(whole);
            if (t == em.n_iter) {
                const float of_shares = float(tokens / (tokens + em.total_alpha) / whole);
                for (int s = lane; s < n_kept; s += kLanes) {
                    share[s] *= of_shares;
                    if (kept_topics) {
                        kept_topics[i64(at) * n_kept + s] = topic[s];
                        kept_shares[i64(at) * n_kept + s] = share[s];
                    }
                }
                break;
            }
            for (int j = lane; j < n; j += kLanes) {
                float x = rest[j] * whole;
                for (int s = 0; s < n_kept; ++s) x += share[s] * columns[i64(j) * step + s];
                ratio[j] = part[j] / fmaxf(x, kTiny);
            }
            __syncwarp();
            for (int first = 0; first < n_kept; first += lanes) {
                const int s = first + my_topic;
                float g = 0;
                if (s < n_kept)
                    for (int j = my_word; j < n; j += at_once)
                        g += ratio[j] * columns[i64(j) * step + s];
                for (int by = lanes; by < kLanes; by *= 2) g += __shfl_xor_sync(kAll, g, by);
                if (s < n_kept && my_word == 0) share[s] = (share[s] + prior[s] * whole) * g;
            }
            __syncwarp();
        }
        __syncwarp();
        if (theta) {
            float* const mine = theta + i64(at) * b.n_topics;
            const float of_alpha = float(1 / (tokens + em.total_alpha));
            for (int k = lane; k < b.n_topics; k += kLanes) mine[k] = em.alpha[k] * of_alpha;
            __syncwarp();
            for (int s = lane; s < n_kept; s += kLanes) mine[topic[s]] += share[s];
        }
        __syncwarp();
    }
}

#define OPELDA_EM(name, shared)                                                                    \
    extern "C" __global__ void name(                                                               \
        OPELDA_BATCH, int room, float* memory, i64 floats, const float* alpha, const float* start, \
        const float* start_words, double total_alpha, int n_iter, int n_kept, int step,            \
        float* theta, int* kept_topics, float* kept_shares) {                                      \
        const Batch b = OPELDA_MADE;                                                               \
        const Em em = {alpha, start, start_words, total_alpha, n_iter, n_kept, step};              \
        run_em<shared>(b, em, room, memory, floats, theta, kept_topics, kept_shares);              \
    }
OPELDA_EM(em_shared, true)
OPELDA_EM(em_memory, false)

// Tokens counted by word and topic, and the topics that counts or weights stand for.

// A count of c is so many tokens of its word, one after another.
extern "C" __global__ void lay_out(const int* words, const i64* starts, i64 n_entries,
                                   int* token_words) {
    const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n_entries) return;
    for (i64 at = starts[i]; at < starts[i + 1]; ++at) token_words[at] = words[i];
}

// Whole numbers: their sums do not depend on the order.
extern "C" __global__ void count_whole(const int* words, const unsigned short* topics, i64 n_tokens,
                                       int n_topics, int* cells) {
    const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n_tokens) atomicAdd(cells + i64(words[i]) * n_topics + topics[i], 1);
}

extern "C" __global__ void count_parts(const int* words, const unsigned short* topics, i64 n_tokens,
                                       int n_topics, u64* cells, const i64* units) {
    const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n_tokens) atomicAdd(cells + i64(words[i]) * n_topics + topics[i], u64(units[i]));
}

// The tokens of some documents by topic, a warp per document; and how many of these cells, which
// must not be 0, have each size.
extern "C" __global__ void sizes_of_documents(const int* docs, int n_docs, const i64* first_token,
                                              const unsigned short* topics, int n_topics,
                                              int* cells) {
    const i64 i = warp_of();
    if (i >= n_docs) return;
    for (i64 at = first_token[docs[i]] + lane_of(); at < first_token[docs[i] + 1]; at += kLanes)
        atomicAdd(cells + i * n_topics + topics[at], 1);
}
extern "C" __global__ void count_sizes(const int* cells, i64 n_cells, int n_topics, int most,
                                       int* times) {
    const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n_cells && cells[i] > 0) atomicAdd(times + i % n_topics * most + cells[i], 1);
}

// eta of a word and a topic: one number, one per word, or one per word and topic.
struct Prior {
    float number;
    const float *words, *rows;
    int stride;
    __device__ float at(i64 word, int k) const {
        return rows ? rows[word * stride + k] : words ? words[word] : number;
    }
};

// beta_kj = (lambda_kj + eta_kj) inverse_k, a warp per word; columns from n_topics on are zeros.
template <class T>
__device__ void count_rows(const T* cells, double unit, int n_words, int n_topics, int width,
                           const float* inverse, const Prior& prior, float* beta) {
    const i64 word = warp_of();
    if (word >= n_words) return;
    for (int k = threadIdx.x % kLanes; k < width; k += kLanes) {
        float p = 0;
        if (k < n_topics)
            p = float((double(cells[word * n_topics + k]) * unit + double(prior.at(word, k))) *
                      double(inverse[k]));
        beta[word * width + k] = p;
    }
}

#define OPELDA_ROWS(name, T)                                                                       \
    extern "C" __global__ void name(const T* cells, double unit, int n_words, int n_topics,        \
                                    int width, const float* inverse, float prior,                  \
                                    const float* prior_words, const float* prior_rows,             \
                                    int prior_stride, float* beta) {                               \
        count_rows(cells, unit, n_words, n_topics, width, inverse,                                 \
                   Prior{prior, prior_words, prior_rows, prior_stride}, beta);                     \
    }
OPELDA_ROWS(rows_of_whole, int)
OPELDA_ROWS(rows_of_parts, i64)

// beta_kj = lambda_kj / sum_j lambda_kj of the words given, or of all, and their means; a warp per
// word. A word that no topic knows is alike in all of them.
extern "C" __global__ void topic_rows(const float* kept, int stride, const int* words, int n_words,
                                      int n_topics, int width, float scale, float prior_weight,
                                      float prior, const float* prior_words,
                                      const float* prior_rows, const float* inverse, float* beta,
                                      float* mean) {
    const i64 at = warp_of();
    if (at >= n_words) return;
    const i64 word = words ? words[at] : at;
    const Prior eta = {prior, prior_words, prior_rows, stride};
    double total = 0;
    for (int k = threadIdx.x % kLanes; k < width; k += kLanes) {
        float p = 0;
        if (k < n_topics) {
            p = (kept[word * stride + k] * scale + eta.at(word, k) * prior_weight) * inverse[k];
            if (p < kSmallest) p = 0;
        }
        beta[at * width + k] = p;
        total += double(p);
    }
    total = sum_of(total);
    if (total == 0) {
        for (int k = threadIdx.x % kLanes; k < n_topics; k += kLanes)
            beta[at * width + k] = kSmallest;
        total = double(kSmallest) * double(n_topics);
    }
    if (threadIdx.x % kLanes == 0) mean[at] = float(total / double(n_topics));
}

// sum_k alpha_k beta_kj of each word, over every 32 topics and over all; a warp per word.
extern "C" __global__ void masses(const float* beta, int n_words, int n_blocks, const float* alpha,
                                  float* blocks, float* all) {
    const i64 word = warp_of();
    const int lane = threadIdx.x % kLanes;
    if (word >= n_words) return;
    double total = 0;
    for (int b = 0; b < n_blocks; ++b) {
        const int k = b * kLanes + lane;
        float mass = alpha[k] * beta[word * n_blocks * kLanes + k];
        mass = sum_of(mass);
        if (lane == 0) blocks[word * n_blocks + b] = mass;
        total += double(mass);
    }
    if (lane == 0) all[word] = float(total);
}

// rows_jk += factor * cells_jk.
template <class T>
__device__ void add_cells(const T* cells, double factor, i64 n_cells, int n_topics, int stride,
                          float* rows) {
    const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n_cells || cells[i] == 0) return;
    rows[i / n_topics * stride + i % n_topics] += float(factor * double(cells[i]));
}
extern "C" __global__ void add_whole(const int* cells, double factor, i64 n_cells, int n_topics,
                                     int stride, float* rows) {
    add_cells(cells, factor, n_cells, n_topics, stride, rows);
}
extern "C" __global__ void add_parts(const i64* cells, double factor, i64 n_cells, int n_topics,
                                     int stride, float* rows) {
    add_cells(cells, factor, n_cells, n_topics, stride, rows);
}

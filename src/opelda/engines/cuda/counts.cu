// Token counts by word and topic, and topics computed from counts or weights.

// The documents' lengths, a warp per document.
extern "C" __global__ void lengths(const i64* indptr, const float* counts, int n_docs,
                                   double* lengths) {
    const i64 d = warp_of();
    if (d >= n_docs) return;
    double total = 0;
    for (i64 i = indptr[d] + lane_of(); i < indptr[d + 1]; i += kLanes) total += double(counts[i]);
    total = sum_of(total);
    if (lane_of() == 0) lengths[d] = total;
}

// A count of c becomes equally weighted tokens in sequence; a warp per document. If `sizes` is
// given, the tokens' weights in documents, in probabilities and in counts are written, as in
// `Tokens`; `plain` marks documents whose tokens all weigh 1.
extern "C" __global__ void lay_out(const i64* indptr, const int* words, const float* counts,
                                   const i64* starts, int n_docs, int shift, int* token_words,
                                   unsigned char* plain, float* sizes, float* weights, i64* units) {
    const i64 d = warp_of();
    if (d >= n_docs) return;
    double total = 0;
    bool same = true;
    for (i64 i = indptr[d] + lane_of(); i < indptr[d + 1]; i += kLanes) {
        total += double(counts[i]);
        same &= double(counts[i]) == double(starts[i + 1] - starts[i]);
    }
    total = sum_of(total);
    same = __all_sync(kAll, same) && shift >= 0;
    if (lane_of() == 0) plain[d] = same;
    const double grain = exp2(ceil(log2(fmax(total, 1.0))) - 22);
    for (i64 i = indptr[d] + lane_of(); i < indptr[d + 1]; i += kLanes) {
        const double each = double(counts[i]) / double(starts[i + 1] - starts[i]);
        const float size = float(fmax(rint(each / grain), 1.0) * grain);
        const i64 unit = i64(floor(ldexp(each, shift) + 0.5));
        for (i64 at = starts[i]; at < starts[i + 1]; ++at) {
            token_words[at] = words[i];
            if (sizes) sizes[at] = size, weights[at] = float(each), units[at] = unit;
        }
    }
}

// Integers: sums do not depend on the order.
extern "C" __global__ void count_small(const int* words, const unsigned short* topics, i64 n_tokens,
                                       int n_topics, int* cells, const i64* units, i64 unit) {
    const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n_tokens)
        atomicAdd(cells + i64(words[i]) * n_topics + topics[i], int(units ? units[i] : unit));
}
extern "C" __global__ void count_large(const int* words, const unsigned short* topics, i64 n_tokens,
                                       int n_topics, u64* cells, const i64* units, i64 unit) {
    const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n_tokens)
        atomicAdd(cells + i64(words[i]) * n_topics + topics[i], u64(units ? units[i] : unit));
}

// The weights of some documents' tokens by topic, a warp per document: exact in any order.
extern "C" __global__ void sizes_of_documents(const int* docs, int n_docs, const i64* first_token,
                                              const unsigned short* topics, const float* sizes,
                                              int n_topics, float* cells) {
    const i64 i = warp_of();
    if (i >= n_docs) return;
    for (i64 at = first_token[docs[i]] + lane_of(); at < first_token[docs[i] + 1]; at += kLanes)
        atomicAdd(cells + i * n_topics + topics[at], sizes ? sizes[at] : 1.0f);
}
// Histogram of cell sizes: integers below `most` are counted, other sizes are listed.
extern "C" __global__ void count_sizes(const float* cells, i64 n_cells, int n_topics, int most,
                                       int* times, int* n_listed, int* listed_topics,
                                       float* listed_sizes) {
    const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n_cells || cells[i] == 0) return;
    const float size = cells[i];
    if (size < float(most) && size == rintf(size)) {
        atomicAdd(times + i % n_topics * most + int(size), 1);
        return;
    }
    const int at = atomicAdd(n_listed, 1);
    listed_topics[at] = int(i % n_topics);
    listed_sizes[at] = size;
}

// eta of a word and a topic: a scalar, per word, or per word and topic.
struct Prior {
    float number;
    const float *words, *rows;
    int stride;
    __device__ float at(i64 word, int k) const {
        return rows ? rows[word * stride + k] : words ? words[word] : number;
    }
};

// beta_kj = (lambda_kj + eta_kj) inverse_k; columns from n_topics on are zeros. A warp per word.
template <class T>
__device__ void count_rows(const T* cells, double unit, int n_words, int n_topics, int width,
                           const float* inverse, const Prior& prior, float* beta) {
    const i64 word = warp_of();
    if (word >= n_words) return;
    for (int k = lane_of(); k < width; k += kLanes) {
        float p = 0;
        if (k < n_topics)
            p = float((double(cells[word * n_topics + k]) * unit + double(prior.at(word, k))) *
                      double(inverse[k]));
        beta[word * width + k] = p;
    }
}

#define OPELDA_ROWS(name, T)                                                                \
    extern "C" __global__ void name(const T* cells, double unit, int n_words, int n_topics, \
                                    int width, const float* inverse, float prior,           \
                                    const float* prior_words, const float* prior_rows,      \
                                    int prior_stride, float* beta) {                        \
        count_rows(cells, unit, n_words, n_topics, width, inverse,                          \
                   Prior{prior, prior_words, prior_rows, prior_stride}, beta);              \
    }
OPELDA_ROWS(rows_of_small, int)
OPELDA_ROWS(rows_of_large, i64)

// lambda_kj = scale * kept_jk + (prior's weight) * eta_jk of the given words, or of all.
struct Weights {
    const float* kept;
    int stride;
    const int* words;
    float scale, prior_weight;
    Prior eta;
    __device__ i64 word(i64 at) const { return words ? words[at] : at; }
    __device__ float at(i64 word, int k) const {
        return kept[word * stride + k] * scale + eta.at(word, k) * prior_weight;
    }
};
#define OPELDA_WEIGHTS                                                                     \
    const float *kept, int stride, const int *words, int n_words, int n_topics, int width, \
        double scale, float prior_weight, float prior, const float *prior_words,           \
        const float *prior_rows, const double *sums, double of_prior, const double *of_priors
#define OPELDA_LAMBDA                                      \
    {                                                      \
        kept, stride, words, float(scale), prior_weight, { \
            prior, prior_words, prior_rows, stride         \
        }                                                  \
    }

// Writes the mean of a word's row; a word unknown to all topics gets a constant row.
__device__ void finish_row(float* row, double total, int n_topics, float* mean) {
    total = sum_of(total);
    if (total == 0) {
        for (int k = lane_of(); k < n_topics; k += kLanes) row[k] = kSmallest;
        total = double(kSmallest) * double(n_topics);
    }
    if (lane_of() == 0) *mean = float(total / double(n_topics));
}

// beta_kj = lambda_kj / sum_j lambda_kj, where sum_j kept_jk is `sums`, and the prior's part of the
// total a scalar or per topic. A warp per word.
extern "C" __global__ void topic_rows(OPELDA_WEIGHTS, float* beta, float* mean) {
    const i64 at = warp_of();
    if (at >= n_words) return;
    const Weights lambda = OPELDA_LAMBDA;
    double total = 0;
    for (int k = lane_of(); k < width; k += kLanes) {
        float p = 0;
        if (k < n_topics) {
            const double all = scale * sums[k] + (of_priors ? of_priors[k] : of_prior);
            p = lambda.at(lambda.word(at), k) * float(1 / all);
            if (p < kSmallest) p = 0;
        }
        beta[at * width + k] = p;
        total += double(p);
    }
    finish_row(beta + at * width, total, n_topics, mean + at);
}

// exp(E[log beta_kj]) = exp(psi(lambda_kj) - psi(sum_j lambda_kj)), with the sum in `sums`. A row
// is scaled to a peak of at least 1e-6: only ratios between a word's topics matter, and rows of
// words that are rare in every topic would underflow in floats.
extern "C" __global__ void log_rows(OPELDA_WEIGHTS, double* logs, float* beta, float* mean) {
    const i64 at = warp_of();
    if (at >= n_words) return;
    const Weights lambda = OPELDA_LAMBDA;
    double* const mine = logs + at * width;
    double peak = -1e300, total = 0;
    for (int k = lane_of(); k < n_topics; k += kLanes) {
        const double value = fmax(double(lambda.at(lambda.word(at), k)), 1e-30);
        mine[k] = fmin(digamma(value) - sums[k], 0.0);
        peak = fmax(peak, mine[k]);
    }
    const double lift = fmax(-13.815510557964274 - largest_of(peak), 0.0);
    for (int k = lane_of(); k < width; k += kLanes) {
        float p = k < n_topics ? float(exp(mine[k] + lift)) : 0;
        if (p < kSmallest) p = 0;
        beta[at * width + k] = p;
        total += double(p);
    }
    finish_row(beta + at * width, total, n_topics, mean + at);
}

// sum_k alpha_k beta_kj of each word, per 32 topics and over all topics; a warp per word.
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
extern "C" __global__ void add_small(const int* cells, double factor, i64 n_cells, int n_topics,
                                     int stride, float* rows) {
    add_cells(cells, factor, n_cells, n_topics, stride, rows);
}
extern "C" __global__ void add_large(const i64* cells, double factor, i64 n_cells, int n_topics,
                                     int stride, float* rows) {
    add_cells(cells, factor, n_cells, n_topics, stride, rows);
}

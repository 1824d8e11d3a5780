// Statistics of a batch: sum_d d_j phi_djk, or undivided sum_d d_j theta_dk, and the rows that
// receive them. Sums are integer multiples of 1 / unit: exact, independent of the order.

__device__ __forceinline__ void add(u64* to, double value, double unit) {
    atomicAdd(to, u64(llrint(value * unit)));
}

// Weight of an entry: d_j, or d_j / x_dj. A word with probability 0 under the mixture has weight 0.
__device__ __forceinline__ double entry_weight(float count, float x) {
    return x > 1e-30f ? fmin(double(count) / double(x), 1e30) : 0.0;
}

// Mixtures of a few topics, whose shares are their values times `share`, and a rest that is given
// or, if negative, completes the sum to 1. A warp per document.
extern "C" __global__ void add_picks(OPELDA_BATCH, const int* n_picked, int max_picked,
                                     const int* topics, const float* values, float share,
                                     float given_rest, const float* start_words, int divide,
                                     u64* cells, u64* rests, u64* mass, int* touched, double unit) {
    const Batch b = OPELDA_MADE;
    const i64 i = warp_of();
    const int lane = lane_of();
    if (i >= n) return;
    const int at = order[i];
    const Words doc(b, at);
    if (doc.n == 0) return;
    const int many = n_picked ? n_picked[at] : max_picked;
    const int* const topic = topics + i64(at) * max_picked;
    const float* const value = values + i64(at) * max_picked;
    const double tokens = doc.tokens();
    float rest = given_rest;
    if (rest < 0) {
        double all = 0;
        for (int s = lane; s < many; s += kLanes) all += double(value[s] * share);
        rest = float(1 - sum_of(all));
    }
    for (int j = 0; j < doc.n; ++j) {
        const i64 word = doc.word[j];
        const float* const row = beta + word * width;
        double weight = double(doc.count[j]);
        if (divide) {
            float x = 0;
            for (int s = lane; s < many; s += kLanes) x += value[s] * share * row[topic[s]];
            weight = entry_weight(doc.count[j], sum_of(x) + rest * start_words[word]);
        }
        for (int s = lane; s < many; s += kLanes) {
            const double here = weight * double(value[s] * share);
            add(cells + word * n_topics + topic[s], divide ? here * double(row[topic[s]]) : here,
                unit);
        }
        if (lane == 0) {
            touched[word] = 1;
            add(rests + word, weight * double(rest) * (divide ? double(start_words[word]) : 1.0),
                unit);
        }
    }
    for (int s = lane; s < many; s += kLanes)
        add(mass + topic[s], tokens * double(value[s] * share), unit);
    if (lane == 0) add(mass + n_topics, tokens * double(rest), unit);
}

// Dense mixtures, or weights of tokens' topics: `weighs`, up to a factor per document. `theta`
// determines the mass. A warp per document.
extern "C" __global__ void add_dense(OPELDA_BATCH, const float* theta, const float* weighs,
                                     int divide, u64* cells, u64* mass, int* touched, double unit) {
    const Batch b = OPELDA_MADE;
    const i64 i = warp_of();
    const int lane = lane_of();
    if (i >= n) return;
    const int at = order[i];
    const Words doc(b, at);
    if (doc.n == 0) return;
    const float* const mixture = (divide ? weighs : theta) + i64(at) * n_topics;
    for (int j = 0; j < doc.n; ++j) {
        const i64 word = doc.word[j];
        const float* const row = beta + word * width;
        double weight = double(doc.count[j]);
        if (divide) {
            float x = 0;
            for (int k = lane; k < n_topics; k += kLanes) x += mixture[k] * row[k];
            weight = entry_weight(doc.count[j], sum_of(x));
        }
        for (int k = lane; k < n_topics; k += kLanes) {
            const double here = weight * double(mixture[k]);
            add(cells + word * n_topics + k, divide ? here * double(row[k]) : here, unit);
        }
        if (lane == 0) touched[word] = 1;
    }
    const double tokens = doc.tokens();
    for (int k = lane; k < n_topics; k += kLanes)
        add(mass + k, tokens * double(theta[i64(at) * n_topics + k]), unit);
}

// Adds statistics to the rows of their words, or writes them to `values`, a row for each of
// `listed`; clears the sums. A warp per word, with several topics in flight.
extern "C" __global__ void take_sums(int n_words, int n_topics, u64* cells, u64* rests,
                                     int* touched, double unit, const float* start,
                                     const float* start_words, const float* beta, int width,
                                     int divide, float* rows, int stride, const double* gain,
                                     const int* listed, double* values) {
    constexpr int kAtOnce = 4;
    const i64 at = warp_of();
    if (at >= n_words) return;
    const i64 word = listed ? listed[at] : at;
    if (!touched[word]) return;
    const double inverse_unit = 1 / unit;
    double rest = start ? double(i64(rests[word])) * inverse_unit : 0;
    if (divide && start) rest = start_words[word] > 0 ? rest / double(start_words[word]) : 0;
    for (int first = lane_of(); first < n_topics; first += kAtOnce * kLanes) {
        u64 sum[kAtOnce];
        float of_start[kAtOnce], of_beta[kAtOnce], row[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            const int k = first + i * kLanes;
            const bool some = k < n_topics;
            sum[i] = some ? cells[word * n_topics + k] : 0;
            of_start[i] = some && start ? start[k] : 0;
            of_beta[i] = some && divide ? beta[word * width + k] : 1;
            row[i] = some && rows ? rows[word * stride + k] : 0;
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            const int k = first + i * kLanes;
            if (k >= n_topics) continue;
            const double spread = rest * double(of_start[i]) * double(of_beta[i]);
            const double value = double(i64(sum[i])) * inverse_unit + spread;
            cells[word * n_topics + k] = 0;
            if (rows)
                rows[word * stride + k] = row[i] + float(value * gain[k]);
            else
                values[at * n_topics + k] = value;
        }
    }
    __syncwarp();
    if (lane_of() == 0) rests[word] = 0, touched[word] = 0;
}

// sum_j rows_jk, in a fixed order: each block adds some rows, then one block adds the blocks.
template <class T, class Total>
__device__ void add_columns(const T* rows, i64 n_words, int stride, int n_topics, Total* parts) {
    const i64 first = n_words * blockIdx.x / gridDim.x;
    const i64 last = n_words * (blockIdx.x + 1) / gridDim.x;
    for (int k = threadIdx.x; k < n_topics; k += blockDim.x) {
        Total total = 0;
#pragma unroll 8
        for (i64 j = first; j < last; ++j) total += Total(rows[j * stride + k]);
        parts[i64(blockIdx.x) * n_topics + k] = total;
    }
}
#define OPELDA_COLUMNS(name, T, Total)                                                    \
    extern "C" __global__ void name(const T* rows, int n_words, int stride, int n_topics, \
                                    Total* parts) {                                       \
        add_columns(rows, n_words, stride, n_topics, parts);                              \
    }
OPELDA_COLUMNS(columns_of_float32, float, double)
OPELDA_COLUMNS(columns_of_int32, int, i64)
OPELDA_COLUMNS(columns_of_int64, i64, i64)
OPELDA_COLUMNS(columns_of_float64, double, double)

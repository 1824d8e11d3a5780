// Shared by all kernels: every file of kernels is compiled after this file.

typedef unsigned long long u64;
typedef long long i64;

constexpr u64 kGolden = 0x9E3779B97F4A7C15ull;
constexpr unsigned kAll = 0xffffffffu;
constexpr int kLanes = 32;
constexpr float kSmallest = 1e-15f;  // smaller probabilities count as zero
constexpr float kTiny = 1e-30f;      // smaller probabilities count as this value

// The finaliser of SplitMix64, as in native/mixing.hpp.
__device__ __forceinline__ u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// Sum over the lanes of a warp, by a fixed tree; every lane gets the result.
template <class T> __device__ __forceinline__ T sum_of(T value) {
    for (int by = kLanes / 2; by > 0; by /= 2) value += __shfl_xor_sync(kAll, value, by);
    return value;
}
template <class T> __device__ __forceinline__ T largest_of(T value) {
    for (int by = kLanes / 2; by > 0; by /= 2) {
        const T other = __shfl_xor_sync(kAll, value, by);
        value = other > value ? other : value;
    }
    return value;
}
// The largest of the lanes' numbers, which are not NaN, and the first lane with this number.
__device__ __forceinline__ float largest_of(float value, int& lane) {
#if __CUDA_ARCH__ >= 800
    const int bits = __float_as_int(value);  // float order: negative floats have inverted bits
    const int ordered = bits ^ (bits >> 31 & 0x7fffffff), top = __reduce_max_sync(kAll, ordered);
    lane = __ffs(int(__ballot_sync(kAll, ordered == top))) - 1;
    return __int_as_float(top ^ (top >> 31 & 0x7fffffff));
#else
    const float top = largest_of(value);
    lane = __ffs(int(__ballot_sync(kAll, value == top))) - 1;
    return top;
#endif
}
__device__ __forceinline__ int sum_of_counts(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(kAll, value);
#else
    return sum_of(value);
#endif
}
__device__ __forceinline__ double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
__device__ __forceinline__ int lane_of() { return threadIdx.x % kLanes; }
__device__ __forceinline__ i64 warp_of() {
    return (i64(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
}

// The indices of the `wanted` largest of n values >= 0, ascending, lowest first among equal values:
// floats have the same order as their bits, so bisection on the bits finds the limit.
__device__ void choose_largest(const float* value, int n, int wanted, int* chosen) {
    const int lane = lane_of();
    float top = 0;
    for (int k = lane; k < n; k += kLanes) top = fmaxf(top, value[k]);
    // more than `wanted` lie above low, at most `wanted` above high
    int low = -1, high = __float_as_int(largest_of(top)), above = 0;
    if (wanted >= n) high = low, above = wanted;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        int count = 0;
        for (int k = lane; k < n; k += kLanes) count += __float_as_int(value[k]) > middle;
        count = sum_of_counts(count);
        if (count > wanted) {
            low = middle;
            continue;
        }
        high = middle, above = count;
        if (count == wanted) break;
    }
    int found = 0, equal = wanted - above;  // number of values equal to the limit to take
    for (int first = 0; first < n; first += kLanes) {
        const int k = first + lane;
        const int bits = k < n ? __float_as_int(value[k]) : -2;
        const unsigned below = (1u << lane) - 1;
        const unsigned tied = __ballot_sync(kAll, bits == high && k < n);
        const bool taken = bits > high || (bits == high && k < n && __popc(tied & below) < equal);
        const unsigned all = __ballot_sync(kAll, taken && k < n);
        if (taken && k < n) chosen[found + __popc(all & below)] = k;
        found += __popc(all);
        equal -= min(equal, __popc(tied));
    }
    __syncwarp();
}

// The digamma function: recurrence up to 8 or more, then the asymptotic series.
__device__ double digamma(double x) {
    double below = 0;
    for (; x < 8; x += 1) below += 1 / x;
    const double r = 1 / x, q = r * r;
    const double series =
        q * (1.0 / 12 - q * (1.0 / 120 - q * (1.0 / 252 - q * (1.0 / 240 - q * (1.0 / 132)))));
    return log(x) - 0.5 * r - series - below;
}

// Documents (CSR), of which `chosen` lists the requested ones (null: all); `order` lists the
// documents of a launch. A warp processes documents sequentially, with `floats` of scratch memory.
struct Batch {
    const int* order;
    int n;
    const int* chosen;
    const i64* indptr;
    const int* words;
    const float* counts;
    const float* beta;  // words x width, zeros from n_topics on
    int n_topics, width;
};
#define OPELDA_BATCH                                                                 \
    const int *order, int n, const int *chosen, const i64 *indptr, const int *words, \
        const float *counts, const float *beta, int n_topics, int width
#define OPELDA_MADE {order, n, chosen, indptr, words, counts, beta, n_topics, width}

struct Words {
    const int* word;
    const float* count;
    int n;
    __device__ Words(const Batch& b, int at) {
        const int d = b.chosen ? b.chosen[at] : at;
        word = b.words + b.indptr[d];
        count = b.counts + b.indptr[d];
        n = int(b.indptr[d + 1] - b.indptr[d]);
    }
    __device__ double tokens() const {
        double total = 0;
        for (int j = lane_of(); j < n; j += kLanes) total += double(count[j]);
        return sum_of(total);
    }
};

// sum_j ratio_j beta_jk of all topics, four at a time, passed to `take(k, sum)` by a lane.
template <class Take>
__device__ __forceinline__ void each_slope(const Batch& b, const Words& doc, const float* ratio,
                                           Take take) {
    for (int k = 4 * lane_of(); k < b.width; k += 4 * kLanes) {
        float4 g = {0, 0, 0, 0};
        for (int j = 0; j < doc.n; ++j) {
            const float r = ratio[j];
            const float4 row =
                *reinterpret_cast<const float4*>(b.beta + i64(doc.word[j]) * b.width + k);
            g.x += r * row.x, g.y += r * row.y, g.z += r * row.z, g.w += r * row.w;
        }
        take(k, g.x), take(k + 1, g.y), take(k + 2, g.z), take(k + 3, g.w);
    }
}

extern __shared__ double shared_room[];

// A warp's scratch memory: shared or global.
template <bool Shared> __device__ __forceinline__ float* own_room(float* memory, i64 floats) {
    if (Shared) return reinterpret_cast<float*>(shared_room) + threadIdx.x / kLanes * floats;
    return memory + warp_of() * floats;
}

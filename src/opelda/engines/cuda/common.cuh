// What all kernels share: every file of kernels is compiled after this one.

typedef unsigned long long u64;
typedef long long i64;

constexpr u64 kGolden = 0x9E3779B97F4A7C15ull;
constexpr unsigned kAll = 0xffffffffu;
constexpr int kLanes = 32;
constexpr float kSmallest = 1e-15f;  // smaller probabilities count as zero
constexpr float kTiny = 1e-30f;      // probabilities below count as this

// The finaliser of SplitMix64, as in native/mixing.hpp.
__device__ __forceinline__ u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// Over the lanes of a warp, by a fixed tree; every lane has the result.
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
__device__ __forceinline__ int lane_of() { return threadIdx.x % kLanes; }
__device__ __forceinline__ i64 warp_of() {
    return (i64(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
}

// Documents (CSR) of which those numbered `chosen` are asked for, or all; `order` says which of them
// a launch is for. A warp takes one after another, with `floats` of room for itself.
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
#define OPELDA_BATCH                                                                              \
    const int *order, int n, const int *chosen, const i64 *indptr, const int *words,              \
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

extern __shared__ double shared_room[];

// A warp's own room: in the block's shared memory, or in memory.
template <bool Shared> __device__ __forceinline__ float* own_room(float* memory, i64 floats) {
    if (Shared) return reinterpret_cast<float*>(shared_room) + threadIdx.x / kLanes * floats;
    return memory + warp_of() * floats;
}

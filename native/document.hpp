// A document as kernels see it: counts and addresses of the topic-weight rows of all words, padded
// to whole vectors with words that do not count (count 0, probability 1).
#pragma once

#include "arena.hpp"
#include "kernels.hpp"

namespace OPELDA_ISA {

using opelda::Problem;

// Accumulators that fit the registers: AVX-512 and 64-bit Arm have 32 registers, the rest 16.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kTile = 16;
#else
constexpr int kTile = 8;
#endif

// A coarse byte is five bits of exponent and three of mantissa; in this position the bits form a
// float, 2^-96 of the scaled weight. The words' scales correct half of that factor, the code here
// the rest, which prevents overflow.
constexpr int32_t kCoarseMask = 0x0ff00000;
constexpr int kCoarseBlock = 16;  // integers of a block of 64 topics
constexpr float kCoarseUnit = 0x1p48f;

// From this number of weights, one iteration takes about a millisecond.
constexpr int64_t kLongDocument = int64_t(1) << 20;
constexpr int64_t kAskNow = 255;  // in which other documents also ask, of every 256 iterations

OPELDA_INLINE float coarse_value(int32_t byte) {
    const int32_t bits = byte << 20 & kCoarseMask;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

struct Document {
    int64_t n = 0;
    int64_t n_padded = 0;
    double tokens = 0;
    bool is_long = false;
    float* count;
    const float** row;
    const int32_t** coarse;
    float* coarse_scale;

    void allocate(Arena& arena, int64_t max_words) {
        count = arena.array<float>(padded(max_words));
        row = arena.array<const float*>(padded(max_words));
        coarse = arena.array<const int32_t*>(padded(max_words));
        coarse_scale = arena.array<float>(padded(max_words));
    }

    void open(const Problem& p, int64_t index) {
        const int64_t begin = p.indptr[index];
        n = p.indptr[index + 1] - begin;
        n_padded = padded(n);
        is_long = n * p.stride >= kLongDocument;
        for (int64_t j = n; j < n_padded; ++j) count[j] = 0;
        for (int64_t j = 0; j < n; ++j) {
            count[j] = p.counts[begin + j];
            row[j] = p.rows + p.words[begin + j] * p.stride;
        }
        for (int64_t j = 0; p.coarse && j < n; ++j) {
            coarse[j] = p.coarse + p.words[begin + j] * p.coarse_stride;
            coarse_scale[j] = p.coarse_scale[p.words[begin + j]];
        }
        vd total = {};
        for (int64_t j = 0; j < n_padded; j += kDoubles) total += widen(count + j);
        tokens = sum(total);
    }

    // Whether the call must end: asked in every iteration of a long document, and in one of 256 of
    // shorter documents.
    OPELDA_INLINE bool stopped(int64_t t) const {
        return (is_long || t % 256 == kAskNow) && opelda::stopped();
    }

    // Copies the weights of this document's words in one topic.
    void column(int64_t topic, float* out) const {
        for (int64_t j = 0; j < n; ++j) out[j] = row[j][topic];
        for (int64_t j = n; j < n_padded; ++j) out[j] = 0;
    }
};

template <int Tiles>
OPELDA_INLINE void add_rows_tile(int64_t n, const float* const* rows, const float* weight,
                                 int64_t at, float scale, float* out) {
    vf acc[Tiles] = {};
    for (int64_t j = 0; j < n; ++j) {
        const float* row = rows[j] + at;
        const vf w = broadcast(weight[j]);
        for (int i = 0; i < Tiles; ++i) acc[i] += w * load(row + i * kLanes);
    }
    for (int i = 0; i < Tiles; ++i) store(out + at + i * kLanes, acc[i] * scale);
}

// The last tile, with the remaining vectors.
template <int Tiles>
OPELDA_INLINE void add_rows_rest(int64_t n, const float* const* rows, const float* weight,
                                 int64_t at, int64_t rest, float scale, float* out) {
    if (rest == Tiles) return add_rows_tile<Tiles>(n, rows, weight, at, scale, out);
    if constexpr (Tiles > 1) add_rows_rest<Tiles - 1>(n, rows, weight, at, rest, scale, out);
}

// Number of rows added at once for long rows: each row is read sequentially, which suits hardware
// prefetching, and few pages are read at a time.
constexpr int kAlong = 8;
constexpr int64_t kLongRow = 64;  // minimum row length, for documents of enough words

// out += sum_j weight_j row_j for Rows rows; the first rows start from 0 instead of out.
template <int Rows>
OPELDA_INLINE void add_along(const float* const* rows, const float* weight, int64_t stride,
                             bool first, float* out) {
    constexpr int vectors = kPad / kLanes;
    for (int64_t at = 0; at < stride; at += kPad) {
        vf acc[vectors];
        for (int i = 0; i < vectors; ++i) acc[i] = first ? vf{} : load(out + at + i * kLanes);
        for (int j = 0; j < Rows; ++j)
            for (int i = 0; i < vectors; ++i) acc[i] += weight[j] * load(rows[j] + at + i * kLanes);
        for (int i = 0; i < vectors; ++i) store(out + at + i * kLanes, acc[i]);
    }
}

__attribute__((noinline)) inline void add_long_rows(int64_t n, const float* const* rows,
                                                    const float* weight, int64_t stride,
                                                    float scale, float* out) {
    int64_t j = 0;
    for (; j + kAlong <= n; j += kAlong)
        add_along<kAlong>(rows + j, weight + j, stride, j == 0, out);
    if (j + 4 <= n) add_along<4>(rows + j, weight + j, stride, j == 0, out), j += 4;
    if (j + 2 <= n) add_along<2>(rows + j, weight + j, stride, j == 0, out), j += 2;
    if (j < n) add_along<1>(rows + j, weight + j, stride, j == 0, out);
    if (scale == 1) return;
    for (int64_t k = 0; k < stride; k += kLanes) store(out + k, load(out + k) * scale);
}

// out_k = scale * sum_j weight_j row_jk for every topic: each row is read once per tile of topics.
inline void add_rows(int64_t n, const float* const* rows, const float* weight, int64_t stride,
                     float scale, float* out) {
    if (stride >= kLongRow && n >= 2 * kAlong)
        return add_long_rows(n, rows, weight, stride, scale, out);
    int64_t at = 0;
    for (; at + kTile * kLanes <= stride; at += kTile * kLanes)
        add_rows_tile<kTile>(n, rows, weight, at, scale, out);
    add_rows_rest<kTile - 1>(n, rows, weight, at, (stride - at) / kLanes, scale, out);
}

// Four vectors of topics to one of integers: byte g of integer i of a block is topic 16 g + i of
// its 64.
template <int Parts>
OPELDA_INLINE void add_coarse_tile(int64_t n, const int32_t* const* rows, const float* weight,
                                   int64_t at, float scale, float* out) {
    vf acc[4 * Parts] = {};
    for (int64_t j = 0; j < n; ++j) {
        const vf w = broadcast(weight[j]);
        for (int i = 0; i < Parts; ++i) {
            const vi four = load(rows[j] + at + i * kLanes);
            acc[4 * i] += w * as_float(four << 20 & kCoarseMask);
            acc[4 * i + 1] += w * as_float(four << 12 & kCoarseMask);
            acc[4 * i + 2] += w * as_float(four << 4 & kCoarseMask);
            acc[4 * i + 3] += w * as_float(four >> 4 & kCoarseMask);
        }
    }
    for (int i = 0; i < Parts; ++i, at += kLanes) {
        float* block = out + at / kCoarseBlock * 64 + at % kCoarseBlock;
        for (int g = 0; g < 4; ++g) store(block + g * kCoarseBlock, acc[4 * i + g] * scale);
    }
}

// The same from the coarse rows; `stride` is theirs.
inline void add_coarse(int64_t n, const int32_t* const* rows, const float* weight, int64_t stride,
                       float scale, float* out) {
    scale *= kCoarseUnit;
    constexpr int parts = kTile / 4;
    int64_t at = 0;
    for (; at + parts * kLanes <= stride; at += parts * kLanes)
        add_coarse_tile<parts>(n, rows, weight, at, scale, out);
    for (; at < stride; at += kLanes) add_coarse_tile<1>(n, rows, weight, at, scale, out);
}

// Fetches the rows of a later document gradually while an earlier document is processed.
class Prefetcher {
public:
    explicit Prefetcher(const Problem& p)
        : p(p),
          table_(p.coarse ? reinterpret_cast<const char*>(p.coarse)
                          : reinterpret_cast<const char*>(p.rows)),
          bytes_(4 * (p.coarse ? p.coarse_stride : p.stride)) {}
    // Selects the next document, to be fetched in `turns` steps.
    void aim(int64_t index, int64_t last, int64_t turns) {
        next_ = index < last ? p.words + p.indptr[index] : nullptr;
        end_ = index < last ? p.words + p.indptr[index + 1] : nullptr;
        rows_ = (end_ - next_ + turns - 1) / turns;
    }
    OPELDA_INLINE void turn() {
        for (int64_t i = 0; i < rows_ && next_ < end_; ++i, ++next_) {
            const char* row = table_ + *next_ * bytes_;
            for (int64_t at = 0; at < bytes_; at += 64) __builtin_prefetch(row + at, 0, 2);
        }
    }

private:
    const Problem& p;
    const char* table_;
    int64_t bytes_;
    const int32_t *next_ = nullptr, *end_ = nullptr;
    int64_t rows_ = 0;
};

}  // namespace OPELDA_ISA

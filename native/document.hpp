// A document as kernels see it: counts and the addresses of its words' rows of topic weights, padded to whole vectors with words
// that do not count (count 0, probability 1).
#pragma once

#include "arena.hpp"
#include "kernels.hpp"

namespace OPELDA_ISA {

using opelda::Problem;

#if defined(__AVX512F__)
constexpr int kTile = 16;  // accumulators of 16 floats that fit the registers
#elif defined(__AVX2__) || defined(__aarch64__)
constexpr int kTile = 4;
#else
constexpr int kTile = 2;
#endif

// A coarse byte is five bits of exponent and three of mantissa; in this place they make a float, 2^-96 of the scaled weight. Half of
// that factor is put back by the words' scales, half here, so that nothing overflows on the way.
constexpr int32_t kCoarseMask = 0x0ff00000;
constexpr float kCoarseUnit = 0x1p48f;

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
    float* count;
    const float** row;
    const int32_t** coarse;
    float* coarse_scale;

    void cut(Arena& arena, int64_t max_words) {
        count = arena.cut<float>(padded(max_words));
        row = arena.cut<const float*>(padded(max_words));
        coarse = arena.cut<const int32_t*>(padded(max_words));
        coarse_scale = arena.cut<float>(padded(max_words));
    }

    void open(const Problem& p, int64_t index) {
        const int64_t begin = p.indptr[index];
        n = p.indptr[index + 1] - begin;
        n_padded = padded(n);
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
        for (int64_t j = 0; j < n_padded; j += 8) total += widen(count + j);
        tokens = sum(total);
    }

    // The weights of this document's words in one topic.
    void column(int64_t topic, float* out) const {
        for (int64_t j = 0; j < n; ++j) out[j] = row[j][topic];
        for (int64_t j = n; j < n_padded; ++j) out[j] = 0;
    }
};

template <int Tiles>
OPELDA_INLINE void add_rows_tile(int64_t n, const float* const* rows, const float* weight, int64_t at, float scale, float* out) {
    vf acc[Tiles] = {};
    for (int64_t j = 0; j < n; ++j) {
        const float* row = rows[j] + at;
        const vf w = broadcast(weight[j]);
        for (int i = 0; i < Tiles; ++i) acc[i] += w * load(row + i * kLanes);
    }
    for (int i = 0; i < Tiles; ++i) store(out + at + i * kLanes, acc[i] * scale);
}

// out_k = scale * sum_j weight_j row_jk for every topic: each row is read once per tile of topics.
inline void add_rows(int64_t n, const float* const* rows, const float* weight, int64_t stride, float scale, float* out) {
    int64_t at = 0;
    for (; at + kTile * kLanes <= stride; at += kTile * kLanes) add_rows_tile<kTile>(n, rows, weight, at, scale, out);
    const int64_t rest = (stride - at) / kLanes;
    if (rest & 8) add_rows_tile<8>(n, rows, weight, at, scale, out), at += 8 * kLanes;
    if (rest & 4) add_rows_tile<4>(n, rows, weight, at, scale, out), at += 4 * kLanes;
    if (rest & 2) add_rows_tile<2>(n, rows, weight, at, scale, out), at += 2 * kLanes;
    if (rest & 1) add_rows_tile<1>(n, rows, weight, at, scale, out);
}

template <int Blocks>
OPELDA_INLINE void add_coarse_tile(int64_t n, const int32_t* const* rows, const float* weight, int64_t at, float scale, float* out) {
    vf acc[4 * Blocks] = {};
    for (int64_t j = 0; j < n; ++j) {
        const vf w = broadcast(weight[j]);
        for (int i = 0; i < Blocks; ++i) {
            const vi four = load(rows[j] + at + i * kLanes);
            acc[4 * i] += w * as_float(four << 20 & kCoarseMask);
            acc[4 * i + 1] += w * as_float(four << 12 & kCoarseMask);
            acc[4 * i + 2] += w * as_float(four << 4 & kCoarseMask);
            acc[4 * i + 3] += w * as_float(four >> 4 & kCoarseMask);
        }
    }
    for (int i = 0; i < 4 * Blocks; ++i) store(out + 4 * at + i * kLanes, acc[i] * scale);
}

// The same from the coarse rows, 64 topics to a block; `stride` is theirs.
inline void add_coarse(int64_t n, const int32_t* const* rows, const float* weight, int64_t stride, float scale, float* out) {
    scale *= kCoarseUnit;
    constexpr int blocks = kTile / 4 > 0 ? kTile / 4 : 1;
    int64_t at = 0;
    for (; at + blocks * kLanes <= stride; at += blocks * kLanes) add_coarse_tile<blocks>(n, rows, weight, at, scale, out);
    for (; at < stride; at += kLanes) add_coarse_tile<1>(n, rows, weight, at, scale, out);
}

// Fetches the rows of a later document a few cache lines at a time, while an earlier one is being worked on.
class Prefetcher {
  public:
    explicit Prefetcher(const Problem& p)
        : p(p), table_(p.coarse ? reinterpret_cast<const char*>(p.coarse) : reinterpret_cast<const char*>(p.rows)),
          bytes_(4 * (p.coarse ? p.coarse_stride : p.stride)) {}
    void aim(int64_t index, int64_t last) {
        at_ = 0;
        next_ = index < last ? p.indptr[index] : 0;
        end_ = index < last ? p.indptr[index + 1] : 0;
    }
    OPELDA_INLINE void fetch(int64_t lines) {
        while (lines > 0 && next_ < end_) {
            const char* row = table_ + p.words[next_] * bytes_;
            for (; at_ < bytes_ && lines > 0; at_ += 64, --lines) __builtin_prefetch(row + at_, 0, 2);
            if (at_ >= bytes_) at_ = 0, ++next_;
        }
    }
    int64_t lines() const { return (end_ - next_) * ((bytes_ + 63) / 64); }

  private:
    const Problem& p;
    const char* table_;
    int64_t bytes_;
    int64_t next_ = 0, end_ = 0, at_ = 0;
};

}  // namespace OPELDA_ISA

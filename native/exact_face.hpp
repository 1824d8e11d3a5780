// The likeliest mixture of a few topics: Newton's method on a face of the simplex.
//
// Maximise F(w) = sum_j part_j log x_j - sum_i w_i over w >= 0, x_j = sum_i w_i B_ji, with part_j
// the word's share of the document. Its maximum has sum_i w_i = 1 by itself. With the slopes G_i =
// sum_j part_j B_ji / x_j and the curvature H = sum_j part_j / x_j^2 B_j B_j^T there is H w = G, so
// that Newton's step leads to the w with H w = 2 G - 1: where that is negative, the step goes as
// far as the border, the topic is left out, and so on. H is inverted once; leaving a topic out of
// the inverse is one update of rank 1.
//
// The words' weights are packed word by word (B_j is a row) and divided by the word's mean: that
// changes no G, and keeps x within range. In single precision (T = float) first, in double where
// that is not enough.
#pragma once

#include <cmath>

#include "document.hpp"

namespace OPELDA_ISA {

template <class T> struct FaceNumbers;
template <> struct FaceNumbers<float> {
    using V = vf;
    using I = vi;
    using Whole = int32_t;
    static OPELDA_INLINE I places() { return load(kNumbers); }
    static constexpr float floor = 1e-15f;  // of x: its square is still a float
    static constexpr float ridge = 2e-4f, noise = 2e-6f;
};
template <> struct FaceNumbers<double> {
    using V = vd;
    using I = vl;
    using Whole = int64_t;
    static OPELDA_INLINE I places() {
        I numbers;
        for (int l = 0; l < kDoubles; ++l) numbers[l] = l;
        return numbers;
    }
    static constexpr double floor = 1e-100;
    static constexpr double ridge = 1e-9, noise = 1e-14;
};

template <class T> class Face {
public:
    using V = typename FaceNumbers<T>::V;
    static constexpr int kWide = sizeof(V) / sizeof(T);
    static constexpr int kColumns = kTile / kWide < 4 ? kTile / kWide : 4;  // vectors at a time

    int64_t size = 0;  // topics
    int32_t* topic;
    T *weight, *slope;  // per topic: w_i, a mixture after `evaluate`, and G_i
    T* ratio;           // per word: part_j / x_j

    void allocate(Arena& arena, int64_t max_words, int64_t most) {
        most_ = padded(most);
        topic = arena.array<int32_t>(most_);
        for (T** per_topic : {&weight, &slope, &before_, &best_, &wanted_, &more_, &factor_})
            *per_topic = arena.array<T>(most_);
        for (T** per_word : {&ratio, &x_, &curve_, &part_, &scale_})
            *per_word = arena.array<T>(padded(max_words));
        out_ = arena.array<bool>(most_);
        packed_ = arena.array<T>(padded(max_words) * most_);
        matrix_ = arena.array<T>(most_ * most_);
    }

    bool full() const { return size == most_; }

    // Takes a document, whose words have these means, and no topics so far.
    void open(const Document& document, const float* means) {
        doc_ = &document;
        size = written_ = 0;
        stride_ = kPad;
        const T all = T(1 / document.tokens);
        for (int64_t j = 0; j < document.n_padded; ++j) {
            part_[j] = T(document.count[j]) * all;
            scale_[j] = T(1) / T(means[j]);
        }
    }

    // Adds a topic; `pack` follows.
    void add(int32_t k, T first_weight) {
        topic[size] = k;
        weight[size] = first_weight;
        ++size;
    }

    // Packs the columns of the topics from `first` on.
    void pack(int64_t first) {
        if (size > stride_ || written_ == 0) {
            stride_ = padded(size);
            first = written_ = 0;
        }
        const int64_t last = vectors() * kWide;
        for (int64_t j = 0; j < doc_->n; ++j) {
            const float* row = doc_->row[j];
            T* to = packed_ + j * stride_;
            const T scale = scale_[j];
            for (int64_t i = first; i < size; ++i) to[i] = T(row[topic[i]]) * scale;
        }
        if (last <= written_) return;
        // beyond the topics, and beyond the words, any finite number will do
        const int64_t from = size > written_ ? size : written_;
        for (int64_t j = 0; j < doc_->n; ++j)
            for (int64_t i = from; i < last; ++i) packed_[j * stride_ + i] = 0;
        for (int64_t j = doc_->n; j < words(); ++j)
            for (int64_t i = written_; i < last; ++i) packed_[j * stride_ + i] = 0;
        written_ = last;
    }

    // Leaves out the topics that `gone` names; the last ones take their places.
    template <class Gone> void drop(Gone gone) {
        for (int64_t i = 0; i < size;) {
            if (!gone(i)) {
                ++i;
                continue;
            }
            const int64_t end = --size;
            topic[i] = topic[end], weight[i] = weight[end], slope[i] = slope[end];
            for (int64_t j = 0; j < doc_->n; ++j)
                packed_[j * stride_ + i] = packed_[j * stride_ + end];
        }
    }

    // Leaves out the topics without weight, for good: their columns stay where they are.
    void keep_positive() {
        int64_t kept = 0;
        for (int64_t i = 0; i < size; ++i) {
            topic[kept] = topic[i], weight[kept] = weight[i];
            kept += weight[i] > 0;
        }
        size = kept;
    }

    // Makes the weights a mixture, and computes the words' probabilities and the slopes.
    void evaluate() {
        for (int64_t i = size; i < vectors() * kWide; ++i) weight[i] = 0;
        V all = {};
        each([&](int64_t i) { all += load(weight + i); });
        const T inverse = T(1) / sum(all);
        each([&](int64_t i) { store(weight + i, load(weight + i) * inverse); });
        in_columns([&]<int W>(int64_t at) { explain<W>(at); });
        for (int64_t j = 0; j < words(); j += kWide) {
            const V inverse = T(1) / max(load(x_ + j), broadcast(FaceNumbers<T>::floor));
            const V r = load(part_ + j) * inverse;
            store(ratio + j, r);
            store(curve_ + j, r * inverse);
        }
        in_columns([&]<int W>(int64_t at) { climb<W>(at); });
        for (int64_t i = size; i < vectors() * kWide; ++i) slope[i] = 0;
    }

    T steepest() const {
        V top = {};
        each([&](int64_t i) { top = max(top, load(slope + i)); });
        return largest(top);
    }

    // A step of EM, which never leads downhill.
    void spread() {
        each([&](int64_t i) { store(weight + i, load(weight + i) * load(slope + i)); });
        evaluate();
    }

    // A step of EM of twice the length, to come near from afar.
    void leap() {
        each([&](int64_t i) {
            const V g = load(slope + i);
            store(weight + i, load(weight + i) * g * g);
        });
        evaluate();
    }

    // A step of Newton's method within w >= 0, shortened where it would lead downhill.
    void step() {
        each([&](int64_t i) { store(before_ + i, load(weight + i)); });
        for (int64_t i = 0; i < size; ++i) out_[i] = !(weight[i] > 0) && !(slope[i] > 1);
        if (!model() || !go()) {
            each([&](int64_t i) { store(weight + i, load(before_ + i)); });
            return spread();
        }
        V all = {}, ahead = {}, behind = {};
        each([&](int64_t i) {
            all += load(weight + i);
            ahead += load(weight + i) * load(slope + i);
            behind += load(before_ + i) * load(slope + i);
        });
        const T expected = sum(ahead) / sum(all) - sum(behind);
        if (!(expected > -FaceNumbers<T>::noise)) {
            each([&](int64_t i) { store(weight + i, load(before_ + i)); });
            return spread();
        }
        evaluate();
        // F is concave: while it still rises at the end of the step, or falls by less than it rose
        // at the beginning, the step is not too long
        for (int halves = 0; halves < 30; ++halves) {
            V rise = {};
            each([&](int64_t i) {
                rise += (load(weight + i) - load(before_ + i)) * load(slope + i);
            });
            if (sum(rise) >= T(-0.5) * expected - FaceNumbers<T>::noise) return;
            each([&](int64_t i) {
                store(weight + i, T(0.5) * (load(weight + i) + load(before_ + i)));
            });
            evaluate();
        }
    }

    // sum_j part_j log x_j, the words' probabilities in parts of their means.
    double log_likelihood() const {
        double total = 0;
        for (int64_t j = 0; j < doc_->n; ++j) total += double(part_[j]) * std::log(double(x_[j]));
        return total;
    }

    // The scales of the words, to turn `ratio` into that of the rows as they are.
    const T* scale() const { return scale_; }

private:
    int64_t words() const { return (doc_->n + kWide - 1) / kWide * kWide; }
    int64_t vectors() const { return (size + kWide - 1) / kWide; }

    template <class Body> OPELDA_INLINE void each(const Body& body) const {
        for (int64_t i = 0; i < vectors() * kWide; i += kWide) body(i);
    }

    // Calls body<W>(at) for all topics, W vectors from the one at `at` on.
    template <class Body> OPELDA_INLINE void in_columns(const Body& body) const {
        int64_t at = 0, left = vectors();
        for (; left > 4; left -= 4, at += 4 * kWide) body.template operator()<4>(at);
        if (left == 4) body.template operator()<4>(at);
        if (left == 3) body.template operator()<3>(at);
        if (left == 2) body.template operator()<2>(at);
        if (left == 1) body.template operator()<1>(at);
    }

    // x_j = sum_i w_i B_ji, of some topics
    template <int W> OPELDA_INLINE void explain(int64_t at) {
        V w[W];
        for (int v = 0; v < W; ++v) w[v] = load(weight + at + v * kWide);
        for (int64_t j = 0; j < words(); j += kWide) {
            V acc[kWide];
            for (int l = 0; l < kWide; ++l) {
                const T* row = packed_ + (j + l) * stride_ + at;
                acc[l] = w[0] * load(row);
                for (int v = 1; v < W; ++v) acc[l] += w[v] * load(row + v * kWide);
            }
            const V total = sums(acc);
            store(x_ + j, at ? load(x_ + j) + total : total);
        }
    }

    // G_i = sum_j part_j B_ji / x_j
    template <int W> OPELDA_INLINE void climb(int64_t at) {
        V acc[2][W] = {};
        for (int64_t j = 0; j < words(); j += 2)
            for (int l = 0; l < 2; ++l) {
                const T* row = packed_ + (j + l) * stride_ + at;
                const V r = broadcast(ratio[j + l]);
                for (int v = 0; v < W; ++v) acc[l][v] += r * load(row + v * kWide);
            }
        for (int v = 0; v < W; ++v) store(slope + at + v * kWide, acc[0][v] + acc[1][v]);
    }

    // The upper triangle of H, block by block.
    void curvature() {
        const int64_t n = vectors();
        side_ = n * kWide;
        for (int64_t r = 0; r < n; ++r) {
            int64_t c = r;
            for (; c + kColumns <= n; c += kColumns) curvature_block<kColumns>(r, c);
            if constexpr (kColumns > 3)
                if (n - c == 3) curvature_block<3>(r, c);
            if constexpr (kColumns > 2)
                if (n - c == 2) curvature_block<2>(r, c);
            if constexpr (kColumns > 1)
                if (n - c == 1) curvature_block<1>(r, c);
        }
        for (int64_t i = 1; i < size; ++i)
            for (int64_t k = 0; k < i; ++k) matrix_[i * side_ + k] = matrix_[k * side_ + i];
    }

    template <int C> OPELDA_INLINE void curvature_block(int64_t r, int64_t c) {
        V acc[kWide][C] = {};
        for (int64_t j = 0; j < doc_->n; ++j) {
            const T* row = packed_ + j * stride_;
            const V scaled = broadcast(curve_[j]) * load(row + r * kWide);
            V column[C];
            for (int i = 0; i < C; ++i) column[i] = load(row + (c + i) * kWide);
            for (int l = 0; l < kWide; ++l)
                for (int i = 0; i < C; ++i) acc[l][i] += scaled[l] * column[i];
        }
        for (int l = 0; l < kWide; ++l)
            for (int i = 0; i < C; ++i)
                store(matrix_ + (r * kWide + l) * side_ + (c + i) * kWide, acc[l][i]);
    }

    // The quadratic model's maximum without the topics that are out, in `best_`, from the inverse
    // of H, made a little larger on its diagonal; false where that fails.
    bool model() {
        curvature();
        for (int64_t i = 0; i < size; ++i) {
            more_[i] = matrix_[i * side_ + i] * FaceNumbers<T>::ridge;
            wanted_[i] = 2 * slope[i] - 1 + more_[i] * before_[i];
            if (!out_[i]) continue;
            for (int64_t k = 0; k < size; ++k) matrix_[i * side_ + k] = matrix_[k * side_ + i] = 0;
        }
        if (!invert()) return false;
        each([&](int64_t i) { store(best_ + i, V{}); });
        for (int64_t i = 0; i < size; ++i) {
            if (out_[i]) continue;
            const T* row = matrix_ + i * side_;
            each(
                [&](int64_t v) { store(best_ + v, load(best_ + v) + wanted_[i] * load(row + v)); });
        }
        return true;
    }

    bool invert() {
        switch (vectors()) {
            case 1:
                return sweep<1>();
            case 2:
                return sweep<2>();
            case 3:
                return sweep<3>();
            case 4:
                return sweep<4>();
            default:
                return sweep<0>();
        }
    }

    // Gauss and Jordan, in place; W vectors a row, or any number if 0. No element is written alone:
    // a vector that is read soon after would wait for it.
    template <int W> bool sweep() {
        const int64_t n = W ? W : vectors();
        for (int64_t k = 0; k < size; ++k) {
            if (out_[k]) continue;
            T* pivots = matrix_ + k * side_;
            const T pivot = pivots[k] + more_[k];
            if (!(pivot > 0)) return false;
            const T inverse = T(1) / pivot;
            for (int64_t v = 0; v < n; ++v)
                store(pivots + v * kWide,
                      at_place(v, k, broadcast(T(1)), load(pivots + v * kWide)) * inverse);
            for (int64_t i = 0; i < size; ++i) {
                if (i == k) continue;
                T* row = matrix_ + i * side_;
                const T by = row[k];
                for (int64_t v = 0; v < n; ++v)
                    store(row + v * kWide, at_place(v, k, V{}, load(row + v * kWide)) -
                                               by * load(pivots + v * kWide));
            }
        }
        return true;
    }

    // The vector `rest`, number v of a row, with `there` in the row's place k.
    static OPELDA_INLINE V at_place(int64_t v, int64_t k, V there, V rest) {
        const typename FaceNumbers<T>::I place =
            FaceNumbers<T>::places() + typename FaceNumbers<T>::Whole(v * kWide);
        return place == typename FaceNumbers<T>::Whole(k) ? there : rest;
    }

    // From `weight` to the maximum of the quadratic model over w >= 0, border by border.
    bool go() {
        while (true) {
            T part = 1;
            int64_t first = -1;
            for (int64_t i = 0; i < size; ++i) {
                if (out_[i] || best_[i] > 0) continue;
                const T to = weight[i] > 0 ? weight[i] / (weight[i] - best_[i]) : 0;
                if (first < 0 || to < part) part = to, first = i;
            }
            each([&](int64_t i) {
                store(weight + i, load(weight + i) + part * (load(best_ + i) - load(weight + i)));
            });
            if (first < 0) break;
            if (!leave_out(first)) return false;
        }
        for (int64_t i = 0; i < size; ++i)
            if (out_[i] || !(weight[i] > 0)) weight[i] = 0;
        for (int64_t i = size; i < vectors() * kWide; ++i) weight[i] = 0;
        return true;
    }

    // Takes a topic out of the inverse and of the model's maximum. Where H is all but singular the
    // update of rank 1 is no good, and double precision, which is there for such cases, begins
    // anew.
    bool leave_out(int64_t gone) {
        if constexpr (sizeof(T) == sizeof(double)) {
            out_[gone] = true;
            weight[gone] = 0;
            return model();
        }
        T* row = matrix_ + gone * side_;
        const T inverse = T(1) / row[gone], away = best_[gone] * inverse;
        each([&](int64_t v) {
            const V column = load(row + v);
            store(best_ + v, load(best_ + v) - away * column);
            store(factor_ + v, column * inverse);
        });
        for (int64_t i = 0; i < size; ++i) {
            if (out_[i] || i == gone) continue;
            T* other = matrix_ + i * side_;
            each(
                [&](int64_t v) { store(other + v, load(other + v) - factor_[i] * load(row + v)); });
        }
        out_[gone] = true;
        weight[gone] = best_[gone] = 0;
        return true;
    }

    const Document* doc_ = nullptr;
    int64_t most_ = 0, stride_ = kPad, side_ = 0;
    int64_t written_ = 0;  // columns of `packed_`
    T *before_, *best_, *wanted_, *more_,
        *factor_;                     // per topic: w at first, the model's maximum, 2 G - 1
    T *x_, *curve_, *part_, *scale_;  // per word: x_j, part_j / x_j^2, d_j / N, 1 / mean
    bool* out_;                       // per topic: stays at 0 in this step
    T* packed_;                       // words x stride_
    T* matrix_;                       // side_ x side_
};

}  // namespace OPELDA_ISA

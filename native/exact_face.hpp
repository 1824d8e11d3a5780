// Maximum-likelihood mixture of a few topics: Newton's method on a face of the simplex.
//
// Maximise F(w) = sum_j part_j log x_j - sum_i w_i over w >= 0, x_j = sum_i w_i B_ji, where part_j
// is the word's fraction of the document. The maximum satisfies sum_i w_i = 1. With the slopes G_i
// = sum_j part_j B_ji / x_j and the curvature H = sum_j part_j / x_j^2 B_j B_j^T, H w = G, so
// Newton's step leads to the w with H w = 2 G - 1. If a weight would become negative, the step
// stops at the border and that topic is dropped, repeatedly. H is inverted once; dropping a topic
// from the inverse is a rank-1 update. Near the maximum the same inverse serves a second step.
//
// Single precision (T = float) runs first, double precision if the accuracy is insufficient.
#pragma once

#include "exact_inverse.hpp"

namespace OPELDA_ISA {

// Reuse the inverse of the last step if the largest slope exceeds 1 by at most kNear and this
// excess fell to at most kShrunk of its last value: 16.2 us a document became 14.3, with topics as
// columns (benchmarks/README.md, guarantee.py).
constexpr double kNear = 0.02, kShrunk = 0.2;
constexpr int kMostHalves = 30;     // of a downhill step
constexpr double kFallShare = 0.5;  // allowed fall of F at a step's end, relative to its first rise

template <class T> class Face : public Inverse<T> {
    using Base = Inverse<T>;
    using Base::most_, Base::words_, Base::column_, Base::curve_, Base::top_, Base::last_,
        Base::work_, Base::doc_, Base::vectors, Base::each, Base::topics_only, Base::side_,
        Base::more_, Base::in_, Base::matrix_, Base::invert;
    using typename Base::Whole;

public:
    using Base::Base, Base::kWide, Base::size, Base::weight, Base::slope, Base::evaluate;
    using typename Base::V;

    void allocate(Arena& arena, int64_t max_words, int64_t most) {
        Base::allocate(arena, max_words, most);
        for (T** per_topic : {&before_, &best_, &factor_}) *per_topic = arena.array<T>(most_);
    }

    // An EM step, which never decreases F.
    void spread() {
        last_ = 0;
        each([&](int64_t i) { store(weight + i, load(before_ + i) * load(slope + i)); });
        evaluate();
    }

    // A Newton step within w >= 0, shortened if it would decrease F.
    void step() {
        each([&](int64_t i) { store(before_ + i, load(weight + i)); });
        const T off = top_ - 1;
        const bool again = still_good(off);
        if (!again) {
            each([&](int64_t i) {
                const V none = {}, one = broadcast(T(1));
                store(in_ + i, ((load(weight + i) > none) | (load(slope + i) > one)) ? one : none);
            });
            if (!model()) return spread();
        }
        last_ = off;
        aim(false);
        if (!go()) return spread();
        V all = {}, ahead = {}, behind = {};
        each([&](int64_t i) {
            all += load(weight + i);
            ahead += load(weight + i) * load(slope + i);
            behind += load(before_ + i) * load(slope + i);
        });
        const T expected = sum(ahead) / sum(all) - sum(behind);
        if (!(expected > -FaceNumbers<T>::noise)) return spread();
        evaluate();
        // F is concave: the step is short enough if F still rises at its end, or falls by less than
        // it rose at the start
        for (int halves = 0; halves < kMostHalves; ++halves) {
            V rise = {};
            each([&](int64_t i) {
                rise += (load(weight + i) - load(before_ + i)) * load(slope + i);
            });
            if (sum(rise) >= T(-kFallShare) * expected - FaceNumbers<T>::noise) return;
            each([&](int64_t i) {
                store(weight + i, T(0.5) * (load(weight + i) + load(before_ + i)));
            });
            evaluate();
        }
    }

private:
    // of a block of H, whose sums fit the registers
    static constexpr int kRows = kTile < kWide ? 1 : kTile / kWide < kWide ? kTile / kWide : kWide;

    // H = sum_j part_j / x_j^2 B_j B_j^T, block by block: kRows rows and up to kWide columns, and
    // their mirror image.
    void curvature() {
        side_ = vectors() * kWide;
        for (int64_t c = 0; c < side_; c += kWide) {
            const int64_t left = size - c;
            if (4 * left <= kWide)
                curvature_columns<(kWide > 4 ? kWide / 4 : 1)>(c);
            else if (2 * left <= kWide)
                curvature_columns<kWide / 2>(c);
            else
                curvature_columns<kWide>(c);
        }
    }
    template <int C> void curvature_columns(int64_t c) {
        for (int64_t r = 0; r < c; r += kRows) curvature_block<C, false>(r, c);
        for (int64_t r = c; r < c + kWide; r += kRows) curvature_block<C, true>(r, c);
    }

    // For a square diagonal block, the lower part is copied from the upper.
    template <int C, bool Diagonal>
    __attribute__((noinline)) void curvature_block(int64_t r, int64_t c) {
        constexpr bool square = kRows == kWide, half = Diagonal && square;
        constexpr int rows = half ? C : kRows;
        V acc[kRows * kWide] = {};
        T *const *row = column_ + r, *const *column = column_ + c;
        int64_t j = 0;
        do {  // a document has words
            const V curve = load(curve_ + j);
            V scaled[rows];
            for (int l = 0; l < rows; ++l) scaled[l] = curve * load(row[l] + j);
            for (int i = 0; i < C; ++i) {
                const V weights = load(column[i] + j);
                for (int l = 0; l < rows; ++l)
                    if (!half || l <= i) acc[l * kWide + i] += scaled[l] * weights;
            }
        } while ((j += kWide) < words_);
        V block[kRows], turned[kRows];
        for (int l = 0; l < kRows; ++l) turned[l] = block[l] = sums(acc + l * kWide);
        if constexpr (square && (half || !Diagonal)) transpose<kWide / 2>(turned);
        const auto numbers = FaceNumbers<T>::places();
        T* to = matrix_ + r * side_ + c;
        for (int l = 0; l < kRows; ++l, to += side_)
            store(to, half && l > 0 ? (numbers < Whole(l) ? turned[l] : block[l]) : block[l]);
        if constexpr (Diagonal) return;
        if constexpr (square) {
            to = matrix_ + c * side_ + r;
            for (int l = 0; l < C; ++l, to += side_) store(to, turned[l]);
        } else {
            for (int l = 0; l < kRows; ++l)
                for (int i = 0; i < kWide; ++i) matrix_[(c + i) * side_ + r + l] = block[l][i];
        }
    }

    // Inverts H, with a slightly larger diagonal, without dropped topics; false if the inversion
    // fails or would exceed the remaining work.
    bool model() {
        const int64_t cost = size * size * (doc_->n / 2 + size);
        if (!work_.template allows<T>(cost)) return work_.end(), false;
        work_.template add<T>(cost);
        curvature();
        for (int64_t i = 0; i < size; ++i) {
            more_[i] = matrix_[i * side_ + i] * FaceNumbers<T>::ridge;
            if (in_[i] > 0) continue;
            for (int64_t k = 0; k < size; ++k) matrix_[i * side_ + k] = matrix_[k * side_ + i] = 0;
        }
        return invert();
    }

    // Writes the model's maximum to `best_`: from the slopes or, if topics with weight were
    // dropped, from H w = 2 G - 1, which requires H at this w.
    void aim(bool whole) {
        each([&](int64_t i) {
            V by = load(slope + i) - T(1);
            if (whole) by += load(slope + i) + load(more_ + i) * load(before_ + i);
            store(factor_ + i, load(in_ + i) * by);
        });
        each([&](int64_t v) {
            V best = whole ? V{} : load(before_ + v);
            for (int64_t i = 0; i < size; ++i) best += factor_[i] * load(matrix_ + i * side_ + v);
            store(best_ + v, load(in_ + v) > T(0) ? best : V{});
        });
    }

    // Whether the inverse of the last step can be reused: near the maximum H changes little.
    bool still_good(T off) const {
        if (!(off < T(kNear) && off < T(kShrunk) * last_)) return false;
        V steep = {};  // the largest slope of dropped topics
        each([&](int64_t i) { steep = max(steep, (T(1) - load(in_ + i)) * load(slope + i)); });
        return !(largest(steep) > 1);
    }

    // Moves `weight` to the maximum of the quadratic model over w >= 0, border by border.
    bool go() {
        while (true) {
            V lowest = {};
            each([&](int64_t i) {
                lowest = max(lowest, -load(in_ + i) * topics_only(i, load(best_ + i)));
            });
            if (!(largest(lowest) > 0)) break;
            T part = 1;
            int64_t first = -1;
            for (int64_t i = 0; i < size; ++i) {
                if (in_[i] == 0 || best_[i] >= 0) continue;
                const T to = weight[i] > 0 ? weight[i] / (weight[i] - best_[i]) : 0;
                if (first < 0 || to < part) part = to, first = i;
            }
            each([&](int64_t i) {
                store(weight + i, load(weight + i) + part * (load(best_ + i) - load(weight + i)));
            });
            if (first < 0) break;
            if (!leave_out(first)) return false;
        }
        each([&](int64_t i) {
            store(weight + i, load(in_ + i) > T(0) ? max(load(best_ + i), V{}) : V{});
        });
        return true;
    }

    // Drops a topic from the inverse and the model's maximum. If H is nearly singular, the rank-1
    // update is inaccurate; double precision then restarts.
    bool leave_out(int64_t gone) {
        if constexpr (sizeof(T) == sizeof(double)) {
            in_[gone] = 0;
            weight[gone] = 0;
            if (opelda::stopped() || !model()) return false;
            aim(true);
            return true;
        }
        work_.template add<T>(size * size);
        T* row = matrix_ + gone * side_;
        const T inverse = T(1) / row[gone], away = best_[gone] * inverse;
        each([&](int64_t v) {
            const V column = load(row + v);
            store(best_ + v, load(best_ + v) - away * column);
            store(factor_ + v, column * inverse);
        });
        for (int64_t i = 0; i < size; ++i) {
            if (in_[i] == 0 || i == gone) continue;
            T* other = matrix_ + i * side_;
            each(
                [&](int64_t v) { store(other + v, load(other + v) - factor_[i] * load(row + v)); });
        }
        in_[gone] = 0;
        weight[gone] = best_[gone] = 0;
        return true;
    }

    T *before_, *best_;  // per topic: w before the step, w at the model's maximum
    T* factor_;          // per topic: what rows are multiplied by
};

}  // namespace OPELDA_ISA

// A symmetric matrix of a face's topics, and its inverse.
#pragma once

#include "exact_columns.hpp"

namespace OPELDA_ISA {

template <class T> class Inverse : public Columns<T> {
    using Base = Columns<T>;

public:
    using Base::Base, Base::kWide, Base::size;
    using typename Base::V, typename Base::Whole;

    void allocate(Arena& arena, int64_t max_words, int64_t most) {
        Base::allocate(arena, max_words, most);
        for (T** per_topic : {&more_, &in_}) *per_topic = arena.array<T>(most_);
        matrix_ = arena.array<T>(most_ * most_);
        pivots_ = arena.array<T>(kPivots * most_);
    }

protected:
    using Base::most_, Base::vectors;

    // Replaces the matrix, plus the addition to its diagonal, by the inverse; false on failure.
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
                return sweep_blocks();
        }
    }

    // In-place Gauss-Jordan elimination with W vectors a row.
    template <int W> bool sweep() {
        for (int64_t k = 0; k < size; ++k)
            if (in_[k] > 0 && !pivot_on<W>(k, 0, size)) return false;
        return true;
    }

    // The same for any number of vectors, with blocks of kPivots pivots: a large matrix is read and
    // written once per block. Each element has the same operations in the same order, so the result
    // is the same to the last bit.
    bool sweep_blocks() {
        const int64_t n = side_;
        for (int64_t first = 0; first < size; first += kPivots) {
            const int64_t end = first + kPivots < size ? first + kPivots : size;
            for (int64_t k = first; k < end; ++k) {  // sequentially within the block
                T* kept = pivots_ + (k - first) * n;
                if (in_[k] > 0 && !pivot_on<0>(k, first, end)) return false;
                for (int64_t v = 0; v < n; v += kWide)
                    store(kept + v, in_[k] > 0 ? load(matrix_ + k * n + v) : V{});
            }
            for (int64_t k = end; k < first + kPivots; ++k)
                std::memset(pivots_ + (k - first) * n, 0, sizeof(T) * n);
            T* rows[kAtOnce];
            int n_rows = 0;
            for (int64_t i = 0; i < size; ++i) {  // rows of dropped topics are 0
                if (in_[i] > 0 && (i < first || i >= end)) rows[n_rows++] = matrix_ + i * n;
                if (n_rows == kAtOnce) eliminate<kAtOnce>(rows, first), n_rows = 0;
            }
            for (int i = 0; i < n_rows; ++i) eliminate<1>(rows + i, first);
        }
        return true;
    }

    // Eliminates the stored pivots, from `first` on, from some rows.
    template <int Rows> OPELDA_INLINE void eliminate(T* const* rows, int64_t first) {
        const int64_t last = first + kPivots < side_ ? first + kPivots : side_;
        T by[kPivots][Rows] = {};
        for (int r = 0; r < Rows; ++r) {  // the pivots' columns hold the inverse
            for (int64_t k = first; k < last; ++k) {
                const T* pivots = pivots_ + (k - first) * side_;
                const bool some = k < size && in_[k] > 0;
                by[k - first][r] = some ? rows[r][k] : T(0);
                for (int64_t v = first; v < last && some; v += kWide)
                    store(rows[r] + v, at_place(v / kWide, k, V{}, load(rows[r] + v)) -
                                           by[k - first][r] * load(pivots + v));
            }
        }
        const auto range = [&](int64_t v, int64_t end) {
            for (; v < end; v += kWide) {
                V row[Rows];
                for (int r = 0; r < Rows; ++r) row[r] = load(rows[r] + v);
                for (int k = 0; k < kPivots; ++k) {
                    const V pivots = load(pivots_ + k * side_ + v);
                    for (int r = 0; r < Rows; ++r) row[r] = row[r] - by[k][r] * pivots;
                }
                for (int r = 0; r < Rows; ++r) store(rows[r] + v, row[r]);
            }
        };
        range(0, first);
        range(last, side_);
    }

    // Uses k as a pivot and eliminates it from rows `first` to `end`; false if the pivot is not
    // positive. Elements are never written individually: a vector load soon afterwards would stall.
    template <int W> OPELDA_INLINE bool pivot_on(int64_t k, int64_t first, int64_t end) {
        const int64_t n = W ? W : vectors();
        T* pivots = matrix_ + k * side_;
        const T pivot = pivots[k] + more_[k];
        if (!(pivot > 0)) return false;
        const T inverse = T(1) / pivot;
        for (int64_t v = 0; v < n; ++v)
            store(pivots + v * kWide,
                  at_place(v, k, broadcast(T(1)), load(pivots + v * kWide)) * inverse);
        for (int64_t i = first; i < end; ++i) {
            if (i == k) continue;
            T* row = matrix_ + i * side_;
            const T by = row[k];
            for (int64_t v = 0; v < n; ++v)
                store(row + v * kWide,
                      at_place(v, k, V{}, load(row + v * kWide)) - by * load(pivots + v * kWide));
        }
        return true;
    }

    // Vector number v of a row: `rest`, with `there` at index k.
    static OPELDA_INLINE V at_place(int64_t v, int64_t k, V there, V rest) {
        return FaceNumbers<T>::places() == Whole(k - v * kWide) ? there : rest;
    }

    static constexpr int kPivots = kWide > 8 ? kWide : 8, kAtOnce = 4;  // rows

    int64_t side_ = 0;
    T *more_,
        *in_;    // per topic: addition to the diagonal; 0 for topics fixed at 0, else 1
    T* matrix_;  // side_ x side_
    T* pivots_;  // kPivots x side_: rows of the matrix
};

}  // namespace OPELDA_ISA

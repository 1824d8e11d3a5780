// A few topics of a document: packed weights, their mixture, and its slopes.
//
// With the words' probabilities x_j = sum_i w_i B_ji and part_j the word's fraction of the
// document, G_i = sum_j part_j B_ji / x_j. Each topic's B is a column, so adding or dropping a
// topic does not move other columns; B is divided by the words' means, which leaves G unchanged and
// keeps x within range.
#pragma once

#include <cmath>

#include "checked.hpp"
#include "document.hpp"

namespace OPELDA_ISA {

// floor: minimum x; its square is a normal number of the type. unit: of rounding. ridge: relative
// increase of the diagonal of H; that of doubles is the smallest with which every document was
// certified at 1e-6 nats (with a smaller value 12 of a million were not: benchmarks/README.md,
// guarantee.py). noise: a rise of F explained by rounding.
template <class T> struct FaceNumbers;
template <> struct FaceNumbers<float> {
    using V = vf;
    using I = vi;
    using Whole = int32_t;
    static OPELDA_INLINE I places() { return load(kNumbers); }
    static constexpr float floor = 1e-15f;
    static constexpr float unit = 0x1p-24f;
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
    static constexpr double unit = 0x1p-53;
    static constexpr double ridge = 1e-7, noise = 1e-14;
};

// Remaining multiply-adds of a document; doubles count twice. Counting work instead of time makes a
// document's mixture and bound independent of machine load, threads and neighbouring documents.
class Work {
public:
    void open(int64_t most) { left_ = most; }
    template <class T> void add(int64_t n) { left_ -= weighed<T>(n); }
    template <class T> bool allows(int64_t n) const { return weighed<T>(n) <= left_; }
    bool spent() const { return left_ <= 0; }
    void end() { left_ = 0; }

private:
    template <class T> static int64_t weighed(int64_t n) {
        return n * int64_t(sizeof(T) / sizeof(float));
    }
    int64_t left_ = 0;
};

constexpr int64_t kMostPacked = int64_t(1) << 26;  // weights of a face
constexpr int64_t kLeastTopics = 32;               // minimum room, for documents of any length
constexpr double kAboveFloor = 1.001;  // below this multiple, x may have been raised to the floor
constexpr int kGrowthRoundings = 16;   // of a ratio's growth: more than its divisions cause

template <class T> class Columns {
public:
    using V = typename FaceNumbers<T>::V;
    using Whole = typename FaceNumbers<T>::Whole;
    static constexpr int kWide = sizeof(V) / sizeof(T);

    int64_t size = 0;  // topics
    int32_t* topic;
    T *weight, *slope;  // per topic: w_i, a mixture after `evaluate`, and G_i
    T* ratio;           // per word: part_j / x_j

    void allocate(Arena& arena, int64_t max_words, int64_t most) {
        most_ = padded(most);
        const int64_t words = padded(max_words);
        const int64_t fewest = (most_ < kLeastTopics ? most_ : kLeastTopics) * words;
        const int64_t all = most_ * words < kMostPacked ? most_ * words : kMostPacked;
        topic = arena.array<int32_t>(most_);
        for (T** per_topic : {&weight, &slope}) *per_topic = arena.array<T>(most_);
        for (T** per_word : {&ratio, &then_, &curve_, &part_, &scale_})
            *per_word = arena.array<T>(padded(max_words));
        column_ = arena.array<T*>(most_);
        free_ = arena.array<T*>(most_);
        packed_ = arena.array<T>(fewest > all ? fewest : all);
    }

    explicit Columns(Work& work) : work_(work) {}

    // The number of topics that fit; depends on the document alone.
    int64_t room() const {
        const int64_t fit = kMostPacked / words_, most = fit > kLeastTopics ? fit : kLeastTopics;
        return most < most_ ? most : most_;
    }
    bool full() const { return size >= room(); }

    // Takes a document and its words' means; starts without topics.
    void open(const Document& document, const float* means) {
        doc_ = &document;
        size = made_ = n_free_ = 0;
        last_ = 0;
        words_ = (document.n + kWide - 1) / kWide * kWide;
        const T all = T(1 / document.tokens);
        for (int64_t j = 0; j < document.n_padded; ++j) {
            part_[j] = T(document.count[j]) * all;
            scale_[j] = T(1) / T(means[j]);
        }
    }

    // Adds a topic; `pack` follows.
    void add(int32_t k, T first_weight) {
        OPELDA_ASSERT(size < most_);
        topic[size] = k;
        weight[size] = first_weight;
        column_[size] = n_free_ ? free_[--n_free_] : packed_ + made_++ * words_;
        ++size;
    }

    // Packs the columns of the topics from `first` on. Padding may hold any finite numbers.
    void pack(int64_t first) {
        OPELDA_ASSERT(size <= room());
        last_ = 0;
        const int64_t end = doc_->n - 1;
        work_.template add<T>(doc_->n * (size - first));
        for (int64_t j = 0; j < words_; j += kWide) {
            const float* row[kWide];
            for (int l = 0; l < kWide; ++l) row[l] = doc_->row[j + l < end ? j + l : end];
            const V scale = load(scale_ + j);
            for (int64_t i = first; i < size; ++i) {
                const int64_t k = topic[i];
                V v;
                for (int l = 0; l < kWide; ++l) v[l] = row[l][k];
                store(column_[i] + j, v * scale);
            }
        }
    }

    // Drops the topics that `gone` selects; the last topics replace them.
    template <class Gone> void drop(Gone gone) {
        for (int64_t i = 0; i < size;) {
            if (!gone(i)) {
                ++i;
                continue;
            }
            last_ = 0;
            const int64_t end = --size;
            free_[n_free_++] = column_[i];
            topic[i] = topic[end], weight[i] = weight[end], slope[i] = slope[end];
            column_[i] = column_[end];
        }
    }

    // Drops topics without weight permanently.
    void keep_positive() {
        int64_t kept = 0;
        for (int64_t i = 0; i < size; ++i) {
            topic[kept] = topic[i], weight[kept] = weight[i];
            kept += weight[i] > 0;
        }
        size = kept;
    }

    // Whether a word's probability is 0 or was raised to the floor. Slopes are meaningless until
    // all words have a positive probability.
    bool impossible(int64_t j) const {
        return !(part_[j] / ratio[j] > T(kAboveFloor) * FaceNumbers<T>::floor);
    }
    bool any_impossible() const {
        int64_t n = 0;
        for (int64_t j = 0; j < doc_->n; ++j) n += impossible(j);
        return n > 0;
    }

    // Makes the weights a mixture, and computes the words' probabilities and the slopes.
    void evaluate() {
        const int64_t n = vectors() * kWide;
        for (int64_t i = size; i < n; ++i) column_[i] = column_[0];
        work_.template add<T>(2 * doc_->n * size);
        V all = {};
        each([&](int64_t i) { all += topics_only(i, load(weight + i)); });
        const T inverse = T(1) / sum(all);
        each([&](int64_t i) { store(weight + i, topics_only(i, load(weight + i)) * inverse); });
        int64_t j = 0;
        for (; j + 8 * kWide <= words_; j += 8 * kWide) explain<8>(j);
        explain_rest<7>(j, (words_ - j) / kWide);
        V top = {};
        int64_t i = 0;
        for (; i + kGroup * kWide <= n; i += kGroup * kWide) climb<kGroup>(i, top);
        climb_rest<kGroup - 1>(i, (n - i) / kWide, top);
        top_ = largest(top);
    }

    T steepest() const { return top_; }

    // Stores the ratios for `growth`.
    void remember() {
        for (int64_t j = 0; j < words_; j += kWide) store(then_ + j, load(ratio + j));
    }

    // Upper bound, rounded up, of the growth of any ratio since `remember`.
    T growth() const {
        V top = {};
        for (int64_t j = 0; j < words_; j += kWide)  // padding has 0 / 0
            top = max(load(ratio + j) / load(then_ + j), top);
        return largest(top) * (1 + kGrowthRoundings * FaceNumbers<T>::unit);
    }

    // An EM step of double length.
    void leap() {
        each([&](int64_t i) {
            const V g = load(slope + i);
            store(weight + i, load(weight + i) * g * g);
        });
        evaluate();
    }

    // sum_j part_j log x_j, the words' probabilities relative to their means.
    double log_likelihood() const {
        double total = 0;
        for (int64_t j = 0; j < doc_->n; ++j) {
            double x = 0;
            for (int64_t i = 0; i < size; ++i) x += double(weight[i]) * double(column_[i][j]);
            total += double(part_[j]) * std::log(x);
        }
        return total;
    }

    // Factors that convert `ratio` to the scale of the unscaled rows.
    const T* scale() const { return scale_; }

protected:
    static constexpr int kGroup = kTile / kWide / 2 > 1 ? kTile / kWide / 2 : 1;

    int64_t vectors() const { return (size + kWide - 1) / kWide; }

    template <class Body> OPELDA_INLINE void each(const Body& body) const {
        for (int64_t i = 0; i < vectors() * kWide; i += kWide) body(i);
    }

    // The vector of the topics from i on, 0 beyond the last.
    OPELDA_INLINE V topics_only(int64_t i, V v) const {
        return FaceNumbers<T>::places() < Whole(size - i) ? v : V{};
    }

    // x_j = sum_i w_i B_ji for B vectors of words, and derived values
    template <int B> OPELDA_INLINE void explain(int64_t j) {
        V x[B] = {};
        for (int64_t i = 0; i < size; ++i) {
            const T* column = column_[i] + j;
            const V w = broadcast(weight[i]);
            for (int b = 0; b < B; ++b) x[b] += w * load(column + b * kWide);
        }
        for (int b = 0; b < B; ++b, j += kWide) {
            const V inverse = T(1) / max(x[b], broadcast(FaceNumbers<T>::floor));
            const V r = load(part_ + j) * inverse;
            store(ratio + j, r);
            store(curve_ + j, r * inverse);
        }
    }
    template <int B> OPELDA_INLINE void explain_rest(int64_t j, int64_t rest) {
        if (rest == B) return explain<B>(j);
        if constexpr (B > 1) explain_rest<B - 1>(j, rest);
    }

    // G_i = sum_j part_j B_ji / x_j for Q vectors of topics
    template <int Q> OPELDA_INLINE void climb(int64_t at, V& top) {
        V acc[Q * kWide] = {};
        T* const* column = column_ + at;
        int64_t j = 0;
        do {
            const V r = load(ratio + j);
            for (int i = 0; i < Q * kWide; ++i) acc[i] += r * load(column[i] + j);
        } while ((j += kWide) < words_);
        for (int q = 0; q < Q; ++q, at += kWide) {
            const V g = topics_only(at, sums(acc + q * kWide));
            top = max(top, g);
            store(slope + at, g);
        }
    }
    template <int Q> OPELDA_INLINE void climb_rest(int64_t at, int64_t rest, V& top) {
        if constexpr (Q > 0) {
            if (rest == Q) return climb<Q>(at, top);
            climb_rest<Q - 1>(at, rest, top);
        }
    }

    Work& work_;
    const Document* doc_ = nullptr;
    int64_t most_ = 0;
    int64_t words_ = 0;              // of a column, padded
    int64_t made_ = 0, n_free_ = 0;  // columns of `packed_` used before, and free again
    T top_ = 0;                      // the largest slope
    T last_ = 0;           // distance to the maximum before the last step; 0 after topics joined
    T *then_, *curve_;     // per word: an earlier ratio, part_j / x_j^2
    T *part_, *scale_;     // per word: d_j / N, 1 / mean
    T **column_, **free_;  // per topic: its column; free columns
    T* packed_;
};

}  // namespace OPELDA_ISA

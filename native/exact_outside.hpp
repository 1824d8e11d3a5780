// The topics outside a face: their slopes, and which topics should join.
#pragma once

#include <cmath>

#include "checked.hpp"
#include "em_choice.hpp"
#include "exact_face.hpp"

namespace OPELDA_ISA {

constexpr float kLowSlope = 0.6f;  // too low to matter before the next gradient
// Maximum number of topics whose slopes are computed individually: kFewChosen, and one in kOneIn of
// all. Beyond that, one gradient over all topics is cheaper. (Reusing bounds reduced inference from
// 14.3 to 13.3 us a document at K = 100, from 109 to 82 at K = 1000: benchmarks/README.md,
// guarantee.py.)
constexpr int64_t kFewChosen = 4, kOneIn = 16;

template <class T> class Outside {
public:
    T *score, *ratio;  // per topic: G_k at the last gradient; per word: part_j / x_j for the rows
    int32_t* chosen;
    T* slope;  // of the chosen
    int64_t n_chosen = 0;

    Outside(const Problem& p, Work& work) : p(p), work(work) {}

    void allocate(Arena& arena) {
        for (T** per_topic : {&score, &slope}) *per_topic = arena.array<T>(p.stride);
        ratio = arena.array<T>(padded(p.max_words));
        chosen = arena.array<int32_t>(p.stride + 1);
        steep = arena.array<int32_t>(p.stride + 1);
    }

    // Computes slopes of topics outside the face, or upper bounds that are at most `limit`: between
    // two mixtures a slope grows by at most the largest growth of part_j / x_j, so slopes of an
    // earlier mixture suffice for most topics. Returns the highest; topics above `limit` are in
    // `chosen`.
    T look(Face<T>& on, const Document& doc, T limit, bool anew) {
        if (!anew) {
            check();
            const T growth = on.growth();
            n_chosen = 0;
            if (growth * highest <= limit) return growth * highest;
            if (growth * T(kLowSlope) <= limit) {
                choose(limit / growth);
                if (n_chosen <= kFewChosen + p.stride / kOneIn)
                    return look_at_chosen(on, doc, limit);
            }
        }
        look_at_all(on, doc);
        choose(limit);
        for (int64_t i = 0; i < n_chosen; ++i) slope[i] = score[chosen[i]];
        return highest;
    }

    // Adds a topic to the face, or removes it.
    void join(int32_t k) {
        OPELDA_ASSERT(!std::signbit(score[k]));
        score[k] = -score[k];
    }
    void leave(int32_t k) {
        OPELDA_ASSERT(std::signbit(score[k]));
        score[k] = -score[k];
        if (score[k] > highest) highest = score[k];
    }

private:
    // No topic outside of the face is higher than `highest`; the face's have negative scores.
    void check() const {
        for (int64_t k = 0; k < p.n_topics; ++k) OPELDA_ASSERT(!(score[k] > highest));
    }

    // Keeps the slopes above `limit`, and returns the highest slope or `limit`.
    T look_at_chosen(const Face<T>& on, const Document& doc, T limit) {
        by_row(on, doc);
        work.add<T>(doc.n * n_chosen);
        T top = limit;
        int64_t kept = 0;
        for (int64_t i = 0; i < n_chosen; ++i) {
            const int64_t k = chosen[i];
            T acc[4] = {};
            int64_t j = 0;
            for (; j + 4 <= doc.n; j += 4)
                for (int l = 0; l < 4; ++l) acc[l] += ratio[j + l] * doc.row[j + l][k];
            for (; j < doc.n; ++j) acc[0] += ratio[j] * doc.row[j][k];
            const T g = acc[0] + acc[1] + (acc[2] + acc[3]);
            if (g > top) top = g;
            slope[kept] = g;
            chosen[kept] = int32_t(k);
            kept += g > limit;
        }
        n_chosen = kept;
        return top;
    }

    // Computes the gradient. The face's topics get negative slopes as a mark.
    void look_at_all(Face<T>& on, const Document& doc) {
        gradient(on, doc);
        on.remember();
        find_steep();
        for (int64_t i = 0; i < on.size; ++i) score[on.topic[i]] = -score[on.topic[i]];
        typename Face<T>::V top = {};
        for (int64_t k = 0; k < p.stride; k += Face<T>::kWide) top = max(top, load(score + k));
        highest = largest(top);
    }

    // Chooses the topics with slopes above `limit`, which is at least kLowSlope.
    void choose(T limit) {
        n_chosen = 0;
        for (int64_t i = 0; i < n_steep; ++i) {
            chosen[n_chosen] = steep[i];
            n_chosen += score[steep[i]] > limit;
        }
    }

    // Finds the topics with slopes above kLowSlope.
    void find_steep() {
        n_steep = 0;
        for (int64_t block = 0; block < p.stride; block += kPad) {
            auto above = load(score + block) > T(kLowSlope);
            for (int64_t k = Face<T>::kWide; k < kPad; k += Face<T>::kWide)
                above |= load(score + block + k) > T(kLowSlope);
            if (!any(above)) continue;
            for (int64_t k = block; k < block + kPad; ++k) {
                steep[n_steep] = int32_t(k);
                n_steep += score[k] > T(kLowSlope);
            }
        }
    }

    void gradient(const Face<T>& on, const Document& doc) {
        by_row(on, doc);
        work.add<T>(doc.n * p.n_topics);
        if constexpr (sizeof(T) == sizeof(float)) {
            add_rows(doc.n, doc.row, ratio, p.stride, 1.0f, score);
        } else {
            std::memset(score, 0, sizeof(T) * p.stride);
            for (int64_t j = 0; j < doc.n; ++j)
                for (int64_t k = 0; k < p.stride; ++k) score[k] += ratio[j] * doc.row[j][k];
        }
    }

    // Scales the words' ratios for the unscaled rows.
    void by_row(const Face<T>& on, const Document& doc) {
        for (int64_t j = 0; j < doc.n; j += Face<T>::kWide)
            store(ratio + j, load(on.ratio + j) * load(on.scale() + j));
    }

    const Problem& p;
    Work& work;
    T highest = 0;   // of the scores outside of the face
    int32_t* steep;  // topics whose slope exceeded kLowSlope
    int64_t n_steep = 0;
};

}  // namespace OPELDA_ISA

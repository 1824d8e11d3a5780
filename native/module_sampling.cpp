// The part of the Python module that draws tokens' topics and counts them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "kernels.hpp"
#include "mixing.hpp"

namespace opelda {
namespace {

// of the sum of four uniform numbers of 16 bits, so that its standard deviation is a tenth
constexpr double kTenth = 0.1 / 37837.22723720648;  // sqrt(4 (2^32 - 1) / 12)

constexpr int64_t kBetweenLooks = 1 << 16;  // entries between two looks for a signal

// A number per document that depends on its words and counts, in whatever order, and on nothing
// else.
nb::object content_keys(In<int64_t, 1> indptr, In<int32_t, 1> words, In<float, 1> counts,
                        MaybeIn<int32_t, 1> ids, int n_threads) {
    const int64_t n_docs = int64_t(indptr.shape(0)) - 1;
    uint64_t* keys;
    auto array = numpy_array<uint64_t>(size_t(n_docs), &keys);
    {
        const Released released;
        run_ranges(n_docs, n_threads, [&](Queue& queue) {
            int64_t begin, end;
            while (take(queue, begin, end))
                for (int64_t d = begin; d < end; ++d) {
                    uint64_t total = 0;
                    for (int64_t at = indptr.data()[d]; at < indptr.data()[d + 1]; ++at) {
                        const int32_t word = words.data()[at];
                        const uint64_t id = uint32_t(ids ? ids->data()[word] : word);
                        total +=
                            mix((id << 32 | std::bit_cast<uint32_t>(counts.data()[at])) + kGolden);
                    }
                    keys[d] = total;
                }
        });
    }
    return nb::cast(array);
}

void resample(In<float, 2> rows, int64_t n_topics, In<int64_t, 1> indptr, In<int32_t, 1> words,
              In<float, 1> counts, In<int64_t, 1> first_token, Out<uint16_t, 1> z, bool fresh,
              int64_t n_sweeps, In<float, 1> alpha, In<float, 1> inverse, In<uint64_t, 1> keys,
              uint64_t seed, int n_threads) {
    const int64_t n_words = int64_t(rows.shape(0));
    std::vector<float> prior(static_cast<size_t>(n_words));
    const Resampling r = {.rows = rows.data(),
                          .stride = int64_t(rows.shape(1)),
                          .n_topics = n_topics,
                          .indptr = indptr.data(),
                          .words = words.data(),
                          .counts = counts.data(),
                          .n_docs = int64_t(indptr.shape(0)) - 1,
                          .first_token = first_token.data(),
                          .z = z.data(),
                          .fresh = fresh,
                          .n_sweeps = n_sweeps,
                          .alpha = alpha.data(),
                          .inverse = inverse.data(),
                          .keys = keys.data(),
                          .seed = mix(seed + kGolden),
                          .prior = prior.data()};
    const Released released;
    run_ranges(n_words, n_threads, [&](Queue& queue) { best_kernels().prior_masses(r, queue); });
    run_ranges(r.n_docs, n_threads, [&](Queue& queue) { best_kernels().resample(r, queue); });
}

// Adds the weights of the tokens of each word in each topic to `cells`, in units of 2^-shift: sums
// of whole numbers, which do not depend on the order. Every thread goes through all tokens and adds
// those of its own words.
template <class Cell>
void count_topics(In<int32_t, 1> words, In<float, 1> counts, In<uint16_t, 1> z, Out<Cell, 2> cells,
                  int shift, int n_threads) {
    const int64_t n = int64_t(words.shape(0)), stride = int64_t(cells.shape(1));
    const int parts = std::max(n_threads, 1);
    const double unit = std::ldexp(1.0, shift);
    const Released released;
    run_parts(parts, [&](int part) {
        const uint16_t* topic = z.data();
        for (int64_t at = 0; at < n; ++at) {
            if (at % kBetweenLooks == 0 && stopped()) return;
            const float count = counts.data()[at];
            const int64_t n_tokens = tokens_of(count);
            const uint32_t word = uint32_t(words.data()[at]);
            if (int((uint64_t(word * 2654435761u) * uint64_t(parts)) >> 32) == part) {
                const Cell weight = Cell(double(count) / double(n_tokens) * unit + 0.5);
                Cell* row = cells.data() + int64_t(word) * stride;
                for (int64_t i = 0; i < n_tokens; ++i) row[topic[i]] += weight;
            }
            topic += n_tokens;
        }
    });
}

// The counts as weights, row by row, and their sums per topic in whole numbers. `rows` may be the
// memory of the cells.
template <class Cell>
void as_weights(In<Cell, 2> cells, Out<float, 2> rows, Out<int64_t, 1> sums, int shift,
                int n_threads) {
    const int64_t n_words = int64_t(cells.shape(0)), stride = int64_t(cells.shape(1));
    const int64_t n_topics = int64_t(sums.shape(0));
    const double unit = std::ldexp(1.0, -shift);
    const auto* from = reinterpret_cast<const unsigned char*>(cells.data());
    auto* to = reinterpret_cast<unsigned char*>(rows.data());
    const int parts = std::max(n_threads, 1);
    std::vector<std::vector<int64_t>> totals(static_cast<size_t>(parts),
                                             std::vector<int64_t>(static_cast<size_t>(stride)));
    const Released released;
    run_parts(parts, [&](int part) {
        int64_t* total = totals[size_t(part)].data();
        std::vector<Cell> row(static_cast<size_t>(stride));
        std::vector<float> weights(static_cast<size_t>(stride));
        for (int64_t j = n_words * part / parts; j < n_words * (part + 1) / parts; ++j) {
            // through copies: the same bytes are whole numbers here and weights there
            std::memcpy(row.data(), from + j * stride * int64_t(sizeof(Cell)),
                        size_t(stride) * sizeof(Cell));
            for (int64_t k = 0; k < stride; ++k) {
                total[k] += row[k];
                weights[k] = float(double(row[k]) * unit);
            }
            std::memcpy(to + j * stride * int64_t(sizeof(float)), weights.data(),
                        size_t(stride) * sizeof(float));
        }
    });
    for (int64_t k = 0; k < n_topics; ++k) {
        sums.data()[k] = 0;
        for (const auto& total : totals) sums.data()[k] += total[size_t(k)];
    }
}

// Weights of 1 give or take a tenth: the sum of the four quarters of a random number, which is
// nearly normal. Each belongs to a word and a topic, whatever the number of either.
void random_start(Out<float, 2> rows, int64_t n_topics, uint64_t seed, int n_threads) {
    const int64_t stride = int64_t(rows.shape(1));
    const uint64_t key = mix(seed + kGolden);
    const Released released;
    run_ranges(int64_t(rows.shape(0)), n_threads, [&](Queue& queue) {
        int64_t begin, end;
        while (take(queue, begin, end))
            for (int64_t j = begin; j < end; ++j) {
                const uint64_t word = mix(key + uint64_t(j + 1) * kGolden);
                float* row = rows.data() + j * stride;
                for (int64_t k = 0; k < n_topics; ++k) {
                    const uint64_t bits = mix(word + uint64_t(k + 1) * kGolden);
                    const uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) +
                                         (bits >> 32 & 0xffff) + (bits >> 48);
                    row[k] = float(1.0 + (double(sum) - 131070.0) * kTenth);
                }
                for (int64_t k = n_topics; k < stride; ++k) row[k] = 0;
            }
    });
}

}  // namespace

void add_sampling(nb::module_& m) {
    m.def("content_keys", &content_keys, "indptr"_a, "words"_a, "counts"_a, "ids"_a.none(),
          nb::kw_only(), "n_threads"_a);
    m.def("resample", &resample, "rows"_a, nb::kw_only(), "n_topics"_a, "indptr"_a, "words"_a,
          "counts"_a, "first_token"_a, "z"_a, "fresh"_a, "n_sweeps"_a, "alpha"_a, "inverse"_a,
          "keys"_a, "seed"_a, "n_threads"_a);
    m.def("random_start", &random_start, "rows"_a, nb::kw_only(), "n_topics"_a, "seed"_a,
          "n_threads"_a);
    const auto add_counting = [&]<class Cell>(Cell) {
        m.def("count_topics", &count_topics<Cell>, "words"_a, "counts"_a, "z"_a, "cells"_a,
              nb::kw_only(), "shift"_a, "n_threads"_a);
        m.def("as_weights", &as_weights<Cell>, "cells"_a, "rows"_a, "sums"_a, nb::kw_only(),
              "shift"_a, "n_threads"_a);
    };
    add_counting(int32_t{});
    add_counting(int64_t{});
}

}  // namespace opelda

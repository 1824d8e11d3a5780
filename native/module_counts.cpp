// The part of the Python module that counts tokens by word and topic, and makes topics of counts.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "kernels.hpp"

namespace opelda {
namespace {

constexpr int64_t kCells = 1 << 15;  // counted at a time, in the second cache

// A collection's tokens, as Sweep has them.
struct Drawn {
    const int64_t* block_runs;
    int64_t n_blocks;
    const int32_t* run_words;
    const int64_t* run_starts;
    const uint8_t* run_alike;  // none: all tokens weigh 1
    const int64_t* units;
    const uint16_t* z;
    int64_t n_topics;
    int shift;
};

// The topics of some words and how much each has, word by word.
struct Counts {
    std::vector<int64_t> ends;
    std::vector<int32_t> topics;
    std::vector<int64_t> cells;
};

// Counts the tokens of the words from `begin` to `end` in all blocks. Sums of whole numbers do not
// depend on the order.
void count_words(const Drawn& d, int64_t begin, int64_t end, std::vector<int64_t>& cells,
                 Counts& out) {
    const int64_t one = d.shift < 0 ? 0 : int64_t(1) << d.shift;
    for (int64_t b = 0; b < d.n_blocks; ++b) {
        const int32_t* last = d.run_words + d.block_runs[b + 1];
        const int32_t* run = std::lower_bound(d.run_words + d.block_runs[b], last, int32_t(begin));
        for (; run < last && *run < end; ++run) {
            const int64_t number = run - d.run_words;
            int64_t* row = cells.data() + (*run - begin) * d.n_topics;
            const int64_t stop = d.run_starts[number + 1];
            if (!d.run_alike || d.run_alike[number])
                for (int64_t i = d.run_starts[number]; i < stop; ++i) row[d.z[i]] += one;
            else
                for (int64_t i = d.run_starts[number]; i < stop; ++i) row[d.z[i]] += d.units[i];
        }
    }
    for (int64_t j = begin; j < end; ++j) {
        int64_t* row = cells.data() + (j - begin) * d.n_topics;
        for (int64_t k = 0; k < d.n_topics; ++k) {
            // most are zero where topics are many
            while (k + 4 <= d.n_topics && !(row[k] | row[k + 1] | row[k + 2] | row[k + 3])) k += 4;
            if (k == d.n_topics || row[k] == 0) continue;
            out.topics.push_back(int32_t(k));
            out.cells.push_back(row[k]);
            row[k] = 0;
        }
        out.ends.push_back(int64_t(out.topics.size()));
    }
}

// The weights of the tokens of each word in each topic, in units of 2^-shift, as a sparse matrix:
// where each row begins, its topics, ascending, and how much each has.
nb::tuple count_tokens(In<int64_t, 1> block_runs, In<int32_t, 1> run_words,
                       In<int64_t, 1> run_starts, MaybeIn<uint8_t, 1> run_alike,
                       MaybeIn<int64_t, 1> units, In<uint16_t, 1> z, int64_t n_words,
                       int64_t n_topics, int shift, int n_threads) {
    const Drawn d = {.block_runs = block_runs.data(),
                     .n_blocks = int64_t(block_runs.shape(0)) - 1,
                     .run_words = run_words.data(),
                     .run_starts = run_starts.data(),
                     .run_alike = pointer(run_alike),
                     .units = pointer(units),
                     .z = z.data(),
                     .n_topics = n_topics,
                     .shift = shift};
    const int64_t at_once = std::max<int64_t>(1, kCells / n_topics);
    const int64_t n_parts = (n_words + at_once - 1) / at_once;
    std::vector<Counts> parts(static_cast<size_t>(n_parts));
    {
        const Released released;
        const auto work = [&](Queue& queue) {
            std::vector<int64_t> cells(size_t(at_once * n_topics));
            int64_t begin, end;
            while (take(queue, begin, end))
                for (int64_t p = begin; p < end; ++p)
                    count_words(d, p * at_once, std::min(n_words, (p + 1) * at_once), cells,
                                parts[size_t(p)]);
        };
        run_ranges(n_parts, n_threads, work, 4);
    }
    int64_t *starts, *cells;
    int32_t* topics;
    const auto starts_array = numpy_array<int64_t>(size_t(n_words) + 1, &starts);
    size_t n = 0, word = 0;
    starts[0] = 0;
    for (const Counts& part : parts) {
        for (const int64_t last : part.ends) starts[++word] = int64_t(n) + last;
        n += part.topics.size();
    }
    const auto topics_array = numpy_array<int32_t>(n, &topics);
    const auto cells_array = numpy_array<int64_t>(n, &cells);
    for (const Counts& part : parts) {
        topics = std::copy(part.topics.begin(), part.topics.end(), topics);
        cells = std::copy(part.cells.begin(), part.cells.end(), cells);
    }
    return nb::make_tuple(starts_array, topics_array, cells_array);
}

// Of counts: beta_kj = (lambda_kj + prior) inverse_k, and sum_k alpha_k beta_kj for every word,
// where `base_mass` is that of a word without tokens.
void count_rows(In<int64_t, 1> starts, In<int32_t, 1> topics, In<int64_t, 1> cells, int shift,
                float prior, In<float, 1> inverse, In<float, 1> alpha, double base_mass,
                Out<float, 1> values, Out<float, 1> masses, int n_threads) {
    const double unit = std::ldexp(1.0, -shift);
    const Released released;
    run_ranges(int64_t(masses.shape(0)), n_threads, [&](Queue& queue) {
        int64_t begin, end;
        while (take(queue, begin, end))
            for (int64_t j = begin; j < end; ++j) {
                double mass = base_mass;
                for (int64_t i = starts.data()[j]; i < starts.data()[j + 1]; ++i) {
                    const int32_t k = topics.data()[i];
                    const double weight = double(cells.data()[i]) * unit;
                    const double share = inverse.data()[k];
                    values.data()[i] = float((weight + double(prior)) * share);
                    mass += double(alpha.data()[k]) * weight * share;
                }
                masses.data()[j] = float(mass);
            }
    });
}

// rows_jk += factor * cells_jk.
void add_to_rows(Out<float, 2> rows, In<int64_t, 1> starts, In<int32_t, 1> topics,
                 In<int64_t, 1> cells, double factor, int n_threads) {
    const int64_t stride = int64_t(rows.shape(1));
    const nb::gil_scoped_release released;
    run_ranges(int64_t(starts.shape(0)) - 1, n_threads, [&](Queue& queue) {
        int64_t begin, end;
        while (take(queue, begin, end))
            for (int64_t j = begin; j < end; ++j)
                for (int64_t i = starts.data()[j]; i < starts.data()[j + 1]; ++i)
                    rows.data()[j * stride + topics.data()[i]] +=
                        float(factor * double(cells.data()[i]));
    });
}

}  // namespace

void add_counts(nb::module_& m) {
    m.def("count_tokens", &count_tokens, "block_runs"_a, "run_words"_a, "run_starts"_a,
          "run_alike"_a.none(), "units"_a.none(), "z"_a, nb::kw_only(), "n_words"_a, "n_topics"_a,
          "shift"_a, "n_threads"_a);
    m.def("count_rows", &count_rows, "starts"_a, "topics"_a, "cells"_a, nb::kw_only(), "shift"_a,
          "prior"_a, "inverse"_a, "alpha"_a, "base_mass"_a, "values"_a, "masses"_a, "n_threads"_a);
    m.def("add_counts", &add_to_rows, "rows"_a, "starts"_a, "topics"_a, "cells"_a, nb::kw_only(),
          "factor"_a, "n_threads"_a);
}

}  // namespace opelda

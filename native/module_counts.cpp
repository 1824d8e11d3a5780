// Token counts by word and topic in the Python module, and topics computed from counts.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "kernels.hpp"

namespace opelda {
namespace {

constexpr int64_t kWords = 256;  // counted by a thread at a time
constexpr int64_t kAhead = 256;  // tokens: a block's runs lie one after another

// A collection's tokens, as Sweep has them.
struct Drawn {
    const int64_t* block_runs;
    int64_t n_blocks;
    const int32_t* run_words;
    const int64_t* run_starts;
    const uint8_t* run_alike;  // null: all tokens weigh 1
    const int64_t* units;
    const uint16_t* z;
    int64_t n_topics;
    int shift;
};

// The topics of some words and their weights, word by word.
struct Counts {
    std::vector<int64_t> ends;
    std::vector<int32_t> topics;
    std::vector<int64_t> cells;
};

// Counts ascending words one by one. Sums of whole numbers do not depend on the order.
class WordCounter {
public:
    WordCounter(const Drawn& d, int64_t first_word)
        : d(d),
          whole((size_t(d.n_topics) / 64 + 1) * 64),
          parts(d.run_alike ? size_t(d.n_topics) : 0),
          found(size_t(d.n_topics) + 1),
          bits(size_t(d.n_topics) / 64 + 1),
          runs(size_t(d.n_blocks)) {
        for (int64_t b = 0; b < d.n_blocks; ++b) {
            const int32_t *begin = d.run_words + d.block_runs[b],
                          *end = d.run_words + d.block_runs[b + 1];
            runs[size_t(b)] = std::lower_bound(begin, end, int32_t(first_word)) - d.run_words;
        }
    }

    void count(int64_t word, Counts& out) {
        here.clear();
        int64_t n_tokens = 0;
        for (int64_t b = 0; b < d.n_blocks; ++b) {
            const int64_t run = runs[size_t(b)];
            if (run == d.block_runs[b + 1] || d.run_words[run] != word) continue;
            // (more streams than the hardware prefetcher follows)
            __builtin_prefetch(d.z + d.run_starts[run + 1] + kAhead);
            __builtin_prefetch(d.run_starts + run + kAhead / 16);
            __builtin_prefetch(d.run_words + run + kAhead / 8);
            here.push_back(run);
            n_tokens += d.run_starts[run + 1] - d.run_starts[run];
            ++runs[size_t(b)];
        }
        const bool few = n_tokens < d.n_topics;  // a scan of all topics would take longer
        for (const int64_t run : here)
            if (d.run_alike && !d.run_alike[run])
                add_parts(run);
            else
                few ? add_few(run) : add_many(run);
        few ? mark_found() : mark_all();
        collect(out);
    }

private:
    void add_many(int64_t run) {
        uint32_t* const cells = whole.data();
        for (int64_t i = d.run_starts[run]; i < d.run_starts[run + 1]; ++i) ++cells[d.z[i]];
    }
    // (branch-free, since new topics are unpredictable)
    void add_few(int64_t run) {
        uint32_t* const cells = whole.data();
        uint16_t* const list = found.data();
        size_t n = n_found;
        for (int64_t i = d.run_starts[run]; i < d.run_starts[run + 1]; ++i) {
            const uint16_t topic = d.z[i];
            list[n] = topic;
            n += cells[topic]++ == 0;
        }
        n_found = n;
    }
    void add_parts(int64_t run) {
        for (int64_t i = d.run_starts[run]; i < d.run_starts[run + 1]; ++i) {
            bits[d.z[i] / 64] |= uint64_t(1) << d.z[i] % 64;
            parts[d.z[i]] += d.units[i];
        }
        any_parts = true;
    }

    void mark_found() {
        for (size_t i = 0; i < n_found; ++i) bits[found[i] / 64] |= uint64_t(1) << found[i] % 64;
        n_found = 0;
    }
    void mark_all() {
        for (size_t place = 0; place < bits.size(); ++place)
            for (size_t k = 0; k < 64; ++k)
                bits[place] |= uint64_t(whole[64 * place + k] != 0) << k;
    }

    // Empties the cells in topic order.
    void collect(Counts& out) {
        const int64_t one = d.shift < 0 ? 0 : int64_t(1) << d.shift;
        for (size_t place = 0; place < bits.size(); ++place) {
            for (uint64_t left = bits[place]; left; left &= left - 1) {
                const size_t topic = 64 * place + size_t(__builtin_ctzll(left));
                int64_t cell = one * whole[topic];
                if (any_parts) cell += std::exchange(parts[topic], 0);
                whole[topic] = 0;
                if (cell == 0) continue;
                out.topics.push_back(int32_t(topic));
                out.cells.push_back(cell);
            }
            bits[place] = 0;
        }
        any_parts = false;
        out.ends.push_back(int64_t(out.topics.size()));
    }

    const Drawn& d;
    // Of each topic: number of tokens of weight 1, and total weight of other tokens.
    std::vector<uint32_t> whole;  // (z of 2^32 tokens of a word would take 8 GB)
    std::vector<int64_t> parts;
    std::vector<uint16_t> found;  // the topics with tokens of weight 1, in any order
    std::vector<uint64_t> bits;   // of topics: whether any token has it
    std::vector<int64_t> runs;    // of each block, the next
    std::vector<int64_t> here;    // the word's runs
    size_t n_found = 0;
    bool any_parts = false;
};

// The weights of the tokens of each word in each topic, in units of 2^-shift, as a sparse matrix:
// row offsets, ascending topics, and weights.
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
    const int64_t n_parts = (n_words + kWords - 1) / kWords;
    std::vector<Counts> parts(static_cast<size_t>(n_parts));
    {
        const Released released;
        const auto work = [&](Queue& queue) {
            int64_t begin, end;
            while (take(queue, begin, end))
                for (int64_t p = begin; p < end; ++p) {
                    WordCounter counter(d, p * kWords);
                    for (int64_t j = p * kWords; j < std::min(n_words, (p + 1) * kWords); ++j)
                        counter.count(j, parts[size_t(p)]);
                }
        };
        run_ranges(n_parts, n_threads, work, 1);
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

// From counts: beta_kj = (lambda_kj + prior) inverse_k, and sum_k alpha_k beta_kj for every word;
// `base_mass` is that sum for a word without tokens.
void count_rows(In<int64_t, 1> starts, In<int32_t, 1> topics, In<int64_t, 1> cells, int shift,
                float prior, In<float, 1> inverse, In<float, 2> alpha, In<double, 1> base_masses,
                Out<float, 1> values, Out<float, 2> masses, int n_threads) {
    const double unit = std::ldexp(1.0, -shift);
    const int64_t n_priors = int64_t(alpha.shape(0)), stride = int64_t(alpha.shape(1));
    std::vector<double> columns(static_cast<size_t>(n_priors * stride));  // alpha, transposed
    for (int64_t r = 0; r < n_priors; ++r)
        for (int64_t k = 0; k < stride; ++k)
            columns[size_t(k * n_priors + r)] = double(alpha.data()[r * stride + k]);
    const Released released;
    run_ranges(int64_t(masses.shape(0)), n_threads, [&](Queue& queue) {
        std::vector<double> mass(static_cast<size_t>(n_priors));
        int64_t begin, end;
        while (take(queue, begin, end))
            for (int64_t j = begin; j < end; ++j) {
                std::copy_n(base_masses.data(), n_priors, mass.data());
                for (int64_t i = starts.data()[j]; i < starts.data()[j + 1]; ++i) {
                    const int32_t k = topics.data()[i];
                    const double weight = double(cells.data()[i]) * unit;
                    const double share = inverse.data()[k];
                    values.data()[i] = float((weight + double(prior)) * share);
                    const double* const column = columns.data() + k * n_priors;
                    for (int64_t r = 0; r < n_priors; ++r)
                        mass[size_t(r)] += column[r] * weight * share;
                }
                std::copy_n(mass.data(), n_priors, masses.data() + j * n_priors);
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
          "prior"_a, "inverse"_a, "alpha"_a, "base_masses"_a, "values"_a, "masses"_a,
          "n_threads"_a);
    m.def("add_counts", &add_to_rows, "rows"_a, "starts"_a, "topics"_a, "cells"_a, nb::kw_only(),
          "factor"_a, "n_threads"_a);
}

}  // namespace opelda

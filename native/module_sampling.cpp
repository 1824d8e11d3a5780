// The part of the Python module that draws tokens' topics and counts them.
#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "threads.hpp"

namespace opelda {
namespace {

// Where each document's tokens begin; the last number is how many there are.
nb::object first_tokens(In<int64_t, 1> indptr, In<float, 1> counts) {
    const int64_t n_docs = int64_t(indptr.shape(0)) - 1;
    int64_t* first;
    auto array = numpy_array<int64_t>(size_t(n_docs) + 1, &first);
    first[0] = 0;
    for (int64_t d = 0; d < n_docs; ++d) {
        first[d + 1] = first[d];
        for (int64_t at = indptr.data()[d]; at < indptr.data()[d + 1]; ++at) first[d + 1] += tokens_of(counts.data()[at]);
    }
    return nb::cast(array);
}

void resample(In<float, 2> rows, int64_t n_topics, In<int64_t, 1> indptr, In<int32_t, 1> words, In<float, 1> counts,
              In<int64_t, 1> first_token, Out<uint16_t, 1> z, bool fresh, int64_t n_sweeps, In<float, 1> alpha,
              In<float, 1> inverse, uint64_t seed, int n_threads) {
    const int64_t n_words = int64_t(rows.shape(0));
    std::vector<float> prior(static_cast<size_t>(n_words));
    const Resampling r = {rows.data(),   int64_t(rows.shape(1)), n_topics,
                          indptr.data(), words.data(),           counts.data(),
                          int64_t(indptr.shape(0)) - 1,          first_token.data(),
                          z.data(),      fresh,                  n_sweeps,
                          alpha.data(),  inverse.data(),         seed,
                          prior.data()};
    nb::gil_scoped_release release;
    share_out(n_words, n_threads, [&](Queue& queue) { return best_kernels().prior_masses(r, queue); });
    share_out(r.n_docs, n_threads, [&](Queue& queue) { return best_kernels().resample(r, queue); });
}

// Adds the weights of the tokens of each word in each topic to `rows`, and their sums to `sums`. Every thread goes through all
// tokens and adds those of its own words: a word's documents are added in their order whatever the number of threads. The
// sums are one thread's.
void count_topics(In<int32_t, 1> words, In<float, 1> counts, In<uint16_t, 1> z, Out<float, 2> rows, Out<double, 1> sums,
                  int n_threads) {
    const int64_t n = int64_t(words.shape(0)), stride = int64_t(rows.shape(1));
    const int parts = std::max(n_threads, 1);
    nb::gil_scoped_release release;
    each(parts, [&](int part) {
        const uint16_t* topic = z.data();
        for (int64_t at = 0; at < n; ++at) {
            const int64_t n_tokens = tokens_of(counts.data()[at]);
            const uint32_t word = uint32_t(words.data()[at]);
            const bool mine = int((uint64_t(word * 2654435761u) * uint64_t(parts)) >> 32) == part;
            if (mine || part == 0) {
                const float weight = counts.data()[at] / float(n_tokens);
                float* row = rows.data() + int64_t(word) * stride;
                for (int64_t i = 0; i < n_tokens; ++i) {
                    if (mine) row[topic[i]] += weight;
                    if (part == 0) sums.data()[topic[i]] += weight;
                }
            }
            topic += n_tokens;
        }
    });
}

}  // namespace

void add_sampling(nb::module_& m) {
    m.def("first_tokens", &first_tokens, "indptr"_a, "counts"_a);
    m.def("resample", &resample, "rows"_a, nb::kw_only(), "n_topics"_a, "indptr"_a, "words"_a, "counts"_a,
          "first_token"_a, "z"_a, "fresh"_a, "n_sweeps"_a, "alpha"_a, "inverse"_a, "seed"_a, "n_threads"_a);
    m.def("count_topics", &count_topics, "words"_a, "counts"_a, "z"_a, "rows"_a, "sums"_a, nb::kw_only(), "n_threads"_a);
}

}  // namespace opelda

// Functions for learning in the Python module.
#include <algorithm>
#include <memory>
#include <vector>

#include "arrays.hpp"
#include "kernels.hpp"

namespace opelda {
namespace {

void topic_rows(In<float, 2> kept, int64_t n_topics, double scale, double prior_weight,
                double prior, MaybeIn<float, 1> prior_words, MaybeIn<float, 2> prior_rows,
                In<float, 1> inverse, In<double, 1> digamma, bool logs, MaybeIn<int32_t, 1> words,
                Out<float, 2> rows, Out<float, 1> mean, int n_threads) {
    const TopicRows t = {.kept = kept.data(),
                         .stride = int64_t(kept.shape(1)),
                         .n_topics = n_topics,
                         .scale = float(scale),
                         .prior_weight = float(prior_weight),
                         .prior = float(prior),
                         .prior_words = pointer(prior_words),
                         .prior_rows = pointer(prior_rows),
                         .inverse = inverse.data(),
                         .digamma = digamma.data(),
                         .logs = logs,
                         .words = pointer(words),
                         .n_words = int64_t(rows.shape(0)),
                         .rows = rows.data(),
                         .mean = mean.data()};
    const Released released;
    run_ranges(t.n_words, n_threads, [&](Queue& queue) { best_kernels().topic_rows(t, queue); });
}

// OPE's picks in groups of four. Padding uses topics 0, 1, 2, ...: distinct topics, so that sums do
// not wait for each other.
void in_fours(int64_t n_docs, const int64_t* indptr, const int32_t* topics, const float* shares,
              std::vector<FourPicks>& fours, std::vector<int32_t>& first) {
    first.resize(size_t(n_docs) + 1);
    fours.reserve(size_t(n_docs + indptr[n_docs] / 4));
    for (int64_t d = 0; d < n_docs; ++d) {
        first[d] = int32_t(fours.size());
        for (int64_t p = indptr[d]; p < indptr[d + 1]; p += 4) {
            FourPicks four = {{0, 1, 2, 3}, {}};
            for (int64_t i = 0; i < std::min<int64_t>(4, indptr[d + 1] - p); ++i) {
                four.topic[i] = topics[p + i];
                four.share[i] = shares[p + i];
            }
            fours.push_back(four);
        }
    }
    first[n_docs] = int32_t(fours.size());
}

void add(Out<float, 2> kept, int64_t n_topics, In<int32_t, 1> words, In<int64_t, 1> starts,
         In<uint64_t, 1> entries, In<float, 2> rows, MaybeIn<float, 2> theta,
         MaybeIn<int64_t, 1> indptr, MaybeIn<int32_t, 1> topics, MaybeIn<float, 1> shares,
         MaybeIn<float, 1> rest, MaybeIn<float, 1> start, MaybeIn<float, 1> start_words,
         bool divide, In<float, 1> gain, Out<double, 1> grown, int n_threads) {
    std::vector<FourPicks> fours;
    std::vector<int32_t> first;
    const int64_t n_words = int64_t(words.shape(0)), stride = int64_t(kept.shape(1));
    const int64_t n_blocks = (n_words + kStep - 1) / kStep;
    if (!theta && !(indptr && topics && shares))
        throw nb::value_error("Give dense mixtures, or picks.");
    // no signal checks: rows must contain whole batches only
    nb::gil_scoped_release release;
    if (!theta)
        in_fours(int64_t(indptr->shape(0)) - 1, indptr->data(), topics->data(), shares->data(),
                 fours, first);
    const auto totals = std::make_unique_for_overwrite<double[]>(size_t(n_blocks * stride));
    const Addition a = {.kept = kept.data(),
                        .stride = stride,
                        .n_topics = n_topics,
                        .n_words = n_words,
                        .words = words.data(),
                        .starts = starts.data(),
                        .entries = reinterpret_cast<const Entry*>(entries.data()),
                        .rows = rows.data(),
                        .mixtures = {.theta = pointer(theta),
                                     .fours = fours.data(),
                                     .first = first.data(),
                                     .rest = pointer(rest),
                                     .start = pointer(start),
                                     .start_words = pointer(start_words)},
                        .divide = divide,
                        .gain = gain.data(),
                        .block = kStep,
                        .totals = totals.get()};
    run_ranges(n_words, n_threads, [&](Queue& queue) { best_kernels().add(a, queue); });
    std::fill_n(grown.data(), a.stride, 0.0);
    for (int64_t block = 0; block < n_blocks; ++block)
        for (int64_t k = 0; k < a.stride; ++k) grown.data()[k] += a.totals[block * a.stride + k];
}

}  // namespace

void add_learning(nb::module_& m) {
    m.def("topic_rows", &topic_rows, "kept"_a, nb::kw_only(), "n_topics"_a, "scale"_a,
          "prior_weight"_a, "prior"_a, "prior_words"_a.none(), "prior_rows"_a.none(), "inverse"_a,
          "digamma"_a, "logs"_a, "words"_a.none(), "rows"_a, "mean"_a, "n_threads"_a);
    m.def("add", &add, "kept"_a, nb::kw_only(), "n_topics"_a, "words"_a, "starts"_a, "entries"_a,
          "rows"_a, "theta"_a = nb::none(), "indptr"_a = nb::none(), "topics"_a = nb::none(),
          "shares"_a = nb::none(), "rest"_a = nb::none(), "start"_a = nb::none(),
          "start_words"_a = nb::none(), "divide"_a, "gain"_a, "grown"_a, "n_threads"_a);
}

}  // namespace opelda

// The part of the Python module that learning uses on topics.
#include <algorithm>
#include <memory>
#include <vector>

#include "arrays.hpp"
#include "threads.hpp"

namespace opelda {
namespace {

void lay_out(In<float, 2> kept, int64_t n_topics, double scale, double prior_weight, double prior,
             MaybeIn<float, 1> prior_words, MaybeIn<float, 2> prior_rows, In<float, 1> inverse, In<double, 1> digamma,
             bool logs, MaybeIn<int32_t, 1> words, Out<float, 2> rows, Out<float, 1> mean, int n_threads) {
    LayOut t;
    t.kept = kept.data();
    t.stride = int64_t(kept.shape(1));
    t.n_topics = n_topics;
    t.scale = float(scale);
    t.prior_weight = float(prior_weight);
    t.prior = float(prior);
    t.prior_words = pointer(prior_words);
    t.prior_rows = pointer(prior_rows);
    t.inverse = inverse.data();
    t.digamma = digamma.data();
    t.logs = logs;
    t.words = pointer(words);
    t.n_words = int64_t(rows.shape(0));
    t.rows = rows.data();
    t.mean = mean.data();
    nb::gil_scoped_release release;
    share_out(t.n_words, n_threads, [&](Queue& queue) { return best_kernels().lay_out(t, queue); });
}

// OPE's picks in fours. What fills a four up are topics 0, 1, 2, ...: different ones, so that no sum waits for the other.
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

void add(Out<float, 2> kept, int64_t n_topics, In<int32_t, 1> words, In<int64_t, 1> starts, In<uint64_t, 1> entries,
         In<float, 2> rows, MaybeIn<float, 2> theta, MaybeIn<int64_t, 1> indptr,
         MaybeIn<int32_t, 1> topics, MaybeIn<float, 1> shares, MaybeIn<float, 1> rest, MaybeIn<float, 1> start,
         MaybeIn<float, 1> start_words, bool divide, In<float, 1> gain, Out<double, 1> grown, int n_threads) {
    Addition a;
    a.kept = kept.data();
    a.stride = int64_t(kept.shape(1));
    a.n_topics = n_topics;
    a.n_words = int64_t(words.shape(0));
    a.words = words.data();
    a.starts = starts.data();
    a.entries = reinterpret_cast<const Entry*>(entries.data());
    a.rows = rows.data();
    a.mixtures = {pointer(theta), nullptr, nullptr, pointer(rest), pointer(start), pointer(start_words)};
    std::vector<FourPicks> fours;
    std::vector<int32_t> first;
    nb::gil_scoped_release release;
    if (!theta) {
        in_fours(int64_t(indptr->shape(0)) - 1, indptr->data(), topics->data(), shares->data(), fours, first);
        a.mixtures.fours = fours.data();
        a.mixtures.first = first.data();
    }
    a.divide = divide;
    a.gain = gain.data();
    a.block = kStep;
    const int64_t n_blocks = (a.n_words + kStep - 1) / kStep;
    const auto totals = std::make_unique_for_overwrite<double[]>(size_t(n_blocks * a.stride));
    a.totals = totals.get();
    share_out(a.n_words, n_threads, [&](Queue& queue) { return best_kernels().add(a, queue); });
    std::fill_n(grown.data(), a.stride, 0.0);
    for (int64_t block = 0; block < n_blocks; ++block)
        for (int64_t k = 0; k < a.stride; ++k) grown.data()[k] += a.totals[block * a.stride + k];
}

}  // namespace

void add_learning(nb::module_& m) {
    m.def("lay_out", &lay_out, "kept"_a, nb::kw_only(), "n_topics"_a, "scale"_a, "prior_weight"_a, "prior"_a,
          "prior_words"_a.none(), "prior_rows"_a.none(), "inverse"_a, "digamma"_a, "logs"_a, "words"_a.none(), "rows"_a,
          "mean"_a, "n_threads"_a);
    m.def("add", &add, "kept"_a, nb::kw_only(), "n_topics"_a, "words"_a, "starts"_a, "entries"_a, "rows"_a,
          "theta"_a.none(), "indptr"_a.none(), "topics"_a.none(), "shares"_a.none(), "rest"_a.none(), "start"_a.none(),
          "start_words"_a.none(), "divide"_a, "gain"_a, "grown"_a, "n_threads"_a);
}

}  // namespace opelda

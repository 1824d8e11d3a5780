// The part of the Python module that learning uses.
#include <algorithm>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "threads.hpp"

namespace opelda {
namespace {

constexpr int64_t kAhead = 24;  // entries whose places are fetched before they are written
constexpr int64_t kEntriesPerThread = 20'000;  // fewer are not worth a thread

// Per word: where its next entry goes (before that, how many there are), and its place among the words held.
struct Slot {
    int32_t next, place;
};

// A batch by words: which words it holds (ascending), each entry's place among them, and for every word its documents in
// their order; and the documents' lengths. Each thread takes a run of documents, counts its words, and then knows where its entries go.
nb::tuple by_word(In<int64_t, 1> indptr, In<int32_t, 1> words, In<float, 1> counts, int64_t n_words, int n_threads) {
    const int64_t n_docs = int64_t(indptr.shape(0)) - 1, n = int64_t(words.shape(0));
    if (n > INT32_MAX) throw nb::value_error("A batch may hold at most 2**31 - 1 entries; take fewer documents at a time.");
    const int64_t* ends = indptr.data();
    const int32_t* word = words.data();
    const float* count = counts.data();
    const int parts = int(std::clamp<int64_t>(n / kEntriesPerThread, 1, std::max(n_threads, 1)));
    const auto first_of = [&](int part) { return n_docs * part / parts; };
    std::vector<Slot> slots(size_t(parts) * size_t(n_words));
    std::vector<int32_t> held, starts;
    {
        nb::gil_scoped_release release;
        each(parts, [&](int part) {
            Slot* slot = slots.data() + part * n_words;
            for (int64_t i = ends[first_of(part)]; i < ends[first_of(part + 1)]; ++i) ++slot[word[i]].next;
        });
        held.reserve(size_t(std::min(n_words, n)));
        starts.reserve(size_t(std::min(n_words, n)) + 1);
        for (int64_t j = 0, total = 0; j < n_words; ++j) {
            const int64_t before = total;
            for (int part = 0; part < parts; ++part) {
                Slot& slot = slots[part * n_words + j];
                total += std::exchange(slot.next, int32_t(total));
                slot.place = int32_t(held.size());
            }
            if (total == before) continue;
            held.push_back(int32_t(j));
            starts.push_back(int32_t(before));
        }
        starts.push_back(int32_t(n));
    }
    int32_t *held_data, *places;
    int64_t* starts_data;
    uint64_t* packed;
    double* tokens;
    auto held_array = numpy_array<int32_t>(held.size(), &held_data);
    auto place_array = numpy_array<int32_t>(size_t(n), &places);
    auto starts_array = numpy_array<int64_t>(starts.size(), &starts_data);
    auto entries_array = numpy_array<uint64_t>(size_t(n), &packed);
    auto tokens_array = numpy_array<double>(size_t(n_docs), &tokens);
    std::copy(held.begin(), held.end(), held_data);
    std::copy(starts.begin(), starts.end(), starts_data);
    auto* entries = reinterpret_cast<Entry*>(packed);
    {
        nb::gil_scoped_release release;
        each(parts, [&](int part) {
            Slot* slots_of_part = slots.data() + part * n_words;
            for (int64_t d = first_of(part); d < first_of(part + 1); ++d) {
                tokens[d] = 0;
                for (int64_t i = ends[d]; i < ends[d + 1]; ++i) {
                    if (i + kAhead < n) __builtin_prefetch(entries + slots_of_part[word[i + kAhead]].next, 1);
                    tokens[d] += count[i];
                    Slot& slot = slots_of_part[word[i]];
                    places[i] = slot.place;
                    entries[slot.next++] = {int32_t(d), count[i]};
                }
            }
        });
    }
    return nb::make_tuple(held_array, place_array, starts_array, entries_array, tokens_array);
}

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
         MaybeIn<float, 1> start_words, bool divide, In<float, 1> gain, Out<double, 2> totals, int n_threads) {
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
    if (!theta) {
        in_fours(int64_t(indptr->shape(0)) - 1, indptr->data(), topics->data(), shares->data(), fours, first);
        a.mixtures.fours = fours.data();
        a.mixtures.first = first.data();
    }
    a.divide = divide;
    a.gain = gain.data();
    a.block = kStep;
    a.totals = totals.data();
    nb::gil_scoped_release release;
    share_out(a.n_words, n_threads, [&](Queue& queue) { return best_kernels().add(a, queue); });
}

}  // namespace

void add_learning(nb::module_& m) {
    m.def("by_word", &by_word, "indptr"_a, "words"_a, "counts"_a, "n_words"_a, "n_threads"_a);
    m.def("lay_out", &lay_out, "kept"_a, nb::kw_only(), "n_topics"_a, "scale"_a, "prior_weight"_a, "prior"_a,
          "prior_words"_a.none(), "prior_rows"_a.none(), "inverse"_a, "digamma"_a, "logs"_a, "words"_a.none(), "rows"_a,
          "mean"_a, "n_threads"_a);
    m.def("add", &add, "kept"_a, nb::kw_only(), "n_topics"_a, "words"_a, "starts"_a, "entries"_a, "rows"_a,
          "theta"_a.none(), "indptr"_a.none(), "topics"_a.none(), "shares"_a.none(), "rest"_a.none(), "start"_a.none(),
          "start_words"_a.none(), "divide"_a, "gain"_a, "totals"_a, "n_threads"_a);
    m.attr("WORDS_PER_BLOCK") = kStep;
}

}  // namespace opelda

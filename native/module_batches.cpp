// Batches in the Python module: selection of documents from a collection, and transposition.
#include <algorithm>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "kernels.hpp"

namespace opelda {
namespace {

constexpr int64_t kAhead = 24;  // entries whose places are fetched before they are written
constexpr int64_t kDocumentsAhead = 4;
constexpr int64_t kEntriesPerThread = 20'000;  // smaller parts do not repay a thread

int parts_for(int64_t n_entries, int n_threads) {
    return int(std::clamp<int64_t>(n_entries / kEntriesPerThread, 1, std::max(n_threads, 1)));
}

using Numbers = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Calls `visit` with the array's data as its actual type, one of the given types.
template <class First, class... Others, class Visit> auto as_one_of(const Numbers& array,
                                                                    Visit visit) {
    if (array.dtype() == nb::dtype<First>()) return visit(static_cast<const First*>(array.data()));
    if constexpr (sizeof...(Others) > 0) return as_one_of<Others...>(array, visit);
    throw nb::type_error("These numbers are of a type that documents cannot be gathered from.");
}

// Selects documents of a collection by number, as kernel input; copies and converts only these
// documents.
template <class Place, class Word, class Count>
nb::tuple gather(const Place* indptr, const Word* words, const Count* counts,
                 const int64_t* documents, int64_t n_docs, int n_threads) {
    int64_t* ends;
    auto ends_array = numpy_array<int64_t>(size_t(n_docs) + 1, &ends);
    ends[0] = 0;
    for (int64_t d = 0; d < n_docs; ++d)
        ends[d + 1] = ends[d] + int64_t(indptr[documents[d] + 1]) - int64_t(indptr[documents[d]]);
    const int64_t n = ends[n_docs];
    int32_t* to_words;
    float* to_counts;
    auto words_array = numpy_array<int32_t>(size_t(n), &to_words);
    auto counts_array = numpy_array<float>(size_t(n), &to_counts);
    {
        const Released released;
        const int parts = parts_for(n, n_threads);
        run_parts(parts, [&](int part) {
            for (int64_t d = n_docs * part / parts; d < n_docs * (part + 1) / parts; ++d) {
                if (d + kDocumentsAhead < n_docs) {
                    __builtin_prefetch(words + indptr[documents[d + kDocumentsAhead]]);
                    __builtin_prefetch(counts + indptr[documents[d + kDocumentsAhead]]);
                }
                const int64_t from = int64_t(indptr[documents[d]]), to = ends[d],
                              length = ends[d + 1] - to;
                for (int64_t i = 0; i < length; ++i) to_words[to + i] = int32_t(words[from + i]);
                for (int64_t i = 0; i < length; ++i) to_counts[to + i] = float(counts[from + i]);
            }
        });
    }
    return nb::make_tuple(ends_array, words_array, counts_array);
}

nb::tuple gather_any(Numbers indptr, Numbers words, Numbers counts, In<int64_t, 1> documents,
                     int n_threads) {
    return as_one_of<int32_t, int64_t>(indptr, [&](auto* places) {
        return as_one_of<int32_t, int64_t>(words, [&](auto* word) {
            return as_one_of<float, double, int64_t, int32_t, int16_t, int8_t, uint64_t, uint32_t,
                             uint16_t, uint8_t, bool>(counts, [&](auto* count) {
                return gather(places, word, count, documents.data(), int64_t(documents.shape(0)),
                              n_threads);
            });
        });
    });
}

// Per word: position of its next entry (earlier, the number of entries), and its slot among the
// batch's words.
struct Slot {
    int32_t next, number;
};

// A transposed batch: its words (ascending), the slot of each entry among these words, each word's
// documents in order, and the documents' lengths. Each thread counts the words of a run of
// documents, and then knows the positions of its entries.
nb::tuple transpose(In<int64_t, 1> indptr, In<int32_t, 1> words, In<float, 1> counts,
                    int64_t n_words, int n_threads) {
    const int64_t n_docs = int64_t(indptr.shape(0)) - 1, n = int64_t(words.shape(0));
    if (n > INT32_MAX)
        throw nb::value_error(
            "A batch may hold at most 2**31 - 1 entries; take fewer documents at a time.");
    const int64_t* ends = indptr.data();
    const int32_t* word = words.data();
    const float* count = counts.data();
    const int parts = parts_for(n, n_threads);
    const auto first_of = [&](int part) { return n_docs * part / parts; };
    std::vector<Slot> slots(size_t(parts) * size_t(n_words));
    std::vector<int32_t> held, starts;
    {
        const Released released;
        run_parts(parts, [&](int part) {
            Slot* slot = slots.data() + part * n_words;
            for (int64_t i = ends[first_of(part)]; i < ends[first_of(part + 1)]; ++i)
                ++slot[word[i]].next;
        });
        held.reserve(size_t(std::min(n_words, n)));
        starts.reserve(size_t(std::min(n_words, n)) + 1);
        for (int64_t j = 0, total = 0; j < n_words; ++j) {
            const int64_t before = total;
            for (int part = 0; part < parts; ++part) {
                Slot& slot = slots[part * n_words + j];
                total += std::exchange(slot.next, int32_t(total));
                slot.number = int32_t(held.size());
            }
            if (total == before) continue;
            held.push_back(int32_t(j));
            starts.push_back(int32_t(before));
        }
        starts.push_back(int32_t(n));
    }
    int32_t *held_data, *slot_numbers;
    int64_t* starts_data;
    uint64_t* packed;
    double* tokens;
    auto held_array = numpy_array<int32_t>(held.size(), &held_data);
    auto slots_array = numpy_array<int32_t>(size_t(n), &slot_numbers);
    auto starts_array = numpy_array<int64_t>(starts.size(), &starts_data);
    auto entries_array = numpy_array<uint64_t>(size_t(n), &packed);
    auto tokens_array = numpy_array<double>(size_t(n_docs), &tokens);
    std::copy(held.begin(), held.end(), held_data);
    std::copy(starts.begin(), starts.end(), starts_data);
    auto* entries = reinterpret_cast<Entry*>(packed);
    {
        const Released released;
        run_parts(parts, [&](int part) {
            Slot* slots_of_part = slots.data() + part * n_words;
            for (int64_t d = first_of(part); d < first_of(part + 1); ++d) {
                tokens[d] = 0;
                for (int64_t i = ends[d]; i < ends[d + 1]; ++i) {
                    if (i + kAhead < n)
                        __builtin_prefetch(entries + slots_of_part[word[i + kAhead]].next, 1);
                    tokens[d] += count[i];
                    Slot& slot = slots_of_part[word[i]];
                    slot_numbers[i] = slot.number;
                    entries[slot.next++] = {int32_t(d), count[i]};
                }
            }
        });
    }
    return nb::make_tuple(held_array, slots_array, starts_array, entries_array, tokens_array);
}

}  // namespace

void add_batches(nb::module_& m) {
    m.def("gather", &gather_any, "indptr"_a, "words"_a, "counts"_a, "documents"_a, "n_threads"_a);
    m.def("transpose", &transpose, "indptr"_a, "words"_a, "counts"_a, "n_words"_a, "n_threads"_a);
}

}  // namespace opelda

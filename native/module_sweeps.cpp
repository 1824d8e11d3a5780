// Sweeps in the Python module: token layout in blocks, and drawing (sweep.hpp).
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "kernels.hpp"
#include "mixing.hpp"
#include "slot_store.hpp"

namespace opelda {
namespace {

constexpr int64_t kMostGroups = kGroupStep * (int64_t(1) << 16);  // of a block: see `kGroupStep`

template <class T> nb::object as_array(const std::vector<T>& values) {
    T* data;
    auto array = numpy_array<T>(values.size(), &data);
    std::copy(values.begin(), values.end(), data);
    return nb::cast(array);
}

int64_t groups_of(int64_t n_tokens, int64_t n_topics) {
    constexpr int64_t step = kGroupStep * kSlots;
    return std::max<int64_t>(1, (std::min(n_tokens, n_topics) + step - 1) / step) * kGroupStep;
}

// A run: the tokens of a word in a block.
struct Runs {
    std::vector<int32_t> words;
    std::vector<int64_t> starts;
    std::vector<uint8_t> alike;
};

// Output positions of tokens; without weights if all are 1.
struct TokenArrays {
    uint16_t* at;
    float* sizes = nullptr;
    float* weights = nullptr;
    int64_t* units = nullptr;
};

struct Collection {
    const int64_t* indptr;
    const int32_t* words;
    const float* counts;
    const int64_t* first_token;
    int64_t n_words;
    int shift;
};

// Unit to which a token's weight in its document is rounded, so that sums are exact: see
// engines/_tokens.py.
double grain(const Collection& c, int64_t doc) {
    double total = 0;
    for (int64_t i = c.indptr[doc]; i < c.indptr[doc + 1]; ++i) total += double(c.counts[i]);
    return std::exp2(std::ceil(std::log2(std::max(total, 1.0))) - 22);
}

// The tokens of a block, word by word; for each word first one token of each document, then the
// second tokens, and so on.
Runs lay_out(const Collection& c, const std::vector<int64_t>& first_group, int64_t begin,
             int64_t end, const TokenArrays& out) {
    struct Entry {
        uint16_t group;
        int16_t n;
        float size;
        double weight;
    };
    std::vector<int64_t> ends(size_t(c.n_words) + 1);
    for (int64_t i = c.indptr[begin]; i < c.indptr[end]; ++i) ++ends[size_t(c.words[i]) + 1];
    for (size_t j = 1; j < ends.size(); ++j) ends[j] += ends[j - 1];
    std::vector<Entry> entries(size_t(c.indptr[end] - c.indptr[begin]));
    for (int64_t d = begin; d < end; ++d) {
        const auto group =
            uint16_t((first_group[size_t(d)] - first_group[size_t(begin)]) / kGroupStep);
        const double unit = out.weights ? grain(c, d) : 1.0;
        for (int64_t i = c.indptr[d]; i < c.indptr[d + 1]; ++i) {
            const int64_t n = tokens_of(c.counts[i]);
            const double each = double(c.counts[i]) / double(n);
            const auto size = float(std::max(std::nearbyint(each / unit), 1.0) * unit);
            entries[size_t(ends[size_t(c.words[i])]++)] = {group, int16_t(n), size, each};
        }
    }
    Runs runs;
    int64_t to = c.first_token[begin];
    for (int64_t j = 0; j < c.n_words; ++j) {
        const size_t first = j ? size_t(ends[size_t(j) - 1]) : 0, last = size_t(ends[size_t(j)]);
        if (first == last) continue;
        runs.words.push_back(int32_t(j));
        runs.starts.push_back(to);
        bool more = true, alike = true;
        for (size_t e = first; e < last; ++e)
            alike &= entries[e].size == 1 && entries[e].weight == 1;
        runs.alike.push_back(alike);
        for (int16_t number = 0; more; ++number) {
            more = false;
            for (size_t e = first; e < last; ++e) {
                const Entry& entry = entries[e];
                if (entry.n <= number) continue;
                out.at[to] = entry.group;
                if (out.weights) {
                    out.sizes[to] = entry.size;
                    out.weights[to] = float(entry.weight);
                    out.units[to] = int64_t(std::floor(std::ldexp(entry.weight, c.shift) + 0.5));
                }
                ++to;
                more |= entry.n > number + 1;
            }
        }
    }
    return runs;
}

// Divides documents into blocks, with tokens in the format of `Sweep`. `alike`: all weigh 1.
nb::tuple token_blocks(In<int64_t, 1> indptr, In<int32_t, 1> words, In<float, 1> counts,
                       In<int64_t, 1> first_token, int64_t n_topics, int64_t n_words, int shift,
                       bool alike, int64_t most_docs, int n_threads) {
    const int64_t n_docs = int64_t(indptr.shape(0)) - 1, n_tokens = first_token.data()[n_docs];
    const Collection c = {indptr.data(),      words.data(), counts.data(),
                          first_token.data(), n_words,      shift};
    std::vector<int64_t> block_docs{0}, block_groups{0}, first_group(size_t(n_docs) + 1);
    for (int64_t d = 0; d < n_docs; ++d) {
        const int64_t n = groups_of(c.first_token[d + 1] - c.first_token[d], n_topics);
        const int64_t here = first_group[size_t(d)];
        if (d - block_docs.back() == most_docs || here + n - block_groups.back() > kMostGroups) {
            block_docs.push_back(d);
            block_groups.push_back(here);
        }
        first_group[size_t(d) + 1] = here + n;
    }
    if (n_docs) {
        block_docs.push_back(n_docs);
        block_groups.push_back(first_group.back());
    }
    const auto n_blocks = int64_t(block_docs.size()) - 1;
    TokenArrays out{};
    const auto at = numpy_array<uint16_t>(size_t(n_tokens) + kFetched, &out.at);
    std::fill(out.at + n_tokens, out.at + n_tokens + kFetched, uint16_t(0));
    nb::object sizes = nb::none(), weights = nb::none(), units = nb::none();
    if (!alike) {
        sizes = nb::cast(numpy_array<float>(size_t(n_tokens), &out.sizes));
        weights = nb::cast(numpy_array<float>(size_t(n_tokens), &out.weights));
        units = nb::cast(numpy_array<int64_t>(size_t(n_tokens), &out.units));
    }
    std::vector<Runs> runs(static_cast<size_t>(n_blocks));
    {
        const Released released;
        const auto work = [&](Queue& queue) {
            int64_t begin, end;
            while (take(queue, begin, end))
                for (int64_t b = begin; b < end; ++b)
                    runs[size_t(b)] = lay_out(c, first_group, block_docs[size_t(b)],
                                              block_docs[size_t(b) + 1], out);
        };
        run_ranges(n_blocks, n_threads, work, 1);
    }
    std::vector<int64_t> block_runs{0}, run_starts;
    std::vector<int32_t> run_words;
    std::vector<uint8_t> run_alike;
    for (const Runs& r : runs) {
        run_words.insert(run_words.end(), r.words.begin(), r.words.end());
        run_starts.insert(run_starts.end(), r.starts.begin(), r.starts.end());
        run_alike.insert(run_alike.end(), r.alike.begin(), r.alike.end());
        block_runs.push_back(int64_t(run_words.size()));
    }
    run_starts.push_back(n_tokens);
    return nb::make_tuple(as_array(block_docs), as_array(block_groups), as_array(block_runs),
                          as_array(run_words), as_array(run_starts), nb::cast(at),
                          as_array(first_group), alike ? nb::none() : as_array(run_alike), sizes,
                          weights, units);
}

void sweep(In<int64_t, 1> block_docs, In<int64_t, 1> block_groups, In<int64_t, 1> block_runs,
           In<int32_t, 1> run_words, In<int64_t, 1> run_starts, In<uint16_t, 1> at,
           In<int64_t, 1> first_group, MaybeIn<uint8_t, 1> run_alike, MaybeIn<float, 1> sizes,
           MaybeIn<float, 1> weights, Out<uint16_t, 1> z, SlotStore& slots, In<uint64_t, 1> keys,
           int64_t n_topics, MaybeIn<int64_t, 1> row_starts, MaybeIn<int32_t, 1> row_topics,
           MaybeIn<float, 1> row_values, MaybeIn<float, 1> base, MaybeIn<float, 2> dense,
           MaybeIn<uint16_t, 1> prior_rows, In<float, 2> prior, In<float, 2> alpha,
           In<float, 1> inverse, uint64_t seed, bool fresh, bool given, int64_t n_draws,
           int n_threads) {
    int64_t most_groups = 0;
    for (size_t b = 0; b + 1 < block_groups.shape(0); ++b)
        most_groups = std::max(most_groups, block_groups.data()[b + 1] - block_groups.data()[b]);
    const Sweep s = {.block_docs = block_docs.data(),
                     .block_groups = block_groups.data(),
                     .block_runs = block_runs.data(),
                     .run_words = run_words.data(),
                     .run_starts = run_starts.data(),
                     .at = at.data(),
                     .run_alike = pointer(run_alike),
                     .sizes = pointer(sizes),
                     .weights = pointer(weights),
                     .z = z.data(),
                     .slots = &slots,
                     .most_groups = most_groups,
                     .first_group = first_group.data(),
                     .n_topics = n_topics,
                     .stride = int64_t(alpha.shape(1)),
                     .row_starts = pointer(row_starts),
                     .row_topics = pointer(row_topics),
                     .row_values = pointer(row_values),
                     .base = pointer(base),
                     .dense = pointer(dense),
                     .n_priors = int64_t(alpha.shape(0)),
                     .prior_rows = pointer(prior_rows),
                     .prior = prior.data(),
                     .alpha = alpha.data(),
                     .inverse = inverse.data(),
                     .keys = keys.data(),
                     .seed = mix(seed + kGolden),
                     .fresh = fresh,
                     .given = given && !fresh && !slots.complete,
                     .n_draws = n_draws};
    if (!fresh && !given && !slots.complete)
        throw nb::value_error("The tokens have no topics: their first sweep was not finished.");
    if (fresh) slots.complete = false;
    const Released released;
    run_ranges(
        int64_t(block_docs.shape(0)) - 1, n_threads,
        [&](Queue& queue) { best_kernels().sweep(s, queue); }, 1);
    slots.complete = true;
}

// Maps each token of the documents to a token of the blocks: both have a document's tokens in word
// order.
nb::object token_order(In<int64_t, 1> block_docs, In<int64_t, 1> block_runs,
                       In<int64_t, 1> run_starts, In<uint16_t, 1> at, In<int64_t, 1> first_group,
                       In<int64_t, 1> first_token, int n_threads) {
    const int64_t n_docs = int64_t(first_token.shape(0)) - 1;
    const int64_t *docs = block_docs.data(), *groups = first_group.data();
    int64_t* order;
    auto array = numpy_array<int64_t>(size_t(first_token.data()[n_docs]), &order);
    const auto work = [&](Queue& queue) {
        int64_t begin, end;
        while (take(queue, begin, end))
            for (int64_t b = begin; b < end; ++b) {
                const int64_t base = groups[docs[b]];
                std::vector<int64_t> next(size_t((groups[docs[b + 1]] - base) / kGroupStep));
                for (int64_t d = docs[b]; d < docs[b + 1]; ++d)
                    next[size_t((groups[d] - base) / kGroupStep)] = first_token.data()[d];
                const int64_t last = run_starts.data()[block_runs.data()[b + 1]];
                for (int64_t i = run_starts.data()[block_runs.data()[b]]; i < last; ++i)
                    order[next[at.data()[i]]++] = i;
            }
    };
    {
        const Released released;
        run_ranges(int64_t(block_docs.shape(0)) - 1, n_threads, work, 1);
    }
    return nb::cast(array);
}

// The topics of some documents, ascending, and their sizes.
nb::tuple slot_sizes(const SlotStore& slots, In<int64_t, 1> block_docs, In<int64_t, 1> docs) {
    std::vector<int32_t> topics;
    std::vector<float> sizes;
    size_t next = 0;
    for (size_t b = 0; b < slots.blocks.size(); ++b) {
        const SlotStore::Slot* slot = slots.blocks[b].data();
        for (int64_t d = block_docs.data()[b]; d < block_docs.data()[b + 1]; ++d) {
            const size_t n = slots.blocks[b].empty() ? 0 : slots.n_slots[size_t(d)];
            if (next < docs.shape(0) && docs.data()[next] == d) {
                for (size_t i = 0; i < n; ++i) {
                    topics.push_back(slot[i].topic);
                    sizes.push_back(slot[i].size);
                }
                ++next;
            }
            slot += n;
        }
    }
    return nb::make_tuple(as_array(topics), as_array(sizes));
}

}  // namespace

void add_sweeps(nb::module_& m) {
    nb::class_<SlotStore>(m, "SlotStore")
        .def(nb::init<int64_t, int64_t>(), "n_blocks"_a, "n_docs"_a);
    m.def("slot_sizes", &slot_sizes, "slots"_a, "block_docs"_a, "docs"_a);
    m.def("token_order", &token_order, "block_docs"_a, "block_runs"_a, "run_starts"_a, "at"_a,
          "first_group"_a, "first_token"_a, nb::kw_only(), "n_threads"_a);
    m.attr("FETCHED") = kFetched;
    m.def("token_blocks", &token_blocks, "indptr"_a, "words"_a, "counts"_a, "first_token"_a,
          nb::kw_only(), "n_topics"_a, "n_words"_a, "shift"_a, "alike"_a, "most_docs"_a,
          "n_threads"_a);
    m.def("sweep", &sweep, nb::kw_only(), "block_docs"_a, "block_groups"_a, "block_runs"_a,
          "run_words"_a, "run_starts"_a, "at"_a, "first_group"_a, "run_alike"_a.none(),
          "sizes"_a.none(), "weights"_a.none(), "z"_a, "slots"_a, "keys"_a, "n_topics"_a,
          "row_starts"_a.none(), "row_topics"_a.none(), "row_values"_a.none(), "base"_a.none(),
          "dense"_a.none(), "prior_rows"_a.none(), "prior"_a, "alpha"_a, "inverse"_a, "seed"_a,
          "fresh"_a, "given"_a, "n_draws"_a, "n_threads"_a);
}

}  // namespace opelda

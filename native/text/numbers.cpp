// Conversion between files of integers and arrays.
#include "text.hpp"

#include "ldac.hpp"
#include "numbers_writing.hpp"
#include "uci.hpp"

namespace opelda::text {

namespace {

using Bytes = In<uint8_t, 1>;

Lines lines_of(const Bytes& data, int64_t begin, int64_t end, int64_t offset, int64_t line) {
    if (begin < 0 || end < begin || end > int64_t(data.shape(0)))
        throw nb::index_error("begin and end must lie in the data");
    return {data.data() + begin, data.data() + end, offset, line};
}

// Rows of four numbers, as an array owned by Python.
template <class T> nb::ndarray<nb::numpy, int64_t, nb::ndim<2>> table(const std::vector<T>& rows) {
    static_assert(sizeof(T) == 4 * sizeof(int64_t));
    int64_t* data = new int64_t[rows.size() * 4 + 1];
    if (!rows.empty()) std::memcpy(data, rows.data(), rows.size() * sizeof(T));
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<int64_t*>(p); });
    return nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>(data, {rows.size(), 4}, owner);
}

using Words = Out<int32_t, 1>;
using Counts = Out<float, 1>;

// Parses into `words` and `counts` from `at` on, which must have room for `room` entries.
template <class Parse> nb::tuple parsed(Words& words, Counts& counts, int64_t at, int64_t room,
                                        const Parse& parse) {
    const int64_t size = int64_t(std::min(words.shape(0), counts.shape(0)));
    if (at < 0 || at > size || room > size - at)
        throw nb::index_error("there is no room for so many entries");
    Found all;
    all.words = words.data() + at;
    all.counts = counts.data() + at;
    {
        nb::gil_scoped_release release;
        parse(all);
    }
    return nb::make_tuple(table(all.rows), all.n_entries, table(all.bad), all.n_lines, all.sorted,
                          all.last_word);
}

nb::tuple triples(Bytes data, int64_t begin, int64_t end, Words words, Counts counts, int64_t at,
                  int64_t offset, int64_t line, int64_t n_documents, int64_t n_words, int64_t slack,
                  int64_t document, int64_t word, int n_threads) {
    const Lines lines = lines_of(data, begin, end, offset, line);
    return parsed(words, counts, at, (end - begin) / kLeastTriple + 1, [&](Found& all) {
        parse_triples(lines, {n_documents, n_words, slack}, document, word, n_threads, all);
    });
}

nb::tuple pairs(Bytes data, int64_t begin, int64_t end, Words words, Counts counts, int64_t at,
                int64_t offset, int64_t line, int64_t first_id, int64_t n_words, int n_threads) {
    const Lines lines = lines_of(data, begin, end, offset, line);
    return parsed(words, counts, at, (end - begin) / kLeastPair + 1,
                  [&](Found& all) { parse_pairs(lines, {first_id, n_words}, n_threads, all); });
}

template <class Write> nb::bytes written(In<int64_t, 1>& indptr, In<int32_t, 1>& words,
                                         In<float, 1>& counts, const Write& write) {
    const int64_t n_rows = int64_t(indptr.shape(0)) - 1;
    const int64_t* ends = indptr.data();
    const int64_t n = int64_t(words.shape(0));
    if (n_rows < 0 || ends[0] < 0 || ends[n_rows] > n || int64_t(counts.shape(0)) != n ||
        !std::is_sorted(ends, ends + n_rows + 1))
        throw nb::index_error("indptr must rise within the entries");
    std::string text;
    {
        nb::gil_scoped_release release;
        text = write(ends, n_rows);
    }
    return nb::bytes(text.data(), text.size());
}

nb::bytes triples_text(In<int64_t, 1> indptr, In<int32_t, 1> words, In<float, 1> counts,
                       int64_t first) {
    return written(indptr, words, counts, [&](const int64_t* ends, int64_t n_rows) {
        return write_triples(ends, n_rows, words.data(), counts.data(), first);
    });
}

nb::bytes pairs_text(In<int64_t, 1> indptr, In<int32_t, 1> words, In<float, 1> counts) {
    return written(indptr, words, counts, [&](const int64_t* ends, int64_t n_rows) {
        return write_pairs(ends, n_rows, words.data(), counts.data());
    });
}

}  // namespace

void add_numbers(nb::module_& m) {
    m.def("parse_triples", &triples, "data"_a, "begin"_a, "end"_a, "words"_a, "counts"_a, "at"_a,
          nb::kw_only(), "offset"_a, "line"_a, "n_documents"_a, "n_words"_a, "slack"_a,
          "document"_a, "word"_a, "n_threads"_a);
    m.def("parse_pairs", &pairs, "data"_a, "begin"_a, "end"_a, "words"_a, "counts"_a, "at"_a,
          nb::kw_only(), "offset"_a, "line"_a, "first_id"_a, "n_words"_a, "n_threads"_a);
    m.attr("LEAST_TRIPLE") = kLeastTriple;
    m.attr("LEAST_PAIR") = kLeastPair;
    m.def("write_triples", &triples_text, "indptr"_a, "words"_a, "counts"_a, "first"_a);
    m.def("write_pairs", &pairs_text, "indptr"_a, "words"_a, "counts"_a);
}

}  // namespace opelda::text

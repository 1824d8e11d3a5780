// Maps counts from words of separate vocabularies to shared columns.
#include <algorithm>
#include <bit>
#include <vector>

#include "rows.hpp"
#include "text.hpp"

namespace opelda::text {
namespace {

// Count documents and tokens of every column; return each entry's column. Rows have distinct words.
nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> merge(In<int32_t, 1> words, In<float, 1> counts,
                                                   In<int32_t, 1> columns,
                                                   Out<int64_t, 1> documents,
                                                   Out<double, 1> tokens) {
    const int64_t n = int64_t(words.shape(0)), n_words = int64_t(columns.shape(0));
    const int64_t n_columns = int64_t(std::min(documents.shape(0), tokens.shape(0)));
    if (int64_t(counts.shape(0)) != n)
        throw nb::value_error("There must be a count for every word.");
    int32_t* moved;
    auto answer = numpy_array<int32_t>(size_t(n), &moved);
    bool inside = true;
    {
        nb::gil_scoped_release release;
        for (int64_t i = 0; i < n && inside; ++i) {
            const int32_t word = words.data()[i];
            const int32_t column = word >= 0 && word < n_words ? columns.data()[word] : -1;
            inside = column >= 0 && column < n_columns;
            if (!inside) break;
            moved[i] = column;
            ++documents.data()[column];
            tokens.data()[column] += counts.data()[i];
        }
    }
    if (!inside) throw nb::value_error("A word has no column.");
    return answer;
}

// Rows with every word mapped to its column, in column order; words with -1 are dropped, and their
// mass is the last result. Different words have different columns.
nb::tuple place(In<int64_t, 1> ends, In<int32_t, 1> words, In<float, 1> counts,
                In<int32_t, 1> columns) {
    const int64_t n_rows = int64_t(ends.shape(0)) - 1, n = int64_t(words.shape(0)),
                  n_words = int64_t(columns.shape(0));
    const int64_t* end = ends.data();
    const int32_t* word = words.data();
    const float* count = counts.data();
    bool good = n_rows >= 0 && int64_t(counts.shape(0)) == n && end[0] == 0 && end[n_rows] == n;
    for (int64_t row = 0; good && row < n_rows; ++row) good = end[row] <= end[row + 1];
    for (int64_t i = 0; good && i < n; ++i) good = word[i] >= 0 && word[i] < n_words;
    if (!good) throw nb::value_error("The rows are not those of a sparse matrix over these words.");
    int64_t* new_ends;
    auto ends_array = numpy_array<int64_t>(size_t(n_rows) + 1, &new_ends);
    int64_t kept = 0;
    {
        nb::gil_scoped_release release;
        new_ends[0] = 0;
        for (int64_t row = 0; row < n_rows; ++row) {
            for (int64_t i = end[row]; i < end[row + 1]; ++i) kept += columns.data()[word[i]] >= 0;
            new_ends[row + 1] = kept;
        }
    }
    int32_t* new_words;
    float* new_counts;
    auto words_array = numpy_array<int32_t>(size_t(kept), &new_words);
    auto counts_array = numpy_array<float>(size_t(kept), &new_counts);
    double left_out = 0;
    {
        nb::gil_scoped_release release;
        int32_t n_columns = 0;
        for (int64_t i = 0; i < n_words; ++i)
            n_columns = std::max(n_columns, columns.data()[i] + 1);
        const auto each_kept = [&](int64_t row, auto&& use) {
            for (int64_t i = end[row]; i < end[row + 1]; ++i) {
                const int32_t column = columns.data()[word[i]];
                if (column >= 0)
                    use(column, count[i]);
                else
                    left_out += count[i];
            }
        };
        if (kept >= n_columns) {  // enough entries to justify an array over columns
            std::vector<float> count_of(size_t(n_columns), 0);
            SortedSet held(n_columns);
            for (int64_t row = 0, at = 0; row < n_rows; ++row) {
                each_kept(row, [&](int32_t column, float value) {
                    count_of[column] = value;
                    held.add(uint32_t(column));
                });
                held.empty([&](size_t column) {
                    new_words[at] = int32_t(column);
                    new_counts[at++] = count_of[column];
                });
            }
        } else {
            std::vector<uint64_t> entries;  // column high, count low: they sort together
            for (int64_t row = 0, at = 0; row < n_rows; ++row) {
                entries.clear();
                each_kept(row, [&](int32_t column, float value) {
                    entries.push_back(uint64_t(uint32_t(column)) << 32 |
                                      std::bit_cast<uint32_t>(value));
                });
                std::sort(entries.begin(), entries.end());
                for (const uint64_t entry : entries) {
                    new_words[at] = int32_t(entry >> 32);
                    new_counts[at++] = std::bit_cast<float>(uint32_t(entry));
                }
            }
        }
    }
    return nb::make_tuple(ends_array, words_array, counts_array, left_out);
}

}  // namespace

void add_merging(nb::module_& m) {
    m.def("merge", &merge, "words"_a, "counts"_a, "columns"_a, "documents"_a, "tokens"_a);
    m.def("place", &place, "ends"_a, "words"_a, "counts"_a, "columns"_a);
}

}  // namespace opelda::text

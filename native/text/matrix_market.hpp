// Lines "row column value", numbers from 1 and values with or without fractions: Matrix Market's
// files.
#pragma once

#include <charconv>
#include <cstdlib>
#include <system_error>

#include "numbers.hpp"

namespace opelda::text {

enum Layout : int { kCoordinate, kPattern, kArray };  // the latter: values alone, column by column

struct EntryLimits {
    Layout layout;
    int64_t n_rows;
    int64_t n_columns;
};

struct EntriesFound {
    int64_t* rows;
    int32_t* columns;
    double* values;
    int64_t n_entries = 0;
    int64_t n_lines = 0;
    int64_t n_values = 0;  // also those that are zero, or bad
    std::vector<Bad> bad;
};

constexpr int64_t least_bytes(Layout layout) {
    return layout == kCoordinate ? 6 : layout == kPattern ? 4 : 2;
}

// Reads any decimal number at p; false where there is none.
inline bool read_value(const Byte*& p, const Byte* end, double& value) {
    const Byte* q = p;
    int64_t whole;
    if (read_number(q, end, whole) && q - p <= 15 && (q == end || is_blank(*q))) {  // exact
        value = double(whole);
        p = q;
        return true;
    }
    q = p;
    while (q < end && !is_blank(*q)) ++q;
    const char* first = reinterpret_cast<const char*>(p);
    const char* last = reinterpret_cast<const char*>(q);
    if (first < last && *first == '+') ++first;
    if (first == last || *first == '+') return false;
#if defined(__cpp_lib_to_chars)
    const auto [after, error] = std::from_chars(first, last, value);
    if (error == std::errc::result_out_of_range) value = std::numeric_limits<double>::infinity();
    if (after != last || error == std::errc::invalid_argument) return false;
#else
    char copy[64];
    if (last - first >= 64) return false;
    std::memcpy(copy, first, size_t(last - first));
    copy[last - first] = 0;
    char* after;
    value = std::strtod(copy, &after);
    if (after != copy + (last - first)) return false;
#endif
    p = q;
    return true;
}

// Parses lines; in an array, `first` values come before. Zeros are left out.
inline void parse_entries(const Lines& lines, const EntryLimits& limits, int64_t first,
                          EntriesFound& found) {
    const Byte* line = lines.begin;
    for (; line < lines.end; ++found.n_lines) {
        const Byte* end = line_end(line, lines.end);
        const Byte* p = skip_blanks(line, end);
        const Bad place = {0, lines.offset + (line - lines.begin), lines.line + found.n_lines, 0};
        line = end < lines.end ? end + 1 : end;
        if (p == end || *p == '%') continue;
        const int64_t number = first + found.n_values++;
        int64_t row, column;
        double value = 1;
        Kind kind = kNone;
        if (limits.layout == kArray) {
            row = number % std::max<int64_t>(limits.n_rows, 1) + 1;
            column = number / std::max<int64_t>(limits.n_rows, 1) + 1;
        } else {
            if (!read_number(p, end, row) || p == end || !is_blank(*p)) kind = kMalformed;
            p = skip_blanks(p, end);
            if (kind == kNone && !read_number(p, end, column)) kind = kMalformed;
            if (kind == kNone && limits.layout == kCoordinate && (p == end || !is_blank(*p)))
                kind = kMalformed;
            p = skip_blanks(p, end);
        }
        if (kind == kNone && limits.layout != kPattern && !read_value(p, end, value))
            kind = kMalformed;
        if (kind == kNone && skip_blanks(p, end) != end) kind = kMalformed;
        if (kind == kNone && (row < 1 || row > limits.n_rows)) kind = kDocument;
        if (kind == kNone && (column < 1 || column > limits.n_columns)) kind = kWord;
        if (kind == kNone && !(value >= 0 && value <= double(kLargestCount))) kind = kCount;
        if (kind != kNone) {
            const int64_t what = kind == kDocument ? row : kind == kWord ? column : 0;
            found.bad.push_back({kind, place.offset, place.line, what});
        } else if (value > 0) {
            found.rows[found.n_entries] = row - 1;
            found.columns[found.n_entries] = int32_t(column - 1);
            found.values[found.n_entries] = value;
            ++found.n_entries;
        }
    }
}

}  // namespace opelda::text

// Formats counts as the lines that the parsers read.
#pragma once

#include <charconv>
#include <string>

#include "numbers.hpp"

namespace opelda::text {

inline void write_number(std::string& text, int64_t value, char after) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    *end = after;  // at most 19 digits
    text.append(digits, size_t(end - digits) + 1);
}

// Documents `first`, `first + 1`, ... as lines "document word count", words from 1.
inline std::string write_triples(const int64_t* indptr, int64_t n_rows, const int32_t* words,
                                 const float* counts, int64_t first) {
    std::string text;
    text.reserve(size_t(indptr[n_rows] - indptr[0]) * 14);
    for (int64_t i = 0; i < n_rows; ++i) {
        for (int64_t entry = indptr[i]; entry < indptr[i + 1]; ++entry) {
            write_number(text, first + i, ' ');
            write_number(text, int64_t(words[entry]) + 1, ' ');
            write_number(text, int64_t(counts[entry]), '\n');
        }
    }
    return text;
}

// Documents as lines "M word:count ...", words from 0.
inline std::string write_pairs(const int64_t* indptr, int64_t n_rows, const int32_t* words,
                               const float* counts) {
    std::string text;
    text.reserve(size_t(indptr[n_rows] - indptr[0]) * 9 + size_t(n_rows) * 4);
    for (int64_t i = 0; i < n_rows; ++i) {
        write_number(text, indptr[i + 1] - indptr[i], ' ');
        for (int64_t entry = indptr[i]; entry < indptr[i + 1]; ++entry) {
            write_number(text, words[entry], ':');
            write_number(text, int64_t(counts[entry]), ' ');
        }
        text.back() = '\n';
    }
    return text;
}

}  // namespace opelda::text

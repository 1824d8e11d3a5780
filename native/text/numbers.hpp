// Parsing of integers, shared by the formats. Independent of Python.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "../threads.hpp"

namespace opelda::text {

using Byte = unsigned char;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kLargestCount = 10'000'000'000'000;  // as in the Python package
constexpr int64_t kLeastPerThread = 1 << 18;           // minimum bytes per thread

// Why a line is skipped; Python relies on these numbers.
enum Kind : int64_t { kNone, kMalformed, kDocument, kWord, kCount, kOrder, kGap, kLength };

struct Row {
    int64_t document, entry, offset, line;  // its first entry, start of its first line
};

struct Bad {
    int64_t kind, offset, line, value;
};

// A run of whole lines and its position in the file.
struct Lines {
    const Byte* begin;
    const Byte* end;
    int64_t offset;
    int64_t line;
};

// The content of a run of lines. `words` and `counts` have room for the largest possible number of
// entries.
struct Found {
    int32_t* words = nullptr;
    float* counts = nullptr;
    int64_t n_entries = 0;
    int64_t n_lines = 0;
    int64_t last_word = 0;  // of the last document
    bool sorted = true;     // words ascend within every document
    std::vector<Row> rows;
    std::vector<Bad> bad;
};

inline bool is_digit(Byte c) { return Byte(c - '0') <= 9; }
inline bool is_blank(Byte c) { return c == ' ' || c == '\t' || c == '\r'; }

inline const Byte* skip_blanks(const Byte* p, const Byte* end) {
    while (p < end && is_blank(*p)) ++p;
    return p;
}

inline const Byte* line_end(const Byte* p, const Byte* end) {
    const void* found = p < end ? std::memchr(p, '\n', size_t(end - p)) : nullptr;
    return found ? static_cast<const Byte*>(found) : end;
}

// Reads the digits at p; false if there are 0 digits. Numbers beyond int64 become the largest
// int64.
inline bool read_number(const Byte*& p, const Byte* end, int64_t& value) {
    const Byte* begin = p;
    int64_t v = 0;
    for (; p < end && is_digit(*p); ++p)
        v = v > (kLargest - 9) / 10 ? kLargest : v * 10 + (*p - '0');
    value = v;
    return p > begin;
}

// Number of bytes that readers of short numbers may read ahead.
constexpr int64_t kAhead = 40;

// Reads a number of one to seven digits at p (eight bytes must be readable); returns the number of
// digits, 0 if there are fewer or more. Reads all eight bytes at once: the lengths of numbers are
// too irregular for branch prediction in a loop over digits.
inline int read_short(const Byte* p, uint32_t& value) {
    if constexpr (std::endian::native != std::endian::little) {
        const Byte* q = p;
        int64_t v;
        const bool found = read_number(q, p + 8, v);
        value = uint32_t(v);
        return found && q - p < 8 ? int(q - p) : 0;
    }
    uint64_t v;
    std::memcpy(&v, p, 8);
    v ^= 0x3030303030303030u;  // digits become 0 to 9
    const uint64_t others = ((v + 0x7676767676767676u) | v) & 0x8080808080808080u;
    const int n = std::countr_zero(others) >> 3;
    if (n == 0 || n == 8) return 0;
    v <<= 64 - 8 * n;  // leading zeros
    v = v * 10 + (v >> 8);
    v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
         ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
        32;
    value = uint32_t(v);
    return n;
}

// Runs of lines of similar size, one per thread, with a minimum size.
inline std::vector<Lines> share(const Lines& all, int n_threads) {
    const int64_t size = all.end - all.begin;
    const int64_t n = std::clamp<int64_t>(size / kLeastPerThread, 1, std::max(n_threads, 1));
    std::vector<Lines> parts;
    const Byte* begin = all.begin;
    for (int64_t i = 1; i <= n && begin < all.end; ++i) {
        const Byte* end =
            i == n ? all.end : line_end(std::max(begin, all.begin + size / n * i), all.end);
        if (end < all.end) ++end;
        parts.push_back({begin, end, all.offset + (begin - all.begin), 0});
        begin = end;
    }
    return parts;
}

// Appends the next run of lines; its entries may be stored anywhere after the first run.
inline void append(Found& to, const Found& next, int64_t first_line) {
    std::memmove(to.words + to.n_entries, next.words, size_t(next.n_entries) * sizeof(int32_t));
    std::memmove(to.counts + to.n_entries, next.counts, size_t(next.n_entries) * sizeof(float));
    to.rows.reserve(to.rows.size() + next.rows.size());
    for (Row row : next.rows) {
        row.entry += to.n_entries;
        row.line += first_line + to.n_lines;
        to.rows.push_back(row);
    }
    for (Bad bad : next.bad) {
        bad.line += first_line + to.n_lines;
        to.bad.push_back(bad);
    }
    to.n_entries += next.n_entries;
    to.n_lines += next.n_lines;
    to.sorted = to.sorted && next.sorted;
}

}  // namespace opelda::text

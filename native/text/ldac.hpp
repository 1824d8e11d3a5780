// Lines "M word:count word:count ...", a document per line: LDA-C files.
#pragma once

#include "numbers.hpp"

namespace opelda::text {

struct PairLimits {
    int64_t first_id;
    int64_t n_words;
};

constexpr int64_t kLeastPair = 4;  // bytes of " 0:1"

class PairParser {
public:
    PairParser(const Lines& lines, const PairLimits& limits, Found& found)
        : lines_(lines), limits_(limits), found_(found) {}

    void run() {
        for (const Byte* p = lines_.begin; p < lines_.end; ++found_.n_lines) {
            const Byte* end = line_end(p, lines_.end);
            const Byte* first = skip_blanks(p, end);
            if (first < end) document(p, first, end);
            p = end < lines_.end ? end + 1 : end;
        }
    }

private:
    void document(const Byte* line, const Byte* p, const Byte* end) {
        const int64_t before = found_.n_entries;
        const Bad place = {0, lines_.offset + (line - lines_.begin), lines_.line + found_.n_lines,
                           0};
        const bool sorted = found_.sorted;
        int64_t n_pairs, value = 0;
        Kind kind = read_number(p, end, n_pairs) ? pairs(p, end, value) : kMalformed;
        if (kind == kNone && found_.n_entries - before != n_pairs) {
            kind = kLength;
            value = found_.n_entries - before;
        }
        if (kind == kNone) {
            found_.rows.push_back({-1, before, place.offset, place.line});
            return;
        }
        found_.bad.push_back({kind, place.offset, place.line, value});
        found_.n_entries = before;
        found_.sorted = sorted;
    }

    // Reads the pairs of a document; returns the first error.
    Kind pairs(const Byte* p, const Byte* end, int64_t& value) {
        int64_t last = -1;
        for (;;) {
            const Byte* before = p;
            p = skip_blanks(p, end);
            if (p == end) return kNone;
            if (p == before) return kMalformed;
            int64_t word, count;
            if (!pair(p, end, word, count) || (p < end && !is_blank(*p))) return kMalformed;
            value = word;
            word -= limits_.first_id;
            if (word < 0 || word >= limits_.n_words) return kWord;
            value = count;
            if (count < 1 || count > kLargestCount) return kCount;
            found_.sorted &= word > last;
            last = word;
            found_.words[found_.n_entries] = int32_t(word);
            found_.counts[found_.n_entries] = float(count);
            ++found_.n_entries;
        }
    }

    bool pair(const Byte*& p, const Byte* end, int64_t& word, int64_t& count) const {
        uint32_t number;
        const int n = lines_.end - p >= kAhead ? read_short(p, number) : 0;
        if (n && p[n] == ':' && is_digit(p[n + 1]) && !is_digit(p[n + 2])) {
            word = number;
            count = p[n + 1] - '0';
            p += n + 2;
            return true;
        }
        if (!read_number(p, end, word) || p == end || *p != ':') return false;
        return read_number(++p, end, count);
    }

    const Lines& lines_;
    const PairLimits& limits_;
    Found& found_;
};

inline void parse_pairs(const Lines& lines, const PairLimits& limits, int n_threads, Found& all) {
    const std::vector<Lines> parts = share(lines, n_threads);
    std::vector<Found> found(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
        const int64_t room = (parts[i].begin - lines.begin) / kLeastPair;
        found[i].words = all.words + room;
        found[i].counts = all.counts + room;
    }
    run_parts(int(parts.size()), [&](int i) { PairParser(parts[i], limits, found[i]).run(); });
    for (const Found& next : found) append(all, next, lines.line);
}

}  // namespace opelda::text

// Lines "document word count", numbered from 1, documents in ascending order: UCI bag-of-words
// files.
#pragma once

#include "numbers.hpp"

namespace opelda::text {

struct TripleLimits {
    int64_t n_documents;
    int64_t n_words;
    int64_t slack;  // allowed missing documents, beyond one per byte before
};

constexpr int64_t kLeastTriple = 6;  // bytes of "1 1 1\n"

class TripleParser {
public:
    TripleParser(const Lines& lines, const TripleLimits& limits, int64_t least, Found& found)
        : lines_(lines), limits_(limits), found_(found), least_(least) {}

    // Parses two runs of lines alternately. The end of a line is known only after its numbers are
    // read; a second run hides that latency.
    static void run(TripleParser& one, TripleParser& other) {
        const Byte *p = one.lines_.begin, *q = other.lines_.begin;
        while (one.far_from_end(p) && other.far_from_end(q)) {
            p = one.next(p);
            q = other.next(q);
        }
        one.finish(p);
        other.finish(q);
    }

    void finish(const Byte* p) {
        while (far_from_end(p)) p = next(p);
        while (p < lines_.end) p = any(p);
        found_.last_word = word_;
    }

private:
    bool far_from_end(const Byte* p) const { return lines_.end - p >= kAhead; }

    const Byte* next(const Byte* line) {
        const Byte* after = plain(line);
        if (!after) return any(line);
        ++found_.n_lines;
        return after;
    }

    const Byte* any(const Byte* line) {
        const Byte* end = line_end(line, lines_.end);
        const Byte* after = end < lines_.end ? end + 1 : end;
        if (const Byte* p = skip_blanks(line, end); p < end) numbers(line, p, end);
        ++found_.n_lines;
        return after;
    }

    // Parses a valid line in the usual form; returns nullptr and changes no state for other lines.
    const Byte* plain(const Byte* line) {
        const Byte* p = line;
        uint64_t begin;
        std::memcpy(&begin, p, 8);
        uint32_t document = 0, word, count;
        const bool same = (begin & same_mask_) == same_;
        if (same) {
            p += same_length_;
        } else {
            const int n = read_short(p, document);
            if (n == 0 || p[n] != ' ' || document < 1 || document < least_ || !fits(document, line))
                return nullptr;
            p += n + 1;
        }
        const Byte* rest = p;
        int n = read_short(p, word);
        if (n == 0 || p[n] != ' ' || word < 1 || word > limits_.n_words) return nullptr;
        p += n + 1;
        if (Byte(p[0] - '1') <= 8 && p[1] == '\n') {
            count = p[0] - '0';
            p += 2;
        } else {
            n = read_short(p, count);
            if (n == 0 || p[n] != '\n' || count < 1) return nullptr;
            p += n + 1;
        }
        if (!same) {
            if (document != document_) enter(document, line);
            remember(begin, int(rest - line));
        }
        put(word, count);
        return p;
    }

    // Parses any line that is not empty and reports its errors.
    void numbers(const Byte* line, const Byte* p, const Byte* end) {
        int64_t values[3];
        for (int i = 0; i < 3; ++i) {
            const Byte* before = p;
            p = skip_blanks(p, end);
            if ((i > 0 && p == before) || !read_number(p, end, values[i]))
                return bad(kMalformed, line, 0);
        }
        if (skip_blanks(p, end) != end) return bad(kMalformed, line, 0);
        const auto [document, word, count] = values;
        if (document < 1 || document > limits_.n_documents) return bad(kDocument, line, document);
        if (word < 1 || word > limits_.n_words) return bad(kWord, line, word);
        if (count < 1 || count > kLargestCount) return bad(kCount, line, count);
        if (document < least_) return bad(kOrder, line, document);
        if (!fits(document, line)) return bad(kGap, line, document);
        if (document != document_) {
            enter(document, line);
            forget();
        }
        put(word, count);
    }

    int64_t offset(const Byte* p) const { return lines_.offset + (p - lines_.begin); }
    bool fits(int64_t document, const Byte* line) const {
        return document <= limits_.n_documents && document - limits_.slack <= offset(line);
    }

    void bad(Kind kind, const Byte* line, int64_t value) {
        found_.bad.push_back({kind, offset(line), lines_.line + found_.n_lines, value});
    }

    void enter(int64_t document, const Byte* line) {
        found_.rows.push_back(
            {document - 1, found_.n_entries, offset(line), lines_.line + found_.n_lines});
        document_ = least_ = document;
        word_ = 0;
    }

    // Stores the first bytes of this document's lines: most lines repeat the prefix of the line
    // before.
    void remember(uint64_t begin, int length) {
        if constexpr (std::endian::native != std::endian::little) return;
        same_mask_ = length == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * length) - 1;
        same_ = begin & same_mask_;
        same_length_ = length;
    }

    void forget() {
        same_mask_ = 0;
        same_ = 1;
    }

    void put(int64_t word, int64_t count) {
        found_.sorted &= word > word_;
        word_ = word;
        found_.words[found_.n_entries] = int32_t(word - 1);
        found_.counts[found_.n_entries] = float(count);
        ++found_.n_entries;
    }

    const Lines& lines_;
    const TripleLimits& limits_;
    Found& found_;
    int64_t least_;                      // smallest valid document number
    int64_t document_ = 0, word_ = 0;    // of the line before
    uint64_t same_ = 1, same_mask_ = 0;  // matches no line
    int same_length_ = 0;
};

// Parses the lines that follow `document` and, in it, `word`. The result does not depend on the
// number of threads: a run whose first document does not follow the run before is parsed again with
// the correct start.
inline void parse_triples(const Lines& lines, const TripleLimits& limits, int64_t document,
                          int64_t word, int n_threads, Found& all) {
    const std::vector<Lines> parts = share(lines, 2 * n_threads);
    std::vector<Found> found(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
        const int64_t room = (parts[i].begin - lines.begin) / kLeastTriple;
        found[i].words = all.words + room;
        found[i].counts = all.counts + room;
    }
    run_parts(int((parts.size() + 1) / 2), [&](int number) {
        const auto i = size_t(number);
        TripleParser one(parts[2 * i], limits, 0, found[2 * i]);
        if (2 * i + 1 == parts.size()) return one.finish(parts[2 * i].begin);
        TripleParser other(parts[2 * i + 1], limits, 0, found[2 * i + 1]);
        TripleParser::run(one, other);
    });
    for (size_t i = 0; i < parts.size(); ++i) {
        Found& next = found[i];
        if (!next.rows.empty() && next.rows[0].document + 1 < document) {
            next.n_entries = next.n_lines = 0;
            next.sorted = true;
            next.rows.clear();
            next.bad.clear();
            TripleParser(parts[i], limits, document, next).finish(parts[i].begin);
        }
        if (!next.rows.empty()) {
            const bool goes_on = next.rows[0].document + 1 == document;
            if (goes_on) next.sorted &= next.words[0] >= word;  // one counts from 0, `word` from 1
            document = next.rows.back().document + 1;
            word = next.last_word;
            if (goes_on && !all.rows.empty()) next.rows.erase(next.rows.begin());
        }
        append(all, next, lines.line);
    }
    all.last_word = word;
}

}  // namespace opelda::text

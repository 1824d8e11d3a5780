// Converts texts to word codes: runs of word characters, found with a bit per byte.
#pragma once

#include "word_table.hpp"

namespace opelda::text {

// Classes of a code point; unspaced: a script without spaces between words.
constexpr uint8_t kWord = 1, kLetter = 2, kUnspaced = 4;
constexpr int64_t kCodePoints = 0x110000;

// Rule that selects words among runs.
struct Rule {
    const uint8_t* classes;  // of every code point
    size_t least;            // characters
    bool need_letter;
    bool pairs;  // pairs of neighbours instead of a run of unspaced characters
};

// Tokens of some texts, and their cumulative number at the end of each text.
struct Tokens {
    std::vector<int32_t> codes;
    std::vector<int64_t> ends{0};
    void close() { ends.push_back(int64_t(codes.size())); }
};

struct Character {
    uint32_t point;
    uint32_t length;  // bytes; 0: not UTF-8
};

inline Character decode(const unsigned char* at, size_t left) {
    const auto follows = [&](size_t i) { return i < left && (at[i] & 0xC0) == 0x80; };
    const uint32_t lead = at[0];
    if (lead < 0x80) return {lead, 1};
    if (lead >= 0xC2 && lead < 0xE0 && follows(1)) return {(lead & 0x1F) << 6 | (at[1] & 0x3Fu), 2};
    if (lead >= 0xE0 && lead < 0xF0 && follows(1) && follows(2)) {
        const uint32_t point = (lead & 0x0F) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
        if (point >= 0x800 && (point < 0xD800 || point >= 0xE000)) return {point, 3};
    }
    if (lead >= 0xF0 && lead < 0xF5 && follows(1) && follows(2) && follows(3)) {
        const uint32_t point =
            (lead & 0x07) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
        if (point >= 0x10000 && point < kCodePoints) return {point, 4};
    }
    return {0, 0};
}

template <class Table> class Scanner {
public:
    Scanner(Table& table, Rule rule, Tokens& tokens)
        : rule_(rule), tokens_(tokens), lookup_(table, tokens.codes) {
        for (int byte = 0; byte < 128; ++byte) {
            if (!(rule.classes[byte] & kWord)) continue;
            if (byte && rule.classes[byte - 1] & kWord)
                ++ranges_.back().span;
            else
                ranges_.push_back({static_cast<unsigned char>(byte), 0});
        }
    }

    // Add the words of a text to the tokens.
    void scan(std::string_view text) {
        const bool ascii = mark(text);
        size_t begin = 0;
        bool inside = false;
        uint64_t before = 0;
        for (size_t i = 0; i < bits_.size(); ++i) {
            // a bit where a run starts or ends; the bit after the last byte is never set, so every
            // run ends
            uint64_t edges = bits_[i] ^ (bits_[i] << 1 | before);
            before = bits_[i] >> 63;
            for (; edges; edges &= edges - 1) {
                const size_t at = i * 64 + size_t(std::countr_zero(edges));
                if (!inside)
                    begin = at;
                else if (ascii || !rule_.pairs)
                    add(text, begin, at, ascii);
                else
                    cut(text, begin, at);
                inside = !inside;
            }
        }
        lookup_.flush();
        tokens_.close();
    }

private:
    struct Range {
        unsigned char first, span;
    };

    void add(std::string_view text, size_t begin, size_t end, bool ascii) {
        if (wanted(text.substr(begin, end - begin), ascii))
            lookup_.add(text.data() + begin, end - begin, text.size() - begin);
    }

    // Add the parts of a run between unspaced characters, and pairs of unspaced characters; marks
    // belong to the letter before.
    void cut(std::string_view text, size_t begin, size_t end) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
        size_t before = begin, last = begin, n_letters = 0;  // start of the last two letters
        size_t part = begin;
        bool unspaced = false;
        for (size_t at = begin; at < end;) {
            const Character c = decode(bytes + at, end - at);
            const uint8_t kind = rule_.classes[c.point];
            const bool letter = kind & kLetter;
            if (unspaced ? letter && !(kind & kUnspaced) : letter && (kind & kUnspaced)) {
                close(text, part, at, unspaced, before, n_letters);
                part = at, unspaced = !unspaced, n_letters = 0;
            }
            if (unspaced && letter) {
                if (n_letters >= 2) add(text, before, at, false);
                before = last, last = at, ++n_letters;
            }
            at += std::max<size_t>(c.length, 1);
        }
        close(text, part, end, unspaced, before, n_letters);
    }

    void close(std::string_view text, size_t part, size_t end, bool unspaced, size_t before,
               size_t n_letters) {
        if (part < end) add(text, unspaced && n_letters >= 2 ? before : part, end, false);
    }

    // Set the bits of word-character bytes; return whether all bytes are ASCII.
    bool mark(std::string_view text) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
        bits_.assign(text.size() / 64 + 1, 0);
        bool ascii = true;
        size_t at = 0;
        for (size_t block = 0; block < text.size(); block += 64) {
            const size_t end = std::min(block + 64, text.size());
            if (at == block) {
                unsigned char last[64] = {};
                if (end < block + 64) std::memcpy(last, bytes + block, end - block);
                if (mark_ascii(end < block + 64 ? last : bytes + block, bits_[block / 64])) {
                    if (end < block + 64) bits_[block / 64] &= (uint64_t(1) << (end - block)) - 1;
                    at = end;
                    continue;
                }
            }
            ascii = false;
            while (at < end) {
                const Character c = decode(bytes + at, text.size() - at);
                if (c.length && rule_.classes[c.point] & kWord)
                    for (size_t i = at; i < at + c.length; ++i)
                        bits_[i / 64] |= uint64_t(1) << i % 64;
                at += std::max<size_t>(c.length, 1);
            }
        }
        return ascii;
    }

    // The bits of sixty-four bytes at once, if all are ASCII.
    bool mark_ascii(const unsigned char* bytes, uint64_t& bits) const {
        unsigned char any = 0, inside[64] = {};
        for (int i = 0; i < 64; ++i) any |= bytes[i];
        if (any >= 0x80) return false;
        for (const Range& range : ranges_)
            for (int i = 0; i < 64; ++i)
                inside[i] |= static_cast<unsigned char>(bytes[i] - range.first) <= range.span;
        for (int i = 0; i < 64; i += 8) {
            if constexpr (std::endian::native == std::endian::little) {
                // eight bytes of 0 or 1 to eight bits: the product moves byte k to bit 56 + k
                bits |=
                    (load8(reinterpret_cast<const char*>(inside + i)) * 0x0102040810204080u >> 56)
                    << i;
            } else {
                for (int k = i; k < i + 8; ++k) bits |= uint64_t(inside[k]) << k;
            }
        }
        return true;
    }

    bool wanted(std::string_view word, bool ascii) const {
        if (word.size() < rule_.least) return false;
        if (!ascii && word.size() <= 4 * (rule_.least - 1)) {
            size_t characters = 0;
            for (const char byte : word) characters += (byte & 0xC0) != 0x80;
            if (characters < rule_.least) return false;
        }
        if (!rule_.need_letter) return true;
        const auto* bytes = reinterpret_cast<const unsigned char*>(word.data());
        for (size_t i = 0; i < word.size();) {
            const Character c = decode(bytes + i, word.size() - i);
            if (rule_.classes[c.point] & kLetter) return true;
            i += std::max<size_t>(c.length, 1);
        }
        return false;
    }

    Rule rule_;
    std::vector<Range> ranges_;   // of word characters in ASCII
    std::vector<uint64_t> bits_;  // one bit per byte of the text, and one after it
    Tokens& tokens_;
    Lookup<Table> lookup_;
};

// The pairs of neighbours, joined by a space; with `singles`, a text's words precede its pairs.
// `renamed`: the new code of each code; -1 drops the code.
inline void pair_up(const WordTable& words, const int32_t* codes, const int64_t* ends,
                    int64_t n_texts, const int32_t* renamed, bool singles, WordTable& table,
                    Tokens& tokens) {
    Lookup lookup(table, tokens.codes);
    std::vector<std::string_view> kept;
    std::vector<char> joined;
    for (int64_t text = 0; text < n_texts; ++text) {
        kept.clear();
        size_t n_letters = 0;
        for (int64_t i = ends[text]; i < ends[text + 1]; ++i) {
            if (renamed[codes[i]] < 0) continue;
            kept.push_back(words.word(renamed[codes[i]]));
            n_letters += kept.back().size() + 1;
        }
        if (singles)
            for (const std::string_view word : kept)
                lookup.add(word.data(), word.size(), word.size());
        joined.resize(2 * n_letters);
        char* at = joined.data();
        for (size_t i = 1; i < kept.size(); ++i) {
            char* const pair = at;
            at = std::copy(kept[i - 1].begin(), kept[i - 1].end(), at);
            *at++ = ' ';
            at = std::copy(kept[i].begin(), kept[i].end(), at);
            lookup.add(pair, size_t(at - pair), size_t(at - pair));
        }
        lookup.flush();
        tokens.close();
    }
}

}  // namespace opelda::text

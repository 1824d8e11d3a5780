// Converts word codes to rows of counts: sorted, with distinct words.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace opelda::text {

struct Rows {
    std::vector<int64_t> ends{0};
    std::vector<int32_t> words;
    std::vector<float> counts;
};

// A set of numbers that is emptied in ascending order: a bit per number, a bit per sixty-four bits
// that are not all zero, and so on. Sorts the few words of a text in linear time.
class SortedSet {
public:
    explicit SortedSet(int64_t n) {
        for (auto& level : levels_) {
            n = (n + 63) / 64;
            level.assign(size_t(n), 0);
        }
    }

    void add(uint32_t number) {
        for (auto& level : levels_) {
            level[number / 64] |= uint64_t(1) << number % 64;
            number /= 64;
        }
    }

    template <class Use> void empty(Use&& use) {
        for (size_t i = 0; i < levels_[2].size(); ++i)
            each(levels_[2], i, [&](size_t j) {
                each(levels_[1], j, [&](size_t k) { each(levels_[0], k, use); });
            });
    }

private:
    template <class Use> static void each(std::vector<uint64_t>& level, size_t i, Use&& use) {
        for (uint64_t bits = level[i]; bits; bits &= bits - 1)
            use(i * 64 + size_t(std::countr_zero(bits)));
        level[i] = 0;
    }

    std::vector<uint64_t> levels_[3];
};

// `renamed`: the new word of each code, below `n_words`; -1 drops the code.
inline Rows count_rows(const int32_t* codes, const int64_t* ends, int64_t n_texts,
                       const int32_t* renamed, int64_t n_words) {
    Rows rows;
    rows.ends.reserve(size_t(n_texts) + 1);
    rows.words.reserve(size_t(ends[n_texts]));
    rows.counts.reserve(size_t(ends[n_texts]));
    std::vector<uint32_t> count(size_t(n_words), 0);
    SortedSet held(n_words);
    for (int64_t text = 0; text < n_texts; ++text) {
        for (int64_t i = ends[text]; i < ends[text + 1]; ++i) {
            const int32_t word = renamed[codes[i]];
            if (word < 0) continue;
            ++count[word];
            held.add(uint32_t(word));
        }
        held.empty([&](size_t word) {
            rows.words.push_back(int32_t(word));
            rows.counts.push_back(float(count[word]));
            count[word] = 0;
        });
        rows.ends.push_back(int64_t(rows.words.size()));
    }
    return rows;
}

// The same for few texts and a large vocabulary: no array has the vocabulary's length. A code of -1
// is not a word.
inline Rows count_few(const std::vector<int32_t>& codes, const std::vector<int64_t>& ends,
                      const int32_t* columns) {
    Rows rows;
    std::vector<int32_t> held;
    for (size_t text = 0; text + 1 < ends.size(); ++text) {
        held.clear();
        for (int64_t i = ends[text]; i < ends[text + 1]; ++i)
            if (codes[i] >= 0 && columns[codes[i]] >= 0) held.push_back(columns[codes[i]]);
        std::sort(held.begin(), held.end());
        for (size_t i = 0; i < held.size();) {
            const size_t first = i;
            while (i < held.size() && held[i] == held[first]) ++i;
            rows.words.push_back(held[first]);
            rows.counts.push_back(float(i - first));
        }
        rows.ends.push_back(int64_t(rows.words.size()));
    }
    return rows;
}

}  // namespace opelda::text

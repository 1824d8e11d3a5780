// Words and their codes, numbered by first appearance.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

namespace opelda::text {

inline uint64_t load8(const char* from) {
    uint64_t bytes;
    std::memcpy(&bytes, from, 8);
    return bytes;
}

inline uint64_t mixed(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return uint64_t(product) ^ uint64_t(product >> 64);
}

// Random per process, to prevent crafted texts whose words all collide. Codes do not depend on the
// seeds.
struct Seeds {
    uint64_t first, second;
    Seeds() {
        std::random_device draw;
        first = uint64_t(draw()) << 32 | draw();
        second = uint64_t(draw()) << 32 | draw();
    }
};
// (NOLINTNEXTLINE(bugprone-throwing-static-initialization): seeds are required)
inline const Seeds kSeeds;

// Lookup key of a word: its first sixteen bytes, zero-padded, and its length identify words of up
// to sixteen bytes.
struct Key {
    uint64_t first, second, hash;
    uint32_t length;
};

// The lowest 0 to 8 bytes.
constexpr uint64_t kLowest[9] = {0,           0xFF,         0xFFFF,         0xFFFFFF,
                                 0xFFFFFFFF,  0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF,
                                 ~uint64_t(0)};

// `readable` bytes may be read from `word` on; reading sixteen bytes at once if possible gives most
// of the speed.
inline Key key_of(const char* word, size_t length, size_t readable) {
    Key key = {0, 0, 0, uint32_t(length)};
    if (readable >= 16 && std::endian::native == std::endian::little) {
        key.first = load8(word) & kLowest[std::min<size_t>(length, 8)];
        key.second =
            load8(word + 8) & kLowest[std::min<size_t>(std::max<size_t>(length, 8) - 8, 8)];
    } else if (length) {
        char padded[16] = {};
        std::memcpy(padded, word, std::min<size_t>(length, 16));
        key.first = load8(padded);
        key.second = load8(padded + 8);
    }
    key.hash = mixed(key.first ^ kSeeds.first, key.second ^ kSeeds.second ^ length);
    if (length > 16) [[unlikely]] {
        if (length > UINT32_MAX)
            throw std::length_error(
                "A word is longer than 4 GiB; check how the texts are cut into words.");
        for (size_t i = 16; i + 8 < length; i += 8)
            key.hash = mixed(key.hash ^ load8(word + i), kSeeds.first);
        key.hash = mixed(key.hash ^ load8(word + length - 8), kSeeds.second);
    }
    return key;
}

class WordTable {
public:
    WordTable() : slots_(kFewest), ends_(1, 0) {}

    int64_t size() const { return int64_t(ends_.size()) - 1; }

    std::string_view word(int64_t code) const {
        return {letters_.data() + ends_[code], size_t(ends_[code + 1] - ends_[code])};
    }

    void prefetch(const Key& key) const {
        __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)]);
    }

    // The word's code; a new word gets the next one.
    int32_t code(const Key& key, const char* word) {
        Slot* slot = const_cast<Slot*>(place(key, word));
        return slot->code >= 0 ? slot->code : add(slot, key, word);
    }

    // The word's code; -1 if unknown.
    int32_t find(const Key& key, const char* word) const { return place(key, word)->code; }

    int32_t code(std::string_view word) {
        // a key has the word's length
        // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
        return code(key_of(word.data(), word.size(), word.size()), word.data());
    }

private:
    struct Slot {
        uint64_t first = 0, second = 0, hash = 0;
        uint32_t length = 0;
        int32_t code = -1;
    };
    static constexpr size_t kFewest = 1024;

    // The slot of the word, or the free slot for it.
    const Slot* place(const Key& key, const char* word) const {
        const size_t mask = slots_.size() - 1;
        for (size_t i = key.hash & mask;; i = (i + 1) & mask) {
            const Slot& slot = slots_[i];
            if (slot.code < 0) return &slot;
            if (slot.hash == key.hash && slot.first == key.first && slot.second == key.second &&
                slot.length == key.length &&
                (key.length <= 16 || std::memcmp(letters_.data() + ends_[slot.code] + 16, word + 16,
                                                 key.length - 16) == 0))
                return &slot;
        }
    }

    // All allocations that may fail precede the first lasting change.
    int32_t add(Slot* slot, const Key& key, const char* word) {
        const int64_t code = size();
        if (code == INT32_MAX)
            throw std::length_error(
                "There are more than 2**31 - 1 different words; take fewer texts at a time.");
        if (size_t(code + 1) * 2 > slots_.size()) {
            grow();
            slot = const_cast<Slot*>(place(key, word));
        }
        if (ends_.size() == ends_.capacity()) ends_.reserve(ends_.size() * 2);
        letters_.insert(letters_.end(), word, word + key.length);
        ends_.push_back(int64_t(letters_.size()));
        *slot = {key.first, key.second, key.hash, key.length, int32_t(code)};
        return int32_t(code);
    }

    void grow() {
        std::vector<Slot> larger(slots_.size() * 2);
        const size_t mask = larger.size() - 1;
        for (const Slot& slot : slots_) {
            if (slot.code < 0) continue;
            size_t i = slot.hash & mask;
            while (larger[i].code >= 0) i = (i + 1) & mask;
            larger[i] = slot;
        }
        slots_.swap(larger);
    }

    std::vector<Slot> slots_;
    std::vector<char> letters_;
    std::vector<int64_t> ends_;  // end of each word among the letters, after a zero
};

// Looks words up in batches, which overlaps their memory latencies; words missing from a constant
// table are -1.
template <class Table> class Lookup {
public:
    Lookup(Table& table, std::vector<int32_t>& codes) : table_(table), codes_(codes) {}

    // The word's memory must remain valid until `flush`, which must be the last call.
    void add(const char* word, size_t length, size_t readable) {
        Found& found = found_[n_found_++];
        found = {key_of(word, length, readable), word};
        table_.prefetch(found.key);
        if (n_found_ == kTogether) flush();
    }

    void flush() {
        for (size_t i = 0; i < n_found_; ++i) {
            if constexpr (std::is_const_v<Table>)
                codes_.push_back(table_.find(found_[i].key, found_[i].word));
            else
                codes_.push_back(table_.code(found_[i].key, found_[i].word));
        }
        n_found_ = 0;
    }

private:
    struct Found {
        Key key;
        const char* word;
    };
    static constexpr size_t kTogether = 32;

    Table& table_;
    std::vector<int32_t>& codes_;
    Found found_[kTogether];
    size_t n_found_ = 0;
};

}  // namespace opelda::text

#include "slot_store.hpp"

#include <utility>

namespace opelda {

namespace {

// Largest first, ties by topic: depends only on the document's tokens, not on their history. Slots
// are few and usually in order.
using Place = std::vector<SlotStore::Slot>::iterator;
void sort(Place begin, Place end) {
    const auto before = [](const SlotStore::Slot& a, const SlotStore::Slot& b) {
        return a.size != b.size ? a.size > b.size : a.topic < b.topic;
    };
    for (Place next = begin; next != end; ++next)
        for (Place at = next; at != begin && before(*at, at[-1]); --at) std::swap(*at, at[-1]);
}

}  // namespace

void load_slots(const Sweep& s, int64_t block, SlotGroup* groups, bool none) {
    const SlotStore::Slot* from = s.slots->blocks[std::size_t(block)].data();
    for (int64_t d = s.block_docs[block]; d < s.block_docs[block + 1]; ++d) {
        SlotGroup* doc = groups + (s.first_group[d] - s.block_groups[block]);
        const uint32_t n = none ? 0 : s.slots->n_slots[std::size_t(d)];
        doc->n_slots = n;
        doc->prior_row = s.prior_rows ? s.prior_rows[d] : 0;
        for (uint32_t first = 0; first == 0 || first < n; first += kSlots)
            for (uint32_t i = 0; i < kSlots; ++i) {
                SlotGroup& group = doc[first / kSlots];
                const bool used = first + i < n;
                group.sizes[i] = used ? from[i].size : 0.0f;
                group.topics[i] = used ? from[i].topic : uint16_t(s.n_topics);
                if (i + 1 == kSlots || first + i + 1 == n) from += used ? i + 1 : 0;
            }
    }
}

void save_slots(const Sweep& s, int64_t block, const SlotGroup* groups) {
    std::vector<SlotStore::Slot>& to = s.slots->blocks[std::size_t(block)];
    to.clear();
    for (int64_t d = s.block_docs[block]; d < s.block_docs[block + 1]; ++d) {
        const SlotGroup* doc = groups + (s.first_group[d] - s.block_groups[block]);
        const std::size_t before = to.size();
        for (uint32_t i = 0; i < doc->n_slots; ++i) {
            const SlotGroup& group = doc[i / kSlots];
            if (group.sizes[i % kSlots] > 0)
                to.push_back({group.sizes[i % kSlots], group.topics[i % kSlots]});
        }
        sort(to.begin() + std::ptrdiff_t(before), to.end());
        s.slots->n_slots[std::size_t(d)] = uint16_t(to.size() - before);
    }
}

}  // namespace opelda

// The topics of a document in groups of slots (kernels.hpp): operations for sweep.hpp.
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "checked.hpp"
#include "kernels.hpp"
#include "simd.hpp"

namespace OPELDA_ISA {

using opelda::kSlots;
using opelda::SlotGroup;

constexpr int kQuad = 4;
typedef float v4 __attribute__((vector_size(16)));
typedef int32_t n4 __attribute__((vector_size(16)));

// Number of running sums that are at most `target`: among four, and in a group.
OPELDA_INLINE uint32_t sum_of(n4 passed) {
#if defined(__aarch64__)
    return uint32_t(-vaddvq_s32(int32x4_t(passed)));
#else
    const n4 folded = passed + __builtin_shufflevector(passed, passed, 2, 3, 0, 1);
    return uint32_t(-(folded[0] + folded[1]));
#endif
}
OPELDA_INLINE n4 up_to(const float* sums, float target) {
    v4 four;
    std::memcpy(&four, sums, sizeof four);
    return four <= target;
}
OPELDA_INLINE uint32_t quad_up_to(const float* sums, float target) {
    return sum_of(up_to(sums, target));
}
OPELDA_INLINE uint32_t count_up_to(const float* sums, float target) {
    static_assert(kSlots == 2 * kQuad);
    return sum_of(up_to(sums, target) + up_to(sums + kQuad, target));
}

// One instruction each (zeros and NaNs need no fixed order here).
OPELDA_INLINE float smaller(float a, float b) {
#if defined(__aarch64__)
    return __builtin_fminf(a, b);
#else
    return a < b ? a : b;
#endif
}
OPELDA_INLINE float larger(float a, float b) {
#if defined(__aarch64__)
    return __builtin_fmaxf(a, b);
#else
    return a > b ? a : b;
#endif
}

// Address of the size of a topic in a document. Two groups are compared together, so that branches
// do not depend on the group. The loop has no bound: a token's topic is always among its document's
// slots, because `enter` added it and sizes are exact sums: a slot is empty, and may be reused,
// only when its topic has no token left.
OPELDA_INLINE float* size_of(SlotGroup* doc, uint32_t n_slots, uint16_t topic) {
    typedef uint16_t v8 __attribute__((vector_size(16)));
    for (;; doc += 2, n_slots -= 2 * kSlots) {
        SlotGroup* const other = doc + (n_slots > kSlots);
        v8 one, two;
        std::memcpy(&one, doc->topics, sizeof one);
        std::memcpy(&two, other->topics, sizeof two);
        one = v8(one == topic), two = v8(two == topic);
        // 16 bits or nibbles, one per slot
#if defined(__aarch64__)
        constexpr uint32_t each = 4;
        const uint8x16_t bytes = vuzp1q_u8(uint8x16_t(one), uint8x16_t(two));
        const uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4);
        const uint64_t bits = vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
#elif defined(__SSE2__)
        constexpr uint32_t each = 1;
        const uint64_t bits =
            uint32_t(_mm_movemask_epi8(_mm_packs_epi16(__m128i(one), __m128i(two))));
#else
        constexpr uint32_t each = 1;
        uint64_t bits = 0;
        for (int i = 0; i < kSlots; ++i)
            bits |= uint64_t(one[i] & 1) << i | uint64_t(two[i] & 1) << (kSlots + i);
#endif
        if (!bits) [[unlikely]] {
            OPELDA_ASSERT(n_slots > 2 * kSlots);
            continue;
        }
        const uint32_t slot = uint32_t(__builtin_ctzll(bits)) / each;
        return &(slot < kSlots ? doc : other)->sizes[slot % kSlots];
    }
}

// The first slot of a group with the topic, and the first empty slot, or kSlots.
OPELDA_INLINE uint32_t slot_with(const SlotGroup& group, uint16_t topic) {
    typedef uint16_t v8 __attribute__((vector_size(16)));
    v8 topics;
    std::memcpy(&topics, group.topics, sizeof topics);
    topics = v8(topics == topic);
    uint64_t bits[2];
    std::memcpy(bits, &topics, sizeof bits);
    if (!(bits[0] | bits[1])) return kSlots;
    return bits[0] ? uint32_t(__builtin_ctzll(bits[0])) / 16
                   : kQuad + uint32_t(__builtin_ctzll(bits[1])) / 16;
}
OPELDA_INLINE uint32_t empty_slot(const SlotGroup& group) {
    for (uint32_t i = 0; i < kSlots; ++i)
        if (group.sizes[i] == 0) return i;
    return kSlots;
}

// Adds a token to a topic; a new topic gets the first empty slot. `none` marks slots without a
// topic and the slots after a document's last.
__attribute__((noinline)) inline void enter(SlotGroup* doc, uint16_t topic, float weight,
                                            uint16_t none) {
    const uint32_t n_groups = (doc->n_slots + kSlots - 1) / kSlots;
    for (uint32_t g = 0; g < n_groups; ++g) {
        const uint32_t slot = slot_with(doc[g], topic);
        if (slot == kSlots) continue;
        doc[g].sizes[slot] += weight;
        return;
    }
    uint32_t g = 0, slot = kSlots;
    while (g < n_groups && (slot = empty_slot(doc[g])) == kSlots) ++g;
    if (g == n_groups) {
        for (int i = 0; i < kSlots; ++i) doc[g].sizes[i] = 0, doc[g].topics[i] = none;
        slot = 0;
    }
    if (g * kSlots + slot == doc->n_slots) ++doc->n_slots;
    doc[g].topics[slot] = topic;
    doc[g].sizes[slot] = weight;
}

}  // namespace OPELDA_ISA

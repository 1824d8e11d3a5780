// The packed topics of all documents between sweeps.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels.hpp"

namespace opelda {

struct SlotStore {
    struct Slot {
        float size;
        uint16_t topic;
    };
    SlotStore(int64_t n_blocks, int64_t n_docs)
        : blocks(static_cast<std::size_t>(n_blocks)), n_slots(static_cast<std::size_t>(n_docs)) {}

    std::vector<std::vector<Slot>> blocks;
    std::vector<uint16_t> n_slots;  // of documents
    bool complete = false;          // every token has a topic
};

}  // namespace opelda

// The topics of documents and their shares, collected by threads and passed to NumPy.
#pragma once

#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "kernels.hpp"

namespace opelda {

struct PickSink {
    explicit PickSink(int64_t n_docs) : parts((n_docs + kStep - 1) / kStep), lengths(n_docs) {}
    struct Part {
        std::vector<int32_t> topics;
        std::vector<float> shares;
    };
    std::vector<Part> parts;  // one per range of the queue, so threads never share one
    std::vector<int32_t> lengths;

    // As NumPy arrays: offsets of documents, topics, shares.
    nb::object arrays() const {
        size_t total = 0;
        for (const auto& part : parts) total += part.topics.size();
        int64_t* indptr;
        int32_t* topics;
        float* shares;
        auto indptr_array = numpy_array<int64_t>(lengths.size() + 1, &indptr);
        auto topics_array = numpy_array<int32_t>(total, &topics);
        auto shares_array = numpy_array<float>(total, &shares);
        indptr[0] = 0;
        for (size_t i = 0; i < lengths.size(); ++i) indptr[i + 1] = indptr[i] + lengths[i];
        for (const auto& part : parts) {
            topics = std::copy(part.topics.begin(), part.topics.end(), topics);
            shares = std::copy(part.shares.begin(), part.shares.end(), shares);
        }
        return nb::make_tuple(indptr_array, topics_array, shares_array);
    }
};

}  // namespace opelda

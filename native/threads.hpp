// Documents shared out among threads. Every document is worked on alone and writes only its own outputs, so the results do
// not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels.hpp"

namespace opelda {

struct Queue {
    std::atomic<int64_t> next{0};
    int64_t end;
    int64_t step;
};

struct PickSink {
    explicit PickSink(int64_t n_docs, int64_t step) : step(step), parts((n_docs + step - 1) / step), lengths(n_docs) {}
    struct Part {
        std::vector<int32_t> topics, counts;
    };
    int64_t step;
    std::vector<Part> parts;  // one per range of the queue, so threads never share one
    std::vector<int32_t> lengths;
};

constexpr int64_t kStep = 32;

// Runs `worker` on up to `n_threads` threads until the queue of documents is empty.
void share_out(int64_t n_docs, int n_threads, const std::function<bool(Queue&)>& worker);

// Runs `part` for 0, 1, ..., n - 1, on up to n threads. They are kept for the next call.
void each(int n, const std::function<void(int)>& part);

}  // namespace opelda

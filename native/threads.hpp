// A thread pool shared by all calls, and early ends of a call: by an exception, or a signal.
//
// Every document (or word) is processed independently and writes only its own outputs, so results
// do not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace opelda {

// Calls `part` with 0, 1, ..., n - 1, on up to n threads including the caller. The first exception
// of a part, or of the calling thread's `Watch`, stops all threads and is rethrown here after every
// thread has left, so that referenced objects outlive them.
void run_parts(int n, const std::function<void(int)>& part);

// Whether this thread's call must end. Loops that may take longer than some milliseconds check
// regularly and return; their partial results are discarded.
bool stopped();

[[noreturn]] void out_of_memory();  // throws std::bad_alloc

// While this object exists, its thread calls `check` in `stopped`, with a minimum interval; an
// exception from `check` ends the call.
class Watch {
public:
    using Check = void();
    explicit Watch(Check* check);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

private:
    Check* outer_;  // of a call interrupted by a signal handler
};

// Ranges of items, distributed to threads.
struct Queue {
    std::atomic<int64_t> next{0};
    int64_t end;
    int64_t step;
};

constexpr int64_t kStep = 32;  // items per range

// Takes the next range; false if the queue is empty or the call must end.
bool take(Queue& queue, int64_t& begin, int64_t& end);

// Calls `worker` on up to `n_threads` threads with a shared queue of n items, in ranges of `step`.
void run_ranges(int64_t n, int n_threads, const std::function<void(Queue&)>& worker,
                int64_t step = kStep);

}  // namespace opelda

// One pool of threads for all calls, and the ways a call ends early: an exception, or a signal.
//
// Every document (or word) is worked on alone and writes only its own outputs, so results do not
// depend on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace opelda {

// Calls `part` with 0, 1, ..., n - 1, on up to n threads, the calling one among them. The first
// exception of a part, or of the calling thread's `Watch`, stops the others and is thrown here,
// when every thread has left: nothing that they refer to is freed before.
void run_parts(int n, const std::function<void(int)>& part);

// Whether the call that this thread works for is to end. Loops that may take longer than some
// milliseconds ask now and then, and return; what they leave undone is not looked at.
bool stopped();

[[noreturn]] void out_of_memory();  // throws std::bad_alloc

// While it lives, its thread calls `check` at every `stopped` of which the last check is long ago;
// what `check` throws ends the call.
class Watch {
public:
    using Check = void();
    explicit Watch(Check* check);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

private:
    Check* outer_;  // of a call that a signal's handler interrupted
};

// Ranges of items that threads take until none is left.
struct Queue {
    std::atomic<int64_t> next{0};
    int64_t end;
    int64_t step;
};

constexpr int64_t kStep = 32;  // items of a range

// Takes the next range; false where there is none, or where the call is to end.
bool take(Queue& queue, int64_t& begin, int64_t& end);

// Calls `worker` on up to `n_threads` threads, each with the same queue of n items, from which it
// takes `step` at a time.
void run_ranges(int64_t n, int n_threads, const std::function<void(Queue&)>& worker,
                int64_t step = kStep);

}  // namespace opelda

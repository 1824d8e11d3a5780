#include "threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace opelda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenChecks = std::chrono::milliseconds(50);

// The parts of a call, claimed individually by threads.
struct Job {
    const std::function<void(int)>* part;
    int n;
    int next = 0;     // index of the next part
    int at_work = 0;  // threads with a part
    std::atomic<bool> stopping{false};
    std::exception_ptr error = nullptr;  // read when all threads are idle

    void stop(std::exception_ptr reason) {
        if (!stopping.exchange(true)) error = std::move(reason);
    }
    void run(int number);
};

// This thread's job, and its signal check.
struct Here {
    Job* job = nullptr;
    Watch::Check* check = nullptr;
    Clock::time_point due;
};
thread_local Here here;  // NOLINT(bugprone-throwing-static-initialization): a clock does not throw

void check_if_due(Job& job) {
    if (!here.check || Clock::now() < here.due) return;
    try {
        here.check();
    } catch (...) {
        job.stop(std::current_exception());
    }
    here.due = Clock::now() + kBetweenChecks;
}

void Job::run(int number) {
    Job* const outer = std::exchange(here.job, this);
    try {
        if (!stopping.load(std::memory_order_relaxed)) (*part)(number);
    } catch (...) {
        stop(std::current_exception());
    }
    here.job = outer;
}

// Idle threads: creating a thread takes ten times as long as waking it, and an update has five
// parallel sections. The caller also takes parts, so a call never waits for a thread that is slow
// to wake or could not be created.
class Pool {
public:
    void run(Job& job) {
        std::unique_lock lock(mutex_);
        start(job.n - 1);
        jobs_.push_back(&job);
        if (job.n == 2)
            wake_.notify_one();
        else
            wake_.notify_all();
        while (job.next < job.n) work(job, lock);
        std::erase(jobs_, &job);
        while (job.at_work > 0) {
            if (!here.check) {
                done_.wait(lock);
                continue;
            }
            done_.wait_for(lock, kBetweenChecks);
            lock.unlock();  // a signal handler may re-enter
            check_if_due(job);
            lock.lock();
        }
    }

private:
    void start(int n) {
        try {
            for (; n_threads_ < n; ++n_threads_) std::thread([this] { wait_for_work(); }).detach();
            // NOLINTNEXTLINE(bugprone-empty-catch)
        } catch (const std::exception&) {  // no thread or memory left: use existing threads
        }
    }
    [[noreturn]] void wait_for_work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            const auto job =
                std::ranges::find_if(jobs_, [](const Job* j) { return j->next < j->n; });
            job == jobs_.end() ? wake_.wait(lock) : work(**job, lock);
        }
    }
    void work(Job& job, std::unique_lock<std::mutex>& lock) {
        const int number = job.next++;
        ++job.at_work;
        lock.unlock();
        job.run(number);
        lock.lock();
        if (--job.at_work == 0) done_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::vector<Job*> jobs_;  // of concurrent callers
    int n_threads_ = 0;
};

// Never destroyed: its threads may still wait at process exit. A forked process has no pool threads
// and creates a new pool.
std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { pool = nullptr; });
    (void)registered;
    Pool* found = pool;
    if (found) return *found;
    auto* made = new Pool;
    if (pool.compare_exchange_strong(found, made)) return *made;
    delete made;  // another thread created the pool first
    return *found;
}

}  // namespace

void run_parts(int n, const std::function<void(int)>& part) {
    if (n < 1) return;
    Job job{.part = &part, .n = n};
    n > 1 ? the_pool().run(job) : job.run(0);
    if (job.error) std::rethrow_exception(job.error);
}

bool stopped() {
    if (!here.job) return false;
    check_if_due(*here.job);
    return here.job->stopping.load(std::memory_order_relaxed);
}

Watch::Watch(Check* check) : outer_(std::exchange(here.check, check)) {
    here.due = Clock::now() + kBetweenChecks;
}

Watch::~Watch() { here.check = outer_; }

bool take(Queue& queue, int64_t& begin, int64_t& end) {
    if (stopped()) return false;
    begin = queue.next.fetch_add(queue.step, std::memory_order_relaxed);
    end = std::min(begin + queue.step, queue.end);
    return begin < queue.end;
}

void run_ranges(int64_t n, int n_threads, const std::function<void(Queue&)>& worker, int64_t step) {
    Queue queue{.end = n, .step = step};
    const int64_t useful = std::min<int64_t>(n_threads, (n + step - 1) / step);
    run_parts(int(std::max<int64_t>(1, useful)), [&](int) { worker(queue); });
}

void out_of_memory() { throw std::bad_alloc(); }

}  // namespace opelda

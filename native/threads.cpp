#include "threads.hpp"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace opelda {

bool take(Queue& queue, int64_t& begin, int64_t& end) {
    begin = queue.next.fetch_add(queue.step, std::memory_order_relaxed);
    end = std::min(begin + queue.step, queue.end);
    return begin < queue.end;
}

void append(PickSink& sink, int64_t document, int64_t n, const int32_t* topics, const int32_t* counts) {
    auto& part = sink.parts[document / sink.step];
    part.topics.insert(part.topics.end(), topics, topics + n);
    part.counts.insert(part.counts.end(), counts, counts + n);
    sink.lengths[document] = int32_t(n);
}

namespace {

// Work that is shared among threads: parts are taken one by one, by whoever comes.
struct Job {
    const std::function<void(int)>* part;
    int n;
    int next = 0;     // the part to be taken next
    int at_work = 0;  // threads that hold a part
};

// Threads that wait for work: making one takes ten times as long as waking it, and an update has five things to share
// out. The caller takes parts as well, so nothing waits for a thread that is slow to wake, nor for one there is no room for.
class Crew {
  public:
    void run(int n, const std::function<void(int)>& part) {
        Job job{&part, n};
        std::unique_lock lock(mutex_);
        hire(n - 1);
        jobs_.push_back(&job);
        if (n == 2)
            wake_.notify_one();
        else
            wake_.notify_all();
        while (job.next < n) work(job, lock);
        std::erase(jobs_, &job);
        done_.wait(lock, [&] { return job.at_work == 0; });
    }

  private:
    void hire(int n) {
        try {
            for (; hired_ < n; ++hired_) std::thread([this] { serve(); }).detach();
        } catch (const std::exception&) {  // no more threads, or no memory for one: the others do the rest
        }
    }
    [[noreturn]] void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            const auto job = std::ranges::find_if(jobs_, [](const Job* j) { return j->next < j->n; });
            job == jobs_.end() ? wake_.wait(lock) : work(**job, lock);
        }
    }
    void work(Job& job, std::unique_lock<std::mutex>& lock) {
        const int number = job.next++;
        ++job.at_work;
        lock.unlock();
        (*job.part)(number);
        lock.lock();
        if (--job.at_work == 0) done_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::vector<Job*> jobs_;  // of callers at the same time
    int hired_ = 0;
};

// Never taken apart: its threads may still wait when the process ends. A forked process has none of them, and begins anew.
std::atomic<Crew*> crew{nullptr};

Crew& the_crew() {
#ifndef _WIN32
    static const int told = pthread_atfork(nullptr, nullptr, [] { crew = nullptr; });
    (void)told;
#endif
    Crew* found = crew;
    if (found) return *found;
    auto* mine = new Crew;
    if (crew.compare_exchange_strong(found, mine)) return *mine;
    delete mine;  // another thread was first
    return *found;
}

}  // namespace

void each(int n, const std::function<void(int)>& part) {
    if (n > 1) return the_crew().run(n, part);
    if (n == 1) part(0);
}

void share_out(int64_t n_docs, int n_threads, const std::function<bool(Queue&)>& worker) {
    Queue queue;
    queue.end = n_docs;
    queue.step = kStep;
    std::atomic<bool> out_of_memory{false};
    const int64_t useful = std::max<int64_t>(1, std::min<int64_t>(n_threads, (n_docs + kStep - 1) / kStep));
    each(int(useful), [&](int) {
        try {
            if (!worker(queue)) out_of_memory = true;
        } catch (const std::bad_alloc&) {
            out_of_memory = true;
        }
    });
    if (out_of_memory) throw std::bad_alloc();
}

}  // namespace opelda

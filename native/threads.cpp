#include "threads.hpp"

#include <algorithm>
#include <exception>
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

void each(int n, const std::function<void(int)>& part) {
    std::vector<std::thread> others;
    others.reserve(size_t(n));
    int started = 1;
    try {
        for (; started < n; ++started) others.emplace_back(part, started);
    } catch (const std::exception&) {  // no more threads, or no memory for one: this one does the rest
    }
    part(0);
    for (; started < n; ++started) part(started);
    for (auto& t : others) t.join();
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

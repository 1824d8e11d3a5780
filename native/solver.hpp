// Shared by the iterative methods: the document's rows copied side by side (every iteration reads
// them), products with these rows, and the loop over documents.
#pragma once

#include "certificate.hpp"
#include "special.hpp"

namespace OPELDA_ISA {

using opelda::Queue;

// Above this number of weights the rows are not copied: no cache would hold the copy.
constexpr int64_t kLargestCopy = int64_t(1) << 20;

struct Gathered {
    const Problem& p;
    Document doc;
    float* copy;
    float* share;  // d_j / N: counts of any size stay within the range of floats
    bool copied = false;

    explicit Gathered(const Problem& problem) : p(problem) {}

    void allocate(Arena& arena) {
        doc.allocate(arena, p.max_words);
        share = arena.array<float>(padded(p.max_words));
        const int64_t wanted = p.max_words * p.stride;
        copy = arena.array<float>(wanted < kLargestCopy ? wanted : kLargestCopy);
    }

    void open(int64_t index) {
        doc.open(p, index);
        if (doc.n == 0) return;
        copied = doc.n * p.stride <= kLargestCopy;
        if (copied) {
            for (int64_t j = 0; j < doc.n; ++j) {
                std::memcpy(copy + j * p.stride, doc.row[j], sizeof(float) * p.stride);
                doc.row[j] = copy + j * p.stride;
            }
        }
        for (int64_t j = doc.n; j < doc.n_padded; ++j) doc.row[j] = doc.row[0];  // counts 0 times
        for (int64_t j = 0; j < doc.n_padded; ++j)
            share[j] = float(double(doc.count[j]) / doc.tokens);
    }
};

// Fetches the rows of a later document.
inline void fetch_rows(const Problem& p, int64_t index) {
    for (int64_t i = p.indptr[index]; i < p.indptr[index + 1]; ++i)
        for (int64_t k = 0; k < p.stride; k += kPad)
            __builtin_prefetch(p.rows + p.words[i] * p.stride + k, 0, 2);
}

// x_j = sum_k weight_k beta_kj for every word, over the first `width` topics.
inline void dot_rows(const Document& doc, const float* weight, int64_t width, float* x) {
    static_assert(kPad % kTile == 0 && kTile % kLanes == 0);
    for (int64_t j = 0; j < doc.n_padded; j += kTile) {
        vf acc[kTile] = {};
        for (int64_t k = 0; k < width; k += kLanes) {
            const vf w = load(weight + k);
            for (int i = 0; i < kTile; ++i) acc[i] += w * load(doc.row[j + i] + k);
        }
        for (int i = 0; i < kTile; i += kLanes) store(x + j + i, sums(acc + i));
    }
}

// Normalises topic weights to a mixture that sums to 1.
inline void normalise(const double* weight, int64_t n_topics, float* theta) {
    double total = 0;
    for (int64_t k = 0; k < n_topics; ++k) total += weight[k];
    for (int64_t k = 0; k < n_topics; ++k) theta[k] = float(weight[k] / total);
}

// A Solver allocates its arrays, prepares values that are equal for all documents, and solves a
// document at a time, returning the number of iterations. The certificate follows while the
// document's rows are still in the cache.
template <class Solver, class Settings>
void run_solver(const Problem& p, const Settings& settings, const Outputs& out, Queue& queue) {
    Gathered gathered(p);
    Certifier certifier(p);
    Solver solver(p, settings);
    const Arena arena([&](Arena& a) {
        gathered.allocate(a);
        certifier.allocate(a);
        solver.allocate(a);
    });
    solver.prepare();
    certifier.prepare();
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) {
        for (int64_t i = begin; i < end; ++i) {
            gathered.open(i);
            if (i + 1 < end) fetch_rows(p, i + 1);
            out.n_iter[i] = 0;
            if (gathered.doc.n == 0) continue;  // the caller sets the prior's mean
            float* theta = out.theta + i * p.n_topics;
            if constexpr (requires { solver.solve(gathered, i, theta, theta); }) {
                out.n_iter[i] = solver.solve(gathered, i, theta,
                                             out.factors ? out.factors + i * p.n_topics : nullptr);
            } else {
                out.n_iter[i] = solver.solve(gathered, i, theta);
            }
            if (opelda::stopped()) return;
            if (out.gap) certifier.run(i, theta, out);
        }
    }
}

}  // namespace OPELDA_ISA

// What the iterative methods share: the document's rows copied side by side (they are read in every iteration), products
// with all of them, and the loop over documents.
#pragma once

#include "certificate.hpp"
#include "special.hpp"

namespace OPELDA_ISA {

using opelda::Queue;
using opelda::Settings;

// Beyond this many weights the rows stay where they are: no cache would hold the copy either.
constexpr int64_t kLargestCopy = int64_t(1) << 20;

struct Gathered {
    Document doc;
    float* copy;
    float* share;  // d_j / N: counts of any size stay within the range of floats
    bool copied = false;

    void cut(Arena& arena, const Problem& p) {
        doc.cut(arena, p.max_words);
        share = arena.cut<float>(padded(p.max_words));
        const int64_t wanted = p.max_words * p.stride;
        copy = arena.cut<float>(wanted < kLargestCopy ? wanted : kLargestCopy);
    }

    void open(const Problem& p, int64_t index) {
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
        for (int64_t j = 0; j < doc.n_padded; ++j) share[j] = float(double(doc.count[j]) / doc.tokens);
    }
};

// Asks for the rows of a document that comes next.
inline void fetch_rows(const Problem& p, int64_t index) {
    for (int64_t i = p.indptr[index]; i < p.indptr[index + 1]; ++i)
        for (int64_t k = 0; k < p.stride; k += kLanes) __builtin_prefetch(p.rows + p.words[i] * p.stride + k, 0, 2);
}

// Sixteen vectors to the vector of their sums, as a tree.
OPELDA_INLINE vf sums(const vf* v) {
    vf a[8], b[4], c[2];
    for (int i = 0; i < 8; ++i)
        a[i] = __builtin_shufflevector(v[i], v[i + 8], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
               __builtin_shufflevector(v[i], v[i + 8], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    for (int i = 0; i < 4; ++i)
        b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27) +
               __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    for (int i = 0; i < 2; ++i)
        c[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
               __builtin_shufflevector(b[i], b[i + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    return __builtin_shufflevector(c[0], c[1], 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30) +
           __builtin_shufflevector(c[0], c[1], 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
}

// x_j = sum_k weight_k beta_kj for every word, over the first `width` topics.
inline void dot_rows(const Document& doc, const float* weight, int64_t width, float* x) {
    for (int64_t j = 0; j < doc.n_padded; j += kLanes) {
        vf acc[kLanes];
        for (int first = 0; first < kLanes; first += kTile) {
            vf part[kTile] = {};
            for (int64_t k = 0; k < width; k += kLanes) {
                const vf w = load(weight + k);
                for (int i = 0; i < kTile; ++i) part[i] += w * load(doc.row[j + first + i] + k);
            }
            for (int i = 0; i < kTile; ++i) acc[first + i] = part[i];
        }
        store(x + j, sums(acc));
    }
}

// Topic weights to a mixture that sums to 1.
inline void normalise(const double* weight, int64_t n_topics, float* theta) {
    double total = 0;
    for (int64_t k = 0; k < n_topics; ++k) total += weight[k];
    for (int64_t k = 0; k < n_topics; ++k) theta[k] = float(weight[k] / total);
}

// A Solver cuts its arrays from the arena, prepares what no document changes, and solves one document at a time, returning
// how many iterations that took. The certificate follows while the document's rows are still in the cache.
template <class Solver> bool run_solver(const Problem& p, const Settings& settings, const Outputs& out, Queue& queue) {
    Arena arena;
    Gathered gathered;
    Certifier certifier;
    Solver solver(p, settings);
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1 && !arena.allocate()) return false;
        gathered.cut(arena, p);
        certifier.cut(arena, p);
        solver.cut(arena);
    }
    solver.prepare();
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) {
        for (int64_t i = begin; i < end; ++i) {
            gathered.open(p, i);
            if (i + 1 < end) fetch_rows(p, i + 1);
            out.n_iter[i] = 0;
            if (gathered.doc.n == 0) continue;  // the caller fills in the prior's mean
            float* theta = out.theta + i * p.n_topics;
            out.n_iter[i] = solver.solve(gathered, i, theta);
            if (out.gap) certifier.run(p, i, theta, out);
        }
    }
    return true;
}

}  // namespace OPELDA_ISA

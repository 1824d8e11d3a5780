// EM for the mixture's posterior mean on the topics that explain most of a document
// (inference/em.py).
//
// One step from the prior's mean over all topics selects these topics; their weights are then
// gathered side by side, a column per topic, and further steps use only these columns. Times tokens
// + sum_k alpha_k, the words' probabilities are
//     x_j = sum_k alpha_k beta_kj + sum_(kept) n_k beta_kj,  n_k <- (n_k + alpha_k) sum_j d_j
//     beta_kj / x_j,
// with the n_k rescaled to sum to the tokens. All values are fractions of the tokens, so counts of
// any size stay within the range of floats.
#pragma once

#include "certificate.hpp"
#include "em_choice.hpp"

namespace OPELDA_ISA {

using opelda::EmSettings;
using opelda::Queue;

class Em {
public:
    Em(const Problem& p, const EmSettings& settings)
        : p(p),
          settings(settings),
          capacity(padded(p.max_words)),
          n_kept(settings.n_kept < p.n_topics ? settings.n_kept : p.n_topics),
          width(padded(n_kept)),
          ahead(p) {}

    void allocate(Arena& arena) {
        doc.allocate(arena, p.max_words);
        start = arena.array<float>(p.stride);
        score = arena.array<float>(p.stride);
        part = arena.array<float>(capacity);
        rest = arena.array<float>(capacity);
        ratio = arena.array<float>(capacity);
        columns = arena.array<float>(capacity * width);
        topic = arena.array<int32_t>((p.stride > width ? p.stride : width) + 1);
        share = arena.array<float>(width);
        prior = arena.array<float>(width);
    }

    void prepare() {
        for (int64_t k = 0; k < p.n_topics; ++k) total_alpha += p.alpha[k];
        for (int64_t k = 0; k < p.stride; ++k)
            start[k] = k < p.n_topics ? float(p.alpha[k] / total_alpha) : 0;
        for (int64_t i = 0; i < width; ++i) share[i] = prior[i] = 0;
    }

    // Returns whether the document has words; if not, the caller sets the prior's mean.
    bool solve(int64_t index, int64_t last) {
        doc.open(p, index);
        if (doc.n == 0) return false;
        ahead.aim(index + 1, last, settings.n_iter + 1);
        open(index);
        ahead.turn();
        gather();
        for (int64_t t = 0; t < settings.n_iter && !doc.stopped(t); ++t) {
            ahead.turn();
            step();
        }
        return true;
    }

    void write_theta(float* theta) const {
        const float scale = float(1 / (doc.tokens + total_alpha)), of_shares = scale_of_shares();
        for (int64_t k = 0; k < p.n_topics; ++k) theta[k] = p.alpha[k] * scale;
        for (int64_t i = 0; i < n_kept; ++i) theta[topic[i]] += share[i] * of_shares;
    }

    void write_kept(int32_t* topics, float* shares) const {
        const float of_shares = scale_of_shares();
        for (int64_t i = 0; i < n_kept; ++i) topics[i] = topic[i], shares[i] = share[i] * of_shares;
    }

    int64_t n_topics_kept() const { return n_kept; }

private:
    float scale_of_shares() const {
        return float(doc.tokens / (doc.tokens + total_alpha) / all_shares());
    }

    // Computes the words' fractions of the document, the first x, and the weight of each topic from
    // the prior's mean.
    void open(int64_t index) {
        const int32_t* words = p.words + p.indptr[index];
        const float scale = float(1 / doc.tokens), of_prior = float(total_alpha / doc.tokens);
        for (int64_t j = 0; j < doc.n; ++j) rest[j] = settings.start_words[words[j]];
        for (int64_t j = doc.n; j < doc.n_padded; ++j) rest[j] = 1;
        for (int64_t j = 0; j < doc.n_padded; j += kLanes) {
            const vf d = load(doc.count + j) * scale,
                     x = max(load(rest + j), broadcast(float(kTiny)));
            store(part + j, d);
            store(ratio + j, d / x);
            store(rest + j, x * of_prior);
        }
        add_rows(doc.n, doc.row, ratio, p.stride, 1.0f, score);
        for (int64_t k = 0; k < p.stride; k += kLanes)
            store(score + k, load(score + k) * load(start + k));
    }

    void gather() {
        choose_largest(score, p.n_topics, p.stride, n_kept, topic);
        for (int64_t i = n_kept; i < width; ++i) topic[i] = 0;  // a column without a share
        const int64_t length = doc.n_padded;
        for (int64_t j = 0; j < doc.n; ++j) {
            const float* row = doc.row[j];
            for (int64_t i = 0; i < width; i += kPad) {
                float* column = columns + i * length + j;
                for (int l = 0; l < kPad; ++l) column[l * length] = row[topic[i + l]];
            }
        }
        for (int64_t i = 0; i < width; ++i)
            for (int64_t j = doc.n; j < length; ++j) columns[i * length + j] = 0;
        for (int64_t i = 0; i < n_kept; ++i) {
            share[i] = score[topic[i]];
            prior[i] = float(p.alpha[topic[i]] / doc.tokens);
        }
    }

    // Shares are not normalised: they sum to `whole`, and x is scaled by `whole` instead, which
    // saves a division on the critical path.
    void step() {
        const int64_t length = doc.n_padded;
        const float whole = all_shares();
        for (int64_t j = 0; j < length; j += kLanes) {
            vf x[4] = {load(rest + j) * whole};
            for (int64_t i = 0; i < width; i += 4)
                for (int l = 0; l < 4; ++l)
                    x[l] += share[i + l] * load(columns + (i + l) * length + j);
            const vf total = (x[0] + x[1]) + (x[2] + x[3]);
            store(ratio + j, load(part + j) / max(total, broadcast(float(kTiny))));
        }
        for (int64_t i = 0; i < width; i += kLanes) {
            vf acc[kLanes] = {};
            for (int64_t j = 0; j < length; j += kLanes) {
                const vf r = load(ratio + j);
                for (int l = 0; l < kLanes; ++l) acc[l] += r * load(columns + (i + l) * length + j);
            }
            store(share + i, (load(share + i) + load(prior + i) * whole) * sums(acc));
        }
    }

    float all_shares() const {
        vf all = {};
        for (int64_t i = 0; i < width; i += kLanes) all += load(share + i);
        return sum(all);
    }

    const Problem& p;
    const EmSettings& settings;
    const int64_t capacity;       // words, padded
    const int64_t n_kept, width;  // topics, and padded
    Prefetcher ahead;
    Document doc;
    double total_alpha = 0;
    float *start, *score;        // per topic: the prior's mean, the weight computed from it
    float *part, *rest, *ratio;  // per word: d_j / tokens, the prior's part of x_j, d_j / x_j
    float* columns;              // a column of words per topic kept
    int32_t* topic;              // per topic kept: which it is
    float *share, *prior;        // n_k / tokens up to a factor, alpha_k / tokens
};

inline void run_em(const Problem& given, const EmSettings& settings, const Outputs& out,
                   Queue& queue) {
    Problem p = given;
    p.coarse = nullptr;  // reads and prefetches the rows themselves
    Certifier certifier(p);
    Em em(p, settings);
    const Arena arena([&](Arena& a) {
        em.allocate(a);
        certifier.allocate(a);
    });
    em.prepare();
    certifier.prepare();
    const int64_t width = em.n_topics_kept();
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) {
        for (int64_t i = begin; i < end; ++i) {
            const bool solved = em.solve(i, end);
            out.n_iter[i] = solved ? int32_t(settings.n_iter) : 0;
            if (!solved) continue;
            if (opelda::stopped()) return;
            if (out.kept_topics)
                em.write_kept(out.kept_topics + i * width, out.kept_shares + i * width);
            if (!out.theta) continue;
            em.write_theta(out.theta + i * p.n_topics);
            if (out.gap) certifier.run(i, out.theta + i * p.n_topics, out);
        }
    }
}

}  // namespace OPELDA_ISA

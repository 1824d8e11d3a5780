// The maximum-likelihood mixture of a document, to a given accuracy (inference/exact.py).
//
// An active-set method: Newton's method on a few topics (exact_face.hpp) alternates with a gradient
// over all topics, which certifies the mixture or finds missing topics. For every mixture q,
//     L(q) - L(theta) <= N log(max_k G_k),  G_k = sum_j d_j / N beta_kj / x_j
// (Jensen), so the loop ends when this bound, including its rounding error, is small enough. Single
// precision runs first; double precision continues if the certificate fails.
//
// Documents that need many topics start from a few EM steps over all topics, which leave little
// work for Newton's method. A document may cost `max_work` multiply-adds and some gradients: when
// Newton's next step would exceed the remaining work, the loop ends with its current bound, which
// is valid for any mixture.
#pragma once

#include <cmath>

#include "certificate.hpp"
#include "exact_outside.hpp"

namespace OPELDA_ISA {

using opelda::ExactSettings;
using opelda::Queue;

constexpr int64_t kManyTopics = 512;  // from here on the rows of a document fill caches
// Maximum size of the first face. Any size from three quarters of it on is accepted, which speeds
// up the selection: 11.5 us a document became 11.4. With many topics, twice this size: 66 became 58
// (benchmarks/README.md).
constexpr int64_t kFirstTopics = 16;
constexpr int kFirstLeaps = 3;     // on it
constexpr float kHardly = 2e-2f;   // share below which a topic with a low slope is dropped
constexpr int64_t kMostAdded = 8;  // topics per round, or a quarter of all topics
constexpr int kMostRounds = 60;
constexpr int64_t kMostTopics = 1024;  // of a face
constexpr int64_t kFewTopics = 128;    // a larger face restarts from all topics
constexpr int kLeaps = 16;             // on all topics: the bound is then about 0.01 N
constexpr double kFlatLeap = 0.98;     // a topic with little weight is dropped below this slope
// Gradients over all topics that a document may cost in addition to `max_work`: leaps take two.
constexpr int64_t kGradients = 64;

// Of a climb. (guarantee.py, benchmarks/README.md: other inner tolerances are not faster.)
constexpr int kSteps = 8;            // Newton steps between two gradients over all topics
constexpr double kMostOff = 0.05;    // slope error of the face before a full gradient
constexpr double kOffShare = 0.1;    // the same, relative to the last excess outside the face
constexpr double kOfGoal = 0.9;      // target, relative to the goal: leaves room for rounding
constexpr double kWorthShare = 0.3;  // topics join from this slope, relative to the largest
// Far from the goal, new topics start with a positive weight, and the face makes two long EM steps:
// 3.8 Hessians a document became 2, 12.9 us became 11.5 (benchmarks/README.md, guarantee.py).
constexpr int kFarRounds = 3;
constexpr double kFarSlope = 1.1;
constexpr double kFirstShare = 0.1, kMostFirst = 0.05;  // that weight: by slope, and its maximum

constexpr int64_t kFetchTurns = 8;     // steps to fetch the next document's rows
constexpr int64_t kFewRoundings = 40;  // besides sums: a bound for products (docs/inference.md)
constexpr double kLogRoundings = 64;   // of a difference of two log-likelihoods

class Exact {
public:
    Exact(const Problem& p, const ExactSettings& settings)
        : p(p),
          settings(settings),
          ahead(p),
          face(work),
          face64(work),
          outside(p, work),
          outside64(p, work) {}

    void allocate(Arena& arena) {
        doc.allocate(arena, p.max_words);
        static_assert(2 * kFirstTopics <= kLeastTopics);
        const int64_t words = padded(p.max_words);
        const int64_t most = kMostTopics < p.n_topics ? kMostTopics : p.n_topics;
        face.allocate(arena, p.max_words, most);
        face64.allocate(arena, p.max_words, most);
        means = arena.array<float>(words);
        outside.allocate(arena);
        outside64.allocate(arena);
    }

    // Returns the number of Newton steps; 0 topics for a document without words, whose mixture the
    // caller sets.
    int32_t solve(int64_t index, int64_t last) {
        doc.open(p, index);
        face.size = steps = 0;
        bound = 0;
        if (doc.n == 0) return 0;
        work.open(settings.max_work + kGradients * doc.n * p.n_topics);
        // the hardware prefetches long rows if there are enough of both
        large = p.stride >= kManyTopics && doc.n >= 2 * kAlong;
        ahead.aim(large ? last : index + 1, last, kFetchTurns);
        begin(index);
        const double asked = limit();
        const double off = rounding(0x1p-24);
        const double enough = std::exp(asked / doc.tokens) / (1 + off) - 1;
        double top = climb(face, outside, enough, off, kFewTopics);
        const bool far = top > 1 + (enough > off ? enough : off);
        if (far && (face.size > kFewTopics || work.spent()) && !opelda::stopped()) {
            begin_anew();
            top = climb(face, outside, enough, off, kMostTopics);
        }
        bound = doc.tokens * std::log(top * (1 + rounding(0x1p-24)));
        if (face.any_impossible()) bound = HUGE_VAL;
        const bool hopeless = work.spent() && bound < HUGE_VAL;
        if (!(bound <= asked) && !hopeless && !opelda::stopped()) finish(asked);
        ahead.turn();
        face.keep_positive();
        bound = bound != bound ? HUGE_VAL : positive(bound);
        return steps;
    }

    int64_t n_picked() const { return face.size; }
    const int32_t* topics() const { return face.topic; }
    const float* shares() const { return face.weight; }
    // Upper bound of the gain in log-likelihood of any mixture.
    double loss() const { return bound; }

private:
    double limit() const {
        const double by_tokens = settings.max_loss_per_token * doc.tokens;
        return settings.max_loss < by_tokens ? settings.max_loss : by_tokens;
    }

    // Starts from the topics with the largest weight after a few EM steps from the uniform mixture.
    void begin(int64_t index) {
        const int32_t* words = p.words + p.indptr[index];
        float* score = outside.score;
        int32_t* chosen = outside.chosen;
        const float all = float(1 / doc.tokens);
        for (int64_t j = 0; j < doc.n; ++j) means[j] = settings.start_words[words[j]];
        for (int64_t j = doc.n; j < doc.n_padded; ++j) means[j] = 1;
        for (int64_t j = 0; j < doc.n_padded; j += kLanes)
            store(outside.ratio + j, load(doc.count + j) * all / load(means + j));
        add_rows(doc.n, doc.row, outside.ratio, p.stride, 1.0f, score);
        ahead.turn();
        const int64_t first = large ? 2 * kFirstTopics : kFirstTopics;
        const int64_t n = choose_some(score, p.n_topics, p.stride, first / 4 * 3, first, chosen);
        face.open(doc, means);
        for (int64_t i = 0; i < n; ++i) face.add(chosen[i], score[chosen[i]]);
        face.pack(0);
        face.evaluate();
        for (int t = 0; t < kFirstLeaps && !doc.stopped(t); ++t) {
            ahead.turn();
            face.leap();
        }
        face.drop([&](int64_t i) { return face.weight[i] < kHardly && face.slope[i] < 1; });
        face.evaluate();
    }

    // Whether the work limit is reached or the call must end.
    bool ended() const { return work.spent() || doc.stopped(kAskNow); }

    // Restarts from all topics, or from the largest number that fits, after EM steps of double
    // length.
    void begin_anew() {
        float* score = outside.score;
        for (int64_t k = 0; k < p.n_topics; ++k) score[k] = std::fabs(score[k]);
        face.open(doc, means);
        const int64_t n = face.room() < p.n_topics ? face.room() : p.n_topics;
        choose_largest(score, p.n_topics, p.stride, n, outside.chosen);
        for (int64_t i = 0; i < n; ++i) face.add(outside.chosen[i], 1.0f / float(n));
        face.pack(0);
        face.evaluate();
        for (int t = 0; t < kLeaps && !doc.stopped(t); ++t) face.leap();
        const float hardly = kHardly / float(n);
        face.drop(
            [&](int64_t i) { return face.weight[i] < hardly && face.slope[i] < float(kFlatLeap); });
        face.evaluate();
    }

    // Climbs until no slope exceeds 1 + enough, or more than `most` topics have joined; returns the
    // largest slope. Differences as small as `rounding` are noise.
    template <class T>
    double climb(Face<T>& on, Outside<T>& rest, double enough, double rounding, int64_t most) {
        const double goal = enough > rounding ? enough : rounding;
        double within = kMostOff;
        for (int round = 0;; ++round) {
            if (within < goal) within = goal;
            for (int t = 0; t < kSteps && on.steepest() > 1 + within && !ended(); ++t) {
                ahead.turn();
                on.step();
                ++steps;
            }
            ahead.turn();
            const T others = rest.look(on, doc, T(1 + kOfGoal * goal), round == 0);
            const T inside = on.steepest();
            const double steepest = others > inside ? others : inside;
            if (steepest <= 1 + goal || round == kMostRounds || ended() || on.size > most)
                return steepest;
            if (others > 1 + goal) {
                // far away, a few EM steps are cheaper than Newton's but give no bound
                const bool far = round < kFarRounds && others > T(kFarSlope);
                const double share = kWorthShare * (others - 1);
                const double worth = 1 + (share > goal ? share : goal);
                on.drop([&](int64_t i) {
                    if (on.weight[i] > 0 || !(on.slope[i] < T(kFlatLeap))) return false;
                    rest.leave(on.topic[i]);
                    return true;
                });
                const int64_t first = on.size;
                const int64_t last = first + (first / 4 > kMostAdded ? first / 4 : kMostAdded);
                for (int64_t i = 0; i < rest.n_chosen && !on.full() && on.size < last; ++i) {
                    if (!(rest.slope[i] >= worth)) continue;
                    const T some = T(kFirstShare) * (rest.slope[i] - 1);
                    on.add(rest.chosen[i], !far ? 0 : some < T(kMostFirst) ? some : T(kMostFirst));
                    rest.join(rest.chosen[i]);
                }
                if (on.size == first) return steepest;  // no room
                on.pack(first);
                on.evaluate();
                if (far) on.leap(), on.leap();
            }
            within = others > 1 + goal ? kOffShare * (others - 1) : 0;
            if (within > kMostOff) within = kMostOff;
        }
    }

    // Rounding error of a slope: from sums of positive numbers over words and, in x and the total
    // weight, over topics, and from a few products (docs/inference.md).
    double rounding(double unit) const {
        return unit * double(doc.n + 2 * face.size + kFewRoundings);
    }

    // Continues in double precision from the result of single precision. Rounding the mixture back
    // to floats costs little likelihood but much of Jensen's bound: the bound is computed before,
    // and the likelihood lost by rounding is added.
    void finish(double asked) {
        cover();
        take_over();
        const double off = rounding(0x1p-52);
        const double enough = std::expm1(kOfGoal * asked / doc.tokens) - off;
        const double top = climb(face64, outside64, enough, off, kMostTopics);
        const double ahead_of_this = doc.tokens * std::log1p(top - 1 + off * top);
        if (face64.any_impossible()) return;
        const double exact = face64.log_likelihood();
        face64.keep_positive();
        face.size = 0;
        for (int64_t i = 0; i < face64.size; ++i)
            face.add(face64.topic[i], float(face64.weight[i]));
        take_over();
        if (face64.any_impossible()) return;
        const double lost = exact - face64.log_likelihood() + kLogRoundings * off;
        const double better = ahead_of_this + doc.tokens * (lost > 0 ? lost : 0);
        if (better < bound) bound = better;
    }

    // Adds the most probable topic of each word that has probability 0, with the word's fraction of
    // the document as its share.
    void cover() {
        const int64_t first = face.size;
        for (int64_t j = 0; j < doc.n; ++j) {
            if (!face.impossible(j)) continue;
            int64_t best = 0;
            for (int64_t k = 1; k < p.n_topics; ++k)
                if (doc.row[j][k] > doc.row[j][best]) best = k;
            const float part = float(doc.count[j] / doc.tokens);
            int64_t at = 0;
            while (at < face.size && face.topic[at] != best) ++at;
            if (at == face.size && face.full()) return;
            if (at == face.size) face.add(int32_t(best), 0);
            if (face.weight[at] < part) face.weight[at] = part;
        }
        face.pack(first);
    }

    // Copies the single-precision face to the double-precision face.
    void take_over() {
        face64.open(doc, means);
        for (int64_t i = 0; i < face.size; ++i) face64.add(face.topic[i], face.weight[i]);
        face64.pack(0);
        face64.evaluate();
    }

    const Problem& p;
    const ExactSettings& settings;
    Prefetcher ahead;
    Document doc;
    Work work;
    Face<float> face;
    Face<double> face64;
    Outside<float> outside;
    Outside<double> outside64;
    float* means;  // per word
    int32_t steps = 0;
    bool large = false;
    double bound = 0;
};

}  // namespace OPELDA_ISA

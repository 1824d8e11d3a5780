// Credible intervals of a document's shares for given topics: collapsed Gibbs sampling of its
// tokens by sixteen chains, and quantiles of the mixture of Beta distributions that their draws
// define (Rao-Blackwell): given the topics of all tokens, theta_k ~ Beta(N_k + alpha_k, ...).
//
// A chain is a lane of vectors. Topics that expect tokens have slots, which all chains share. The
// others are one alternative, of mass sum_k alpha_k beta_kj, without their tokens: each expects
// less than a twentieth of a token. Which of these topics a token has is drawn once its sweep is
// used.
//
// With several tables of topics, from runs that differ in the seed, each table has its draws, and
// the intervals are those of all draws.
#pragma once

#include "beta_mixture.hpp"
#include "em_choice.hpp"
#include "randomness.hpp"
#include "solver.hpp"

namespace OPELDA_ISA {

using opelda::PosteriorSettings;
using opelda::tokens_of;

constexpr int kChains = kPad;

// Random 32-bit numbers, a generator per chain: xorshift128 (Marsaglia 2003).
class ChainRandom {
public:
    void seed(uint64_t key) {
        for (int c = 0; c < kChains; ++c)
            for (int i = 0; i < 4; ++i)
                state[i][c] = uint32_t(mix(key + uint64_t(4 * c + i + 1) * kGolden) >> 32) | 1u;
    }
    // Uniform in (0, 1), for a chain.
    float uniform_of(int c) { return uniform(c / kLanes * kLanes)[c % kLanes]; }
    // Uniform in (0, 1), for the chains from `at` on.
    OPELDA_INLINE vf uniform(int at) {
        return __builtin_convertvector(next(at) & 0x7fffff, vf) * 0x1p-23f + 0x1p-24f;
    }
    // Nearly normal: the sum of eight bytes.
    OPELDA_INLINE vf normal(int at) {
        const vi one = next(at), two = next(at);
        vi bytes = {};
        for (int shift = 0; shift < 32; shift += 8)
            bytes += (one >> shift & 0xff) + (two >> shift & 0xff);
        return (__builtin_convertvector(bytes, vf) - 1020.0f) * 0.004784619f;  // / 73.9 sqrt(8)
    }

private:
    OPELDA_INLINE vi next(int at) {
        typedef uint32_t vw __attribute__((vector_size(kRegister)));
        vw x, w;
        std::memcpy(&x, state[0] + at, sizeof x);
        std::memcpy(&w, state[3] + at, sizeof w);
        const vw t = x ^ (x << 11);
        std::memcpy(state[0] + at, state[1] + at, sizeof x);
        std::memcpy(state[1] + at, state[2] + at, sizeof x);
        std::memcpy(state[2] + at, &w, sizeof w);
        w = w ^ (w >> 19) ^ t ^ (t >> 8);
        std::memcpy(state[3] + at, &w, sizeof w);
        return vi(w);
    }
    uint32_t state[4][kChains];
};

class Posterior {
public:
    Posterior(const Problem& p, const PosteriorSettings& settings)
        : p(p),
          settings(settings),
          n_topics(p.n_topics / settings.n_tables),
          width(padded(n_topics)),
          n_draws(settings.n_tables * settings.n_samples * kChains) {}

    void allocate(Arena& arena) {
        doc.allocate(arena, p.max_words);
        table = arena.array<float>(width * padded(p.max_words));
        row = arena.array<const float*>(padded(p.max_words));
        alpha = arena.array<float>(width);
        other_alpha = arena.array<float>(width);
        expected = arena.array<float>(width);
        score = arena.array<float>(width);
        weight = arena.array<float>(width);
        x = arena.array<float>(padded(p.max_words));
        rest = arena.array<float>(padded(p.max_words));
        columns = arena.array<float>(p.max_words * (width + kAtOnce));
        slot_alpha = arena.array<float>(width);
        topic = arena.array<int32_t>(width + 1);
        has_slot = arena.array<uint8_t>(width);
        sizes = arena.array<float>((width + kAtOnce) * kChains);
        ends = arena.array<float>((width + kAtOnce) * kChains);
        word = arena.array<int32_t>(settings.max_tokens);
        token = arena.array<float>(settings.max_tokens);
        z = arena.array<int32_t>(settings.max_tokens * kChains);
        place = arena.array<int32_t>(width);
        active = arena.array<int32_t>(width);
        draws = arena.array<float>(width * n_draws);
        absent = arena.array<float>(kGrid * width);
        ends_of = arena.array<End>(2 * width);
        places = arena.array<int32_t>(kMostSorted + 1);
    }

    void prepare() {
        total_alpha = 0;
        for (int64_t k = 0; k < width; ++k) {
            alpha[k] = k < n_topics ? p.alpha[k] : 0;
            total_alpha += alpha[k];
            place[k] = -1;
            has_slot[k] = 0;
        }
        for (int64_t i = 0; i < kGrid; ++i) absent[i * width] = 1;  // unknown; logits are negative
    }

    void solve(int64_t index) {
        doc.open(p, index);
        n_tokens = 0;
        whole = doc.tokens <= double(kMostSorted);
        for (int64_t j = 0; j < doc.n; ++j) {
            const int64_t n = tokens_of(doc.count[j]);
            whole = whole && float(n) == doc.count[j];
            for (int64_t i = 0; i < n; ++i, ++n_tokens)
                word[n_tokens] = int32_t(j), token[n_tokens] = float(doc.count[j] / float(n));
        }
        n_active = 0;
        wins = 0;
        const uint64_t key = settings.keys[index];
        main = settings.main[index];
        for (int64_t t = 0; t < settings.n_tables; ++t) {
            random.seed(mix(key + uint64_t(t) * kGolden));
            turn_to(t);
            expect();
            choose_slots();
            sample(t);
            if (opelda::stopped()) return;
        }
        write(index);
        for (int64_t i = 0; i < n_active; ++i) place[active[i]] = -1;
    }

private:
    // Copies the document's rows of a table, aligned.
    void turn_to(int64_t t) {
        for (int64_t j = 0; j < doc.n_padded; ++j) {
            float* to = table + j * width;
            row[j] = to;
            if (j < doc.n)
                std::memcpy(to, doc.row[j] + t * n_topics, size_t(n_topics) * sizeof(float));
            for (int64_t k = j < doc.n ? n_topics : 0; k < width; ++k) to[k] = 0;
        }
    }

    // The expected tokens of each topic, by a few steps of EM: where the chains start.
    void expect() {
        const float tokens = float(doc.tokens);
        for (int64_t k = 0; k < width; ++k)
            expected[k] = float(tokens / total_alpha) * alpha[k],
            weight[k] = expected[k] + alpha[k];
        for (int step = 0; step < kSteps && doc.n; ++step) {
            multiply(weight, x);
            for (int64_t j = 0; j < doc.n_padded; j += kLanes)
                store(x + j, load(doc.count + j) / max(load(x + j), broadcast(1e-30f)));
            add_rows(doc.n, row, x, width, 1.0f, score);
            for (int64_t k = 0; k < width; k += kLanes) {
                const vf found = load(weight + k) * load(score + k);
                store(expected + k, found);
                store(weight + k, found + load(alpha + k));
            }
        }
    }
    void multiply(const float* by, float* out) const {
        for (int64_t j = 0; j < doc.n_padded; j += kLanes) {
            vf acc[kLanes] = {};
            for (int64_t k = 0; k < width; k += kLanes) {
                const vf w = load(by + k);
                for (int i = 0; i < kLanes; ++i) acc[i] += w * load(row[j + i] + k);
            }
            store(out + j, sums(acc));
        }
    }

    // Gives slots to topics that expect tokens: a slot takes less time than tokens without slots.
    void choose_slots() {
        n_slots = 0;
        for (int64_t k = 0; k < n_topics; ++k) {
            has_slot[k] = expected[k] > kWorth || n_tokens < kShort || n_topics <= kFewest;
            topic[n_slots] = int32_t(k);
            n_slots += has_slot[k];
        }
        n_padded = (n_slots / kAtOnce + 1) * kAtOnce;  // slot n_slots is of all other topics
        for (int64_t s = 0; s < n_slots; ++s) slot_alpha[s] = alpha[topic[s]];
        for (int64_t j = 0; j < doc.n; ++j) {
            float* column = columns + j * n_padded;
            for (int64_t s = 0; s < n_slots; ++s) column[s] = row[j][topic[s]];
            for (int64_t s = n_slots; s < n_padded; ++s) column[s] = 0;
        }
        if (n_slots == n_topics) {
            for (int64_t j = 0; j < doc.n_padded; ++j) rest[j] = 0;
            return;
        }
        for (int64_t k = 0; k < width; ++k) other_alpha[k] = has_slot[k] ? 0 : alpha[k];
        multiply(other_alpha, rest);
    }

    void sample(int64_t t) {
        fill(expected);  // the first topics, drawn one by one
        for (int64_t i = 0; i < n_tokens; ++i) draw<true>(i);
        fill(nullptr);
        for (int64_t i = 0; i < n_tokens; ++i)
            for (int c = 0; c < kChains; ++c) sizes[z[i * kChains + c] * kChains + c] += token[i];
        const int64_t n_sweeps = settings.burn_in + settings.n_samples;
        for (int64_t sweep = 0; sweep < n_sweeps; ++sweep) {
            for (int64_t i = 0; i < n_tokens; ++i) {
                if (i % 256 == 255 && opelda::stopped()) return;
                draw<false>(i);
            }
            if (sweep >= settings.burn_in)
                record((t * settings.n_samples + sweep - settings.burn_in) * kChains);
        }
    }
    void fill(const float* tokens) {
        for (int64_t s = 0; s < n_padded; ++s)
            for (int c = 0; c < kChains; ++c)
                sizes[s * kChains + c] =
                    s < n_slots ? slot_alpha[s] + (tokens ? tokens[topic[s]] : 0) : 0;
    }

    // Draws the topics of a token in all chains; the first time without changes of the sizes.
    template <bool First> OPELDA_INLINE void draw(int64_t i) {
        const int64_t j = word[i];
        const float w = token[i];
        const float* const column = columns + j * n_padded;
        int32_t* const here = z + i * kChains;
        if (!First)
            for (int c = 0; c < kChains; ++c) sizes[here[c] * kChains + c] -= w;
        for (int at = 0; at < kChains; at += kLanes) {
            vf total = {};
            for (int64_t s = 0; s < n_padded; s += kAtOnce) {
                vf part = {};  // short chains of dependent sums
                for (int64_t l = s; l < s + kAtOnce; ++l) {
                    part += load(sizes + l * kChains + at) * column[l];
                    store(ends + l * kChains + at, total + part);
                }
                total += part;
            }
            const vf target = random.uniform(at) * (total + rest[j]);
            vi slot = {}, more = {};
            for (int64_t s = 0; s < n_padded; s += 2) {
                slot = load(ends + s * kChains + at) <= target ? slot + 1 : slot;
                more = load(ends + (s + 1) * kChains + at) <= target ? more + 1 : more;
            }
            slot += more;
            slot = slot < int32_t(n_slots) ? slot : vi{} + int32_t(n_slots);
            std::memcpy(here + at, &slot, sizeof slot);
        }
        if (!First)
            for (int c = 0; c < kChains; ++c) sizes[here[c] * kChains + c] += w;
    }

    // A topic without a slot, for a uniform number; -1 if none has the word.
    int32_t draw_other(int64_t j, float uniform) const {
        float target = uniform * rest[j];
        int32_t found = -1;
        for (int64_t k = 0; k < n_topics && (found < 0 || target >= 0); k += kLanes) {
            const vf mass = load(other_alpha + k) * load(row[j] + k);
            const float block = sum(mass);
            if (block <= target || !(block > 0)) {
                target -= block;
                continue;
            }
            for (int l = 0; l < kLanes && (found < 0 || target >= 0); ++l)
                if (mass[l] > 0) found = int32_t(k) + l, target -= mass[l];
        }
        return found;
    }

    float* draws_of(int32_t k) {
        if (place[k] < 0) {
            place[k] = int32_t(n_active);
            active[n_active++] = k;
            std::memset(draws + place[k] * n_draws, 0, size_t(n_draws) * sizeof(float));
        }
        return draws + place[k] * n_draws;
    }

    // Keeps the sizes of a sweep, and counts the chains in which the main topic leads.
    void record(int64_t first) {
        vf best[kChains / kLanes];
        vi leader[kChains / kLanes];
        for (int v = 0; v < kChains / kLanes; ++v) best[v] = broadcast(-1.0f), leader[v] = vi{} - 1;
        for (int64_t s = 0; s < n_slots; ++s) {
            const float* size = sizes + s * kChains;
            vi used = {};
            for (int v = 0; v < kChains / kLanes; ++v)
                used |= vi(load(size + v * kLanes) - slot_alpha[s] > kNone);
            // (without tokens, a topic leads in short documents alone)
            if (!any(used) && slot_alpha[s] < 0.3f && n_tokens >= kShort) continue;
            for (int v = 0; v < kChains / kLanes; ++v)
                keep_larger(best[v], leader[v], gamma(load(size + v * kLanes), v * kLanes),
                            vi{} + topic[s]);
            if (!any(used)) continue;
            float* const to = draws_of(topic[s]) + first;
            for (int c = 0; c < kChains; ++c) to[c] = size[c] - slot_alpha[s];
        }
        vi others = {};
        for (int at = 0; at < kChains; at += kLanes)
            others |= vi(load(sizes + n_slots * kChains + at) > kNone);
        for (int c = 0; c < kChains; ++c) wins += leader[c / kLanes][c % kLanes] == main;
        if (!any(others)) return;
        for (int64_t i = 0; i < n_tokens; ++i) {
            vi here = {};
            for (int at = 0; at < kChains; at += kLanes)
                here |= vi(load(z + i * kChains + at) == int32_t(n_slots));
            if (!any(here)) continue;
            for (int c = 0; c < kChains; ++c) {
                if (z[i * kChains + c] < n_slots) continue;
                const int32_t k = draw_other(word[i], random.uniform_of(c));
                if (k >= 0) draws_of(k)[first + c] += token[i];
            }
        }
    }
    // A gamma variate: the cube of a normal one (Wilson & Hilferty 1931); for a < 1 that of a + 1
    // times u^(1 / a).
    OPELDA_INLINE vf gamma(vf a, int at) {
        const vf shape = a < 1.0f ? a + 1.0f : a, inverse = 1.0f / (9.0f * shape);
        float root[kLanes];
        store(root, inverse);
        for (int i = 0; i < kLanes; ++i) root[i] = __builtin_sqrtf(root[i]);
        const vf cube = max(1.0f - inverse + load(root) * random.normal(at), vf{});
        const vf found = shape * cube * cube * cube;
        if (!any(vi(a < 1.0f))) return found;
        const vf power = log(random.uniform(at)) / a;
        float factor[kLanes];
        for (int i = 0; i < kLanes; i += kDoubles) store(factor + i, narrow(exp(half(power, i))));
        return a < 1.0f ? found * load(factor) : found;
    }

    // An end of an interval: a quantile of a mixture of `n` components.
    struct End {
        float* to;
        int n;
        double p, start;
        double a[kComponents], weight[kComponents];
    };

    void write(int64_t index) {
        const double total = doc.tokens + total_alpha;
        float* const lower = settings.lower + index * n_topics;
        float* const upper = settings.upper + index * n_topics;
        write_absent(total, lower, upper);
        const double level = settings.level, tail = (1 - level) / 2;
        int64_t n_ends = 0;
        for (int64_t i = 0; i < n_active; ++i) {
            const int32_t k = active[i];
            float* const own = draws + i * n_draws;
            const int64_t n_used = move_used(own);
            sort(own, n_used);
            End end;
            end.to = upper + k, end.p = 1 - tail, end.start = logit_of(upper[k]);
            end.n = group(own, n_used, alpha[k], end.a, end.weight);
            // Without a lower end where the topic may have no token, or an upper one where it may
            // have all: these intervals have the level, too, and are shorter.
            if (double(n_draws - n_used) > tail * double(n_draws)) {
                end.p = level;
            } else if (double(count_full(own, n_used)) > tail * double(n_draws)) {
                upper[k] = 1;
                end.to = lower + k, end.p = 1 - level;
            } else {
                ends_of[n_ends] = end;
                ends_of[n_ends].to = lower + k, ends_of[n_ends++].p = tail;
            }
            ends_of[n_ends++] = end;
        }
        // together with ends of as many components
        for (const int most : {2, 4, kComponents}) {
            int waiting = 0;
            for (int64_t i = 0; i < n_ends; ++i) {
                const End& end = ends_of[i];
                if (end.n > most || (most > 2 && end.n <= most / 2)) continue;
                lanes[waiting++] = &end;
                if (waiting == kDoubles) solve_ends(waiting, most, total);
            }
            if (waiting) solve_ends(waiting, most, total);
        }
        settings.probability[index] = float(double(wins) / double(n_draws));
    }
    void solve_ends(int& waiting, int n, double total) {
        for (int l = 0; l < kDoubles; ++l) {
            const End& end = *lanes[l < waiting ? l : 0];
            mixtures.p[l] = end.p, mixtures.start[l] = end.start;
            for (int i = 0; i < n; ++i)
                mixtures.a[i][l] = end.a[i], mixtures.weight[i][l] = end.weight[i];
        }
        const vd y = mixtures.logit_quantiles(n, total), share = logistic(y);
        for (int l = 0; l < waiting; ++l) *lanes[l]->to = y[l] <= -99 ? 0 : float(share[l]);
        waiting = 0;
    }
    static double logit_of(float share) {
        return share > 1e-30f ? log(broadcast(double(share) / (1 - double(share) + 1e-12)))[0]
                              : -70;
    }
    // Moves the draws with tokens to the front; returns their number.
    int64_t move_used(float* draw) const {
        int64_t n = 0;
        for (int64_t i = 0; i < n_draws; ++i) {
            const float size = draw[i];
            draw[n] = size;
            n += size > kNone;
        }
        return n;
    }
    int64_t count_full(const float* sorted, int64_t n) const {
        int64_t found = 0;
        while (found < n && sorted[n - 1 - found] > float(doc.tokens) * 0.9999f) ++found;
        return found;
    }
    // Makes components of the draws: the first of those without tokens, then one per value, or
    // groups of equal numbers. Returns how many.
    int group(const float* sorted, int64_t n, double own_alpha, double* a, double* share) const {
        const double unit = 1 / double(n_draws);
        int made = 0, values = 0;
        if (n < n_draws) a[made] = own_alpha, share[made++] = double(n_draws - n) * unit;
        const int room = kComponents - made, before = made;
        for (int64_t i = 0; i < n && values <= room; ++i)
            values += i == 0 || sorted[i] - sorted[i - 1] > kNone;
        for (int64_t begin = 0, end; begin < n; begin = end, ++made) {
            end = begin + 1;
            if (values <= room)
                while (end < n && sorted[end] - sorted[end - 1] <= kNone) ++end;
            else
                end = n * (made - before + 1) / room;
            double sum = 0;
            for (int64_t i = begin; i < end; ++i) sum += sorted[i];
            a[made] = sum / double(end - begin) + own_alpha;
            share[made] = double(end - begin) * unit;
        }
        for (int i = made; i < kComponents; ++i) a[i] = a[0], share[i] = 0;
        return made;
    }
    void sort(float* value, int64_t n) {
        if (whole && n > 8) return count_sort(value, n);
        constexpr int64_t gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};  // Shell's, by Ciura
        for (const int64_t gap : gaps)
            for (int64_t i = gap; i < n; ++i) {
                const float moved = value[i];
                int64_t at = i;
                for (; at >= gap && value[at - gap] > moved; at -= gap) value[at] = value[at - gap];
                value[at] = moved;
            }
    }
    // Sizes are whole numbers but for rounding.
    static int64_t whole_of(float size) { return int64_t(size + 0.25f); }
    void count_sort(float* value, int64_t n) {
        int64_t most = 0;
        for (int64_t i = 0; i < n; ++i) {
            const int64_t size = whole_of(value[i]);
            most = size > most ? size : most;
        }
        for (int64_t size = 0; size <= most; ++size) places[size] = 0;
        for (int64_t i = 0; i < n; ++i) ++places[whole_of(value[i])];
        for (int64_t size = 0, at = 0; size <= most; ++size)
            for (int32_t times = places[size]; times > 0; --times) value[at++] = float(size);
    }

    // The ends of topics without a token in any draw, by interpolation between document lengths.
    void write_absent(double total, float* lower, float* upper) {
        double grid = 4 * log(broadcast(total))[0] / 0.693147180559945309417 + kGridStart;
        grid = grid < 0 ? 0 : grid > kGrid - 2 ? kGrid - 2 : grid;
        const int64_t first = int64_t(grid);
        const float part = float(grid - double(first));
        for (int64_t i = first; i < first + 2; ++i)
            if (absent[i * width] > 0) fill_absent(i);
        const float* one = absent + first * width;
        for (int64_t k = 0; k < n_topics; ++k) {
            const float y = one[k] + part * (one[k + width] - one[k]);
            lower[k] = 0;
            upper[k] = y <= -99.0f ? 0 : y;
        }
        for (int64_t k = 0; k < n_topics; k += kDoubles) {
            vd y = {};
            for (int l = 0; l < kDoubles && k + l < n_topics; ++l) y[l] = upper[k + l];
            const vd share = logistic(y);
            for (int l = 0; l < kDoubles && k + l < n_topics; ++l)
                upper[k + l] = upper[k + l] == 0 ? 0 : float(share[l]);
        }
    }
    void fill_absent(int64_t i) {
        const double total =
            exp(broadcast((double(i) - kGridStart) / 4 * 0.693147180559945309417))[0];
        float* const to = absent + i * width;
        for (int64_t k = 0; k < n_topics; k += kDoubles) {
            for (int l = 0; l < kDoubles; ++l) {
                const double own = alpha[k + l < n_topics ? k + l : k];
                mixtures.a[0][l] = own < total ? own : 0.5 * total;
                mixtures.weight[0][l] = 1, mixtures.p[l] = settings.level;
            }
            const vd y = mixtures.logit_quantiles(1, total);
            for (int l = 0; l < kDoubles && k + l < n_topics; ++l)
                to[k + l] = float(y[l] < 0 ? y[l] : -1e-6);
        }
    }

    static constexpr int kSteps = 8;
    static constexpr int64_t kFewest = 12;        // topics that all have slots
    static constexpr int kAtOnce = 4;             // slots
    static constexpr int64_t kShort = 20;         // tokens: every topic may be the main topic
    static constexpr float kWorth = 0.05f;        // tokens
    static constexpr int64_t kMostSorted = 4096;  // tokens, that are sorted by counting
    static constexpr float kNone = 1e-3f;         // less than a token, and more than rounding
    static constexpr int64_t kGrid = 320;         // document lengths, in quarters of octaves
    static constexpr double kGridStart = 120;

    const Problem& p;
    const PosteriorSettings& settings;
    const int64_t n_topics, width;  // of a table, and padded
    const int64_t n_draws;
    Document doc;
    ChainRandom random;
    BetaMixtures mixtures;
    const End* lanes[kDoubles];
    End* ends_of;
    double total_alpha = 0;
    const float** row;
    float *table, *alpha, *other_alpha, *expected, *score, *weight, *x, *rest, *columns,
        *slot_alpha;
    int32_t* topic;     // of slots
    uint8_t* has_slot;  // of topics
    int64_t n_slots = 0, n_padded = 0, n_tokens = 0;
    float *sizes, *ends;  // (slots, chains): N_k + alpha_k, and their running sums for a word
    int32_t* word;        // of tokens
    float* token;         // their weights
    int32_t* z;           // (tokens, chains): slots
    int32_t *places, *place, *active;  // of topics among those with draws, and these topics
    int64_t n_active = 0, wins = 0;
    bool whole = false;  // whether all tokens of the document weigh 1
    int32_t main = 0;
    float *draws, *absent;
};

inline void run_posterior(const Problem& p, const PosteriorSettings& settings, const Outputs&,
                          Queue& queue) {
    Posterior worker(p, settings);
    const Arena arena([&](Arena& a) { worker.allocate(a); });
    worker.prepare();
    int64_t begin, end;
    while (opelda::take(queue, begin, end))
        for (int64_t i = begin; i < end && !opelda::stopped(); ++i) {
            if (i + 1 < end) fetch_rows(p, i + 1);
            worker.solve(i);
        }
}

}  // namespace OPELDA_ISA

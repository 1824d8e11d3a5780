// Credible intervals of a document's shares for given topics: collapsed Gibbs sampling of its
// tokens by sixteen chains, and quantiles of the mixture of Beta distributions that their draws
// define (Rao-Blackwell): given the topics of all tokens, theta_k ~ Beta(N_k + alpha_k, ...).
//
// A chain is a lane of vectors. The topics that explain most have slots, which all chains share;
// a draw goes through the slots and takes the rest of the topics together,
//     P(z = k) ~ (N_k + alpha_k) beta_kj,
// so draws are exact, and those of the rest, which are rare, cost more.
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
        expected = arena.array<float>(width);
        score = arena.array<float>(width);
        weight = arena.array<float>(width);
        x = arena.array<float>(padded(p.max_words));
        rest = arena.array<float>(padded(p.max_words));
        columns = arena.array<float>(p.max_words * width);
        slot_alpha = arena.array<float>(width);
        topic = arena.array<int32_t>(width + 1);
        has_slot = arena.array<uint8_t>(width);
        sizes = arena.array<float>(width * kChains);
        ends = arena.array<float>(width * kChains);
        word = arena.array<int32_t>(settings.max_tokens);
        token = arena.array<float>(settings.max_tokens);
        z = arena.array<int32_t>(settings.max_tokens * kChains);
        other = arena.array<float>(width * kChains);
        others = arena.array<int32_t>(width * kChains);
        place = arena.array<int32_t>(width);
        active = arena.array<int32_t>(width);
        draws = arena.array<float>(width * n_draws);
        absent = arena.array<float>(kGrid * width);
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
        for (int64_t i = 0; i < width * kChains; ++i) other[i] = 0;
    }

    void solve(int64_t index) {
        doc.open(p, index);
        n_tokens = 0;
        for (int64_t j = 0; j < doc.n; ++j) {
            const int64_t n = tokens_of(doc.count[j]);
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
            expected[k] = float(tokens / total_alpha) * alpha[k], weight[k] = expected[k] + alpha[k];
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
            has_slot[k] = doc.n == 0 || expected[k] > kWorth || n_topics <= kFewest;
            topic[n_slots] = int32_t(k);
            n_slots += has_slot[k];
        }
        n_padded = (n_slots + kAtOnce - 1) / kAtOnce * kAtOnce;
        for (int64_t s = 0; s < n_slots; ++s) slot_alpha[s] = alpha[topic[s]];
        for (int64_t j = 0; j < doc.n; ++j) {
            float* column = columns + j * n_padded;
            for (int64_t s = 0; s < n_slots; ++s) column[s] = row[j][topic[s]];
            for (int64_t s = n_slots; s < n_padded; ++s) column[s] = 0;
        }
        for (int64_t s = n_slots; s < n_padded; ++s)
            std::memset(sizes + s * kChains, 0, kChains * sizeof(float));
        if (n_slots == n_topics) {
            for (int64_t j = 0; j < doc.n_padded; ++j) rest[j] = 0;
            return;
        }
        for (int64_t k = 0; k < width; ++k) weight[k] = has_slot[k] ? 0 : alpha[k];
        multiply(weight, rest);
    }

    void sample(int64_t t) {
        for (int c = 0; c < kChains; ++c) n_others[c] = 0;
        fill(expected);  // the first topics, drawn one by one
        for (int64_t i = 0; i < n_tokens; ++i) draw<true>(i);
        fill(nullptr);
        for (int64_t i = 0; i < n_tokens; ++i) enter(z + i * kChains, token[i]);
        const int64_t n_sweeps = settings.burn_in + settings.n_samples;
        for (int64_t sweep = 0; sweep < n_sweeps; ++sweep) {
            for (int64_t i = 0; i < n_tokens; ++i) {
                if (i % 256 == 255 && opelda::stopped()) return;
                draw<false>(i);
            }
            if (sweep >= settings.burn_in)
                record((t * settings.n_samples + sweep - settings.burn_in) * kChains);
        }
        for (int c = 0; c < kChains; ++c)
            for (int64_t i = 0; i < n_others[c]; ++i) other[others[c * width + i] * kChains + c] = 0;
    }
    void fill(const float* tokens) {
        for (int64_t s = 0; s < n_slots; ++s)
            for (int c = 0; c < kChains; ++c)
                sizes[s * kChains + c] = slot_alpha[s] + (tokens ? tokens[topic[s]] : 0);
    }

    // Draws the topics of a token in all chains; the first time without changes of the sizes.
    template <bool First> OPELDA_INLINE void draw(int64_t i) {
        const int64_t j = word[i];
        const float* const column = columns + j * n_padded;
        int32_t* const here = z + i * kChains;
        const bool has_others = !First && leave(here, token[i]);
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
            vf extra = broadcast(rest[j]);
            if (!First && has_others) extra += load(of_others(j) + at);
            const vf target = random.uniform(at) * (total + extra);
            vi slot = {}, more = {};
            for (int64_t s = 0; s < n_padded; s += 2) {
                slot -= vi(load(ends + s * kChains + at) <= target);
                more -= vi(load(ends + (s + 1) * kChains + at) <= target);
            }
            slot += more;
            std::memcpy(here + at, &slot, sizeof slot);
            if (any(vi(slot >= int32_t(n_slots)))) [[unlikely]]
                for (int c = at; c < at + kLanes; ++c)
                    if (here[c] >= n_slots) here[c] = draw_other(j, c, target[c - at]);
        }
        if (!First) enter(here, token[i]);
    }
    OPELDA_INLINE bool any_other(const int32_t* topics) const {
        vi found = {};
        for (int at = 0; at < kChains; at += kLanes)
            found |= vi(load(topics + at) >= int32_t(n_slots));
        return any(found);
    }
    OPELDA_INLINE void enter(const int32_t* to, float w) {
        if (any_other(to)) [[unlikely]] {
            for (int c = 0; c < kChains; ++c)
                if (to[c] < n_slots)
                    sizes[to[c] * kChains + c] += w;
                else
                    enter_other(to[c] - int32_t(n_slots), c, w);
            return;
        }
        for (int c = 0; c < kChains; ++c) sizes[to[c] * kChains + c] += w;
    }
    // Removes a token; returns whether any chain has tokens without a slot.
    OPELDA_INLINE bool leave(const int32_t* from, float w) {
        if (any_other(from)) [[unlikely]] {
            for (int c = 0; c < kChains; ++c)
                if (from[c] < n_slots)
                    sizes[from[c] * kChains + c] -= w;
                else
                    leave_other(from[c] - int32_t(n_slots), c, w);
        } else {
            for (int c = 0; c < kChains; ++c) sizes[from[c] * kChains + c] -= w;
        }
        vi most = {};
        for (int at = 0; at < kChains; at += kLanes) most |= load(n_others + at);
        return any(most);
    }

    // Topics without a slot: few tokens of few chains.
    void leave_other(int32_t k, int c, float w) {
        float& n = other[k * kChains + c];
        n -= w;
        if (n > 1e-3f * w) return;
        n = 0;
        int32_t* const own = others + c * width;
        int64_t at = 0;
        while (own[at] != k) ++at;
        own[at] = own[--n_others[c]];
    }
    void enter_other(int32_t k, int c, float w) {
        float& n = other[k * kChains + c];
        if (n == 0) others[c * width + n_others[c]++] = k;
        n += w;
    }
    const float* of_others(int64_t j) {
        for (int c = 0; c < kChains; ++c) {
            float mass = 0;
            for (int64_t i = 0; i < n_others[c]; ++i) {
                const int32_t k = others[c * width + i];
                mass += other[k * kChains + c] * row[j][k];
            }
            masses[c] = mass;
        }
        return masses;
    }
    __attribute__((noinline)) int32_t draw_other(int64_t j, int c, float target) {
        target -= n_slots ? ends[(n_slots - 1) * kChains + c] : 0;
        for (int64_t at = 0; at < n_others[c]; ++at) {
            const int32_t k = others[c * width + at];
            target -= other[k * kChains + c] * row[j][k];
            if (target < 0) return int32_t(n_slots) + k;
        }
        int64_t found = -1;
        for (int64_t k = 0; k < n_topics && (found < 0 || target >= 0); ++k) {
            const float mass = has_slot[k] ? 0 : alpha[k] * row[j][k];
            if (mass > 0) found = k, target -= mass;
        }
        if (found >= 0) return int32_t(n_slots + found);
        // rounding can put the target beyond the end: take the last slot that has the word
        int64_t s = n_slots - 1;
        while (s > 0 && !(columns[j * n_padded + s] > 0)) --s;
        return int32_t(s > 0 ? s : 0);
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
            for (int v = 0; v < kChains / kLanes; ++v) {
                const vf a = load(size + v * kLanes);
                used |= vi(a - slot_alpha[s] > kNone);
                keep_larger(best[v], leader[v], gamma(a, v * kLanes), vi{} + topic[s]);
            }
            if (!any(used)) continue;
            float* const to = draws_of(topic[s]) + first;
            for (int c = 0; c < kChains; ++c) to[c] = size[c] - slot_alpha[s];
        }
        for (int c = 0; c < kChains; ++c) {
            float largest = best[c / kLanes][c % kLanes];
            int32_t leads = leader[c / kLanes][c % kLanes];
            for (int64_t i = 0; i < n_others[c]; ++i) {
                const int32_t k = others[c * width + i];
                const float n = other[k * kChains + c];
                draws_of(k)[first + c] = n;
                const float drawn = gamma(broadcast(n + alpha[k]), c / kLanes * kLanes)[0];
                if (drawn > largest) largest = drawn, leads = k;
            }
            wins += leads == main;
        }
    }
    // A gamma variate by the cube of a normal one (Wilson & Hilferty 1931).
    OPELDA_INLINE vf gamma(vf a, int at) {
        const vf inverse = 1.0f / (9.0f * a);
        // sqrt by way of the logarithm: kernels call no library
        vf root;
        for (int i = 0; i < kLanes; ++i) root[i] = __builtin_sqrtf(inverse[i]);
        const vf cube = max(1.0f - inverse + root * random.normal(at), vf{});
        return a * cube * cube * cube;
    }

    void write(int64_t index) {
        const double total = doc.tokens + total_alpha;
        float* const lower = settings.lower + index * n_topics;
        float* const upper = settings.upper + index * n_topics;
        write_absent(total, lower, upper);
        const double level = settings.level, tail = (1 - level) / 2;
        for (int64_t i = 0; i < n_active; ++i) {
            const int32_t k = active[i];
            float* const own = draws + i * n_draws;
            const int64_t n_used = move_used(own);
            sort(own, n_used);
            const double none = 1 - double(n_used) / double(n_draws);
            const double full = double(count_full(own, n_used)) / double(n_draws);
            double a[kComponents], share[kComponents];
            group(own, n_used, alpha[k], a, share);
            mixture.set(a, share, total);
            // Without a lower end where the topic may have no token, or an upper one where it may
            // have all: these intervals have the level, too, and are shorter.
            if (none > tail) {
                lower[k] = 0;
                upper[k] = float(BetaMixture::share(mixture.logit_quantile(level, settings.z_level)));
            } else if (full > tail) {
                lower[k] =
                    float(BetaMixture::share(mixture.logit_quantile(1 - level, -settings.z_level)));
                upper[k] = 1;
            } else {
                lower[k] = float(BetaMixture::share(mixture.logit_quantile(tail, -settings.z_tail)));
                upper[k] =
                    float(BetaMixture::share(mixture.logit_quantile(1 - tail, settings.z_tail)));
            }
        }
        settings.probability[index] = float(double(wins) / double(n_draws));
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
    // groups of equal numbers.
    void group(const float* sorted, int64_t n, double own_alpha, double* a, double* share) const {
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
        for (; made < kComponents; ++made) a[made] = a[0], share[made] = 0;
    }
    static void sort(float* value, int64_t n) {  // Shell sort, with Ciura's gaps
        constexpr int64_t gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
        for (const int64_t gap : gaps)
            for (int64_t i = gap; i < n; ++i) {
                const float moved = value[i];
                int64_t at = i;
                for (; at >= gap && value[at - gap] > moved; at -= gap) value[at] = value[at - gap];
                value[at] = moved;
            }
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
            const vd share = 1.0 / (1.0 + exp(-y));
            for (int l = 0; l < kDoubles && k + l < n_topics; ++l)
                upper[k + l] = upper[k + l] == 0 ? 0 : float(share[l]);
        }
    }
    void fill_absent(int64_t i) {
        const double total =
            exp(broadcast((double(i) - kGridStart) / 4 * 0.693147180559945309417))[0];
        float* const to = absent + i * width;
        for (int64_t k = 0; k < n_topics; ++k) {
            if (k > 0 && alpha[k] == alpha[k - 1]) {
                to[k] = to[k - 1];
                continue;
            }
            double a[kComponents], share[kComponents] = {1};
            for (double& each : a) each = alpha[k];
            if (!(alpha[k] < total)) {
                to[k] = 0;
                continue;
            }
            mixture.set(a, share, total);
            const double y = mixture.logit_quantile(settings.level, settings.z_level);
            to[k] = float(y < 0 ? y : -1e-6);
        }
    }

    static constexpr int kSteps = 8;
    static constexpr int64_t kFewest = 12;  // topics that all have slots
    static constexpr int kAtOnce = 4;       // slots
    static constexpr float kWorth = 0.05f;  // tokens
    static constexpr float kNone = 1e-3f;   // less than a token, and more than rounding
    static constexpr int64_t kGrid = 320;  // document lengths, in quarters of octaves
    static constexpr double kGridStart = 120;

    const Problem& p;
    const PosteriorSettings& settings;
    const int64_t n_topics, width;  // of a table, and padded
    const int64_t n_draws;
    Document doc;
    ChainRandom random;
    BetaMixture mixture;
    double total_alpha = 0;
    const float** row;
    float *table, *alpha, *expected, *score, *weight, *x, *rest, *columns, *slot_alpha;
    int32_t* topic;     // of slots
    uint8_t* has_slot;  // of topics
    int64_t n_slots = 0, n_padded = 0, n_tokens = 0;
    float *sizes, *ends;  // (slots, chains): N_k + alpha_k, and their running sums for a word
    int32_t* word;        // of tokens
    float* token;         // their weights
    int32_t* z;           // (tokens, chains): slots; beyond them topics
    float* other;         // (topics, chains): sizes of topics without slots
    int32_t* others;      // (chains, topics): which they are
    alignas(64) int32_t n_others[kChains] = {};
    alignas(64) float masses[kChains] = {};
    int32_t *place, *active;  // of topics among those with draws, and these topics
    int64_t n_active = 0, wins = 0;
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
        for (int64_t i = begin; i < end && !opelda::stopped(); ++i) worker.solve(i);
}

}  // namespace OPELDA_ISA

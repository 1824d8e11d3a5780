// One sweep of collapsed Gibbs sampling over a collection whose tokens keep their topics from sweep
// to sweep; the topics' counts stand still meanwhile, so that documents do not depend on each
// other.
//
//     P(z = k) ~ (N_dk + alpha_k) (lambda_kj - own) / sum_j lambda_kj
//
// where the token itself is taken out of N_dk and of lambda (not of the sum, of which it is
// nothing). As in cgs.hpp the part with N_dk lives on the few topics in use, and the part with
// alpha_k is one number per word but for the rare draw that lands there.
#pragma once

#include "document.hpp"
#include "randomness.hpp"

namespace OPELDA_ISA {

using opelda::Resampling;

class Resampler {
public:
    explicit Resampler(const Resampling& r) : r(r) {}

    void allocate(Arena& arena) {
        sizes = arena.array<float>(r.stride);
        up_to = arena.array<float>(r.n_topics + 1);
        tokens_of = arena.array<int32_t>(r.n_topics);
        in_use = arena.array<int32_t>(r.n_topics + 1);
    }

    void prepare() {
        for (int64_t k = 0; k < r.n_topics; ++k) sizes[k] = 0, tokens_of[k] = 0;
    }

    void run(int64_t doc, int64_t next) {
        const int64_t begin = r.indptr[doc], end = r.indptr[doc + 1];
        uint16_t* z = r.z + r.first_token[doc];
        key = mix(r.keys[doc] + r.seed);
        drawn = 0;
        n_in_use = 0;
        if (!r.fresh) count_in(begin, end, z);
        fetch(next);
        for (int64_t sweep = 0; sweep < r.n_sweeps; ++sweep)
            if (!go_through(begin, end, z, r.fresh && sweep == 0)) break;
        for (int64_t i = 0; i < n_in_use; ++i) sizes[in_use[i]] = 0, tokens_of[in_use[i]] = 0;
    }

private:
    void count_in(int64_t begin, int64_t end, const uint16_t* z) {
        int64_t i = 0;
        for (int64_t at = begin; at < end; ++at) {
            const int64_t n = opelda::tokens_of(r.counts[at]);
            const float weight = r.counts[at] / float(n);
            for (const int64_t last = i + n; i < last; ++i) enter(z[i], weight);
        }
    }

    // Draws every token in turn; returns false where the call is to end.
    bool go_through(int64_t begin, int64_t end, uint16_t* z, bool first) {
        int64_t i = 0;
        for (int64_t at = begin; at < end; ++at) {
            const int64_t n = opelda::tokens_of(r.counts[at]);
            const float weight = r.counts[at] / float(n);
            const float* row = r.rows + int64_t(r.words[at]) * r.stride;
            const float prior = r.prior[r.words[at]];
            for (const int64_t last = i + n; i < last; ++i) {
                if ((drawn + 1) % kBetweenLooks == 0 && opelda::stopped()) return false;
                if (first) {
                    z[i] = uint16_t(draw(row, prior, 0, 0));
                } else {
                    const int32_t now = z[i];
                    leave(now, weight);
                    // a fresh token is in no count yet
                    const float own = r.fresh ? 0 : weight * r.inverse[now];
                    z[i] = uint16_t(draw(row, prior, now, own < row[now] ? own : row[now]));
                }
                enter(z[i], weight);
            }
        }
        return true;
    }

    // `own` of row[now] is the token itself.
    OPELDA_INLINE int32_t draw(const float* row, float prior, int32_t now, float own) {
        float used = 0;
        for (int64_t i = 0; i < n_in_use; ++i) {
            const int32_t k = in_use[i];
            used += sizes[k] * (row[k] - (k == now ? own : 0.0f));
            up_to[i] = used;
        }
        const float rest = prior - r.alpha[now] * own;
        const float target = uniform() * (used + (rest > 0 ? rest : 0));
        if (target < used) {
            int64_t at =
                0;  // counted rather than searched: there is no telling where a search would end
            for (int64_t i = 0; i < n_in_use; ++i) at += up_to[i] <= target;
            return in_use[at];
        }
        return draw_from_prior(row, target - used, now, own);
    }

    int32_t draw_from_prior(const float* row, float target, int32_t now, float own) const {
        int32_t found = now;
        for (int64_t k = 0; k < r.n_topics; k += kPad) {
            vf mass = {};
            for (int64_t i = k; i < k + kPad; i += kLanes)
                mass += load(r.alpha + i) * load(row + i);
            const float block = sum(mass) - (now / kPad == k / kPad ? r.alpha[now] * own : 0);
            if (block <= target && k + kPad < r.n_topics) {
                target -= block;
                continue;
            }
            for (int64_t i = k; i < k + kPad; ++i) {
                const float p = r.alpha[i] * (i == now ? row[i] - own : row[i]);
                if (p <= 0) continue;
                found = int32_t(i);
                target -= p;
                if (target < 0) return found;
            }
        }
        return found;  // rounding may have left the target beyond the end
    }

    OPELDA_INLINE void leave(int32_t k, float weight) {
        sizes[k] -= weight;
        if (--tokens_of[k] > 0) return;
        sizes[k] = 0;
        int64_t at = 0;
        while (in_use[at] != k) ++at;
        in_use[at] = in_use[--n_in_use];
    }

    OPELDA_INLINE void enter(int32_t k, float weight) {
        sizes[k] += weight;
        if (tokens_of[k]++ == 0) in_use[n_in_use++] = k;
    }

    void fetch(int64_t doc) const {
        if (doc >= r.n_docs) return;
        for (int64_t at = r.indptr[doc]; at < r.indptr[doc + 1]; ++at) {
            const float* row = r.rows + int64_t(r.words[at]) * r.stride;
            for (int64_t k = 0; k < r.stride; k += kPad) __builtin_prefetch(row + k, 0, 2);
        }
    }

    OPELDA_INLINE float uniform() {
        return (float(mix(key + ++drawn * kGolden) >> 40) + 0.5f) * 0x1p-24f;
    }

    const Resampling& r;
    float *sizes, *up_to;  // N_dk; sums of probabilities over the topics in use
    int32_t *tokens_of, *in_use;
    int64_t n_in_use = 0;
    uint64_t key = 0, drawn = 0;
};

// sum_k alpha_k beta_kj for every word.
inline void prior_masses(const Resampling& r, opelda::Queue& queue) {
    int64_t begin, end;
    while (opelda::take(queue, begin, end))
        for (int64_t j = begin; j < end; ++j) {
            vf mass = {};
            for (int64_t k = 0; k < r.stride; k += kLanes)
                mass += load(r.alpha + k) * load(r.rows + j * r.stride + k);
            r.prior[j] = sum(mass);
        }
}

inline void resample(const Resampling& r, opelda::Queue& queue) {
    Resampler worker(r);
    const Arena arena([&](Arena& a) { worker.allocate(a); });
    worker.prepare();
    int64_t begin, end;
    while (opelda::take(queue, begin, end))
        for (int64_t i = begin; i < end; ++i) worker.run(i, i + 1 < end ? i + 1 : r.n_docs);
}

}  // namespace OPELDA_ISA

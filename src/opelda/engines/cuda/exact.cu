// Maximum-likelihood mixture of a document, to a given accuracy, a warp per document;
// native/exact.hpp and exact_face.hpp have the equations. Everything runs in double precision,
// which is cheap on this GPU.
//
// Each lane holds a topic of the face, so a face has at most 32 topics. The CPU solves documents
// whose loss remains too large.

constexpr double kFloor = 1e-100;  // of x
constexpr double kRidge = 1e-7;    // of the diagonal of H
constexpr double kNoise = 1e-14;   // of the rise of a step
constexpr double kHardly = 2e-2;   // share below which a topic of the first face is dropped
constexpr int kSide = kLanes + 1;  // of H and of words' rows: avoids bank conflicts
constexpr int kFirstTopics = 16, kFirstLeaps = 3;
constexpr int kMostSteps = 8, kMostRounds = 60, kMostHalves = 30, kMostAdded = 8;

struct Face {
    const Words& doc;
    double tokens;
    double *x, *ratio;    // words: sum_i w_i B_ji, d_j / N / x_j
    double* h;            // kLanes x kSide: the curvature, then its inverse
    double* shown;        // kLanes: exchange between lanes
    float* columns;       // words x kSide: B
    unsigned used = 0;    // lanes with a topic
    int topic = 0;        // of this lane
    double w = 0, g = 0;  // its weight and slope
    double top = 0;       // the largest slope of all

    __device__ bool mine() const { return used >> lane_of() & 1; }
    __device__ int size() const { return kLanes - __clz(int(used)); }
    __device__ double share(int j) const { return double(doc.count[j]) / tokens; }

    __device__ void add(const Batch& b, int k, double weight) {
        const int slot = __ffs(int(~used)) - 1;
        used |= 1u << slot;
        if (lane_of() == slot) topic = k, w = weight;
        for (int j = lane_of(); j < doc.n; j += kLanes)
            columns[i64(j) * kSide + slot] = b.beta[i64(doc.word[j]) * b.width + k];
    }

    __device__ void drop(bool gone) {
        if (gone) w = 0;
        used &= ~__ballot_sync(kAll, gone);
    }

    // Makes the weights a mixture, and computes the words' probabilities and the slopes.
    __device__ void evaluate() {
        w = mine() ? w : 0;
        w /= sum_of(w);
        __syncwarp();
        shown[lane_of()] = w;
        __syncwarp();
        const int n_slots = size();
        for (int j = lane_of(); j < doc.n; j += kLanes) {
            double total = 0;
            for (int s = 0; s < n_slots; ++s)
                total += shown[s] * double(columns[i64(j) * kSide + s]);
            x[j] = fmax(total, kFloor);
            ratio[j] = share(j) / x[j];
        }
        __syncwarp();
        g = 0;
        if (mine())
            for (int j = 0; j < doc.n; ++j)
                g += ratio[j] * double(columns[i64(j) * kSide + lane_of()]);
        top = largest_of(g);
    }

    // An EM step of double length.
    __device__ void leap() {
        w *= g * g;
        evaluate();
    }

    // A Newton step within w >= 0, shortened if it would decrease F; an EM step on failure.
    __device__ void step() {
        const double before = w;
        bool in = mine() && (w > 0 || g > 1);
        const auto spread = [&] { w = before * g, evaluate(); };
        if (!invert(in)) return spread();
        if (!go(in)) return spread();
        const double expected = sum_of(w * g) / sum_of(w) - sum_of(before * g);
        if (!(expected > -kNoise)) return spread();
        evaluate();
        for (int halves = 0; halves < kMostHalves; ++halves) {
            if (sum_of((w - before) * g) >= -0.5 * expected - kNoise) return;
            w = 0.5 * (w + before);
            evaluate();
        }
    }

    // Inverts H = sum_j share_j / x_j^2 B_j B_j^T over the included topics by Gauss-Jordan
    // elimination; false on failure. Each lane has a row.
    __device__ bool invert(bool in) {
        const int lane = lane_of(), n_slots = size();
        const unsigned all = __ballot_sync(kAll, in);
        double row[kLanes] = {};
        for (int j = 0; j < doc.n; ++j) {
            const float* const words = columns + i64(j) * kSide;
            const double here = ratio[j] / x[j] * double(words[lane]);
#pragma unroll
            for (int first = 0; first < kLanes; first += 8)
                if (first < n_slots) {
#pragma unroll
                    for (int k = first; k < first + 8; ++k) row[k] += here * double(words[k]);
                }
        }
#pragma unroll
        for (int k = 0; k < kLanes; ++k) {
            const bool both = in && (all >> k & 1);
            h[lane * kSide + k] = !both ? 0 : k == lane ? row[k] * (1 + kRidge) : row[k];
        }
        __syncwarp();
        for (int k = 0; k < n_slots; ++k) {
            if (!(all >> k & 1)) continue;
            const double pivot = h[k * kSide + k];
            if (!(pivot > 0)) return false;
            __syncwarp();
            h[k * kSide + lane] = (lane == k ? 1.0 : h[k * kSide + lane]) / pivot;
            __syncwarp();
            if (in && lane != k) {
                const double by = h[lane * kSide + k];
                for (int c = 0; c < n_slots; ++c)
                    h[lane * kSide + c] =
                        (c == k ? 0.0 : h[lane * kSide + c]) - by * h[k * kSide + c];
            }
            __syncwarp();
        }
        return true;
    }

    // Moves w to the maximum of the quadratic model over w >= 0, border by border: a rank-1 update
    // drops a topic at the border from the inverse.
    __device__ bool go(bool in) {
        const int lane = lane_of(), n_slots = size();
        shown[lane] = in ? g - 1 : 0;
        __syncwarp();
        double best = in ? w : 0;
        if (in)
            for (int k = 0; k < n_slots; ++k) best += shown[k] * h[lane * kSide + k];
        __syncwarp();
        while (true) {
            const bool below = in && best < 0;
            if (!__any_sync(kAll, below)) break;
            const double to = !below ? 2.0 : w > 0 ? w / (w - best) : 0.0;
            const double part = -largest_of(-to);
            const int gone = __ffs(int(__ballot_sync(kAll, to == part))) - 1;
            if (gone < 0) return false;  // NaN
            w += in ? part * (best - w) : 0;
            const double own = h[gone * kSide + gone], theirs = __shfl_sync(kAll, best, gone);
            if (!(own > 0)) return false;
            const double by = h[lane * kSide + gone] / own;
            __syncwarp();
            if (in && lane != gone) {
                best -= theirs * by;
                for (int c = 0; c < n_slots; ++c) h[lane * kSide + c] -= by * h[gone * kSide + c];
            }
            if (lane == gone) in = false, w = best = 0;
            __syncwarp();
        }
        w = in ? best : 0;
        return sum_of(w) > 0;
    }
};

// Computes the slopes of all topics and writes by how much topics outside the face exceed `level`.
// Returns the largest slope of all topics, and in `others` the largest outside the face.
__device__ double look(const Batch& b, const Face& on, double level, float* score, double& others) {
    double top = 0;
    for (int k = lane_of(); k < b.width; k += kLanes) {
        double slope = 0;
        for (int j = 0; j < on.doc.n; ++j)
            slope += on.ratio[j] * double(b.beta[i64(on.doc.word[j]) * b.width + k]);
        score[k] = float(fmax(slope - level, 0.0));
        top = fmax(top, slope);
    }
    __syncwarp();
    if (on.mine()) score[on.topic] = 0;
    __syncwarp();
    float highest = 0;
    for (int k = lane_of(); k < b.n_topics; k += kLanes) highest = fmaxf(highest, score[k]);
    others = level + double(largest_of(highest));
    return fmax(largest_of(top), on.top);
}

// Climbs until no slope exceeds 1 + goal; returns the largest slope.
__device__ double climb(const Batch& b, Face& on, double goal, float* score, int* chosen,
                        int& n_steps) {
    double within = 0.05;  // slope error of the face before a full gradient
    for (int round = 0;; ++round) {
        within = fmax(within, goal);
        for (int t = 0; t < kMostSteps && on.top > 1 + within; ++t) on.step(), ++n_steps;
        double others;
        const double steepest = look(b, on, 1.0, score, others);
        if (!(steepest > 1 + goal) || round == kMostRounds) return steepest;
        if (others > 1 + goal) {
            const bool far = round < 3 && others > 1.1;
            const double worth = fmax(0.3 * (others - 1), goal);
            on.drop(on.mine() && on.w == 0 && on.g < 0.98);
            const int had = __popc(on.used);
            const int most = min(max(had / 4, kMostAdded), min(kLanes - had, b.n_topics));
            if (most == 0) return steepest;
            choose_largest(score, b.n_topics, most, chosen);
            for (int i = 0; i < most; ++i) {
                const double above = double(score[chosen[i]]);
                if (above >= worth) on.add(b, chosen[i], far ? fmin(0.1 * above, 0.05) : 0.0);
            }
            __syncwarp();
            on.evaluate();
            if (far) on.leap(), on.leap();
        }
        within = others > 1 + goal ? fmin(0.1 * (others - 1), 0.05) : 0;
    }
}

// Upper bound of the gain in log-likelihood of any mixture over the weights rounded to floats: over
// the double-precision weights, plus the loss by rounding.
__device__ double loss_of(const Face& on, double steepest, double off, float rounded) {
    const double whole = sum_of(double(rounded));
    __syncwarp();
    on.shown[lane_of()] = double(rounded) / whole;
    __syncwarp();
    double lost = 0;
    bool impossible = false;
    for (int j = lane_of(); j < on.doc.n; j += kLanes) {
        double total = 0;
        for (int s = 0; s < on.size(); ++s)
            total += on.shown[s] * double(on.columns[i64(j) * kSide + s]);
        impossible |= !(fmin(on.x[j], total) > 1.001 * kFloor);
        lost += on.share(j) * log(on.x[j] / total);
    }
    const double behind = fmax(sum_of(lost), 0.0) + 64 * off;
    const double loss = on.tokens * (log1p(fmax(steepest - 1, 0.0) + off * steepest) + behind);
    return __any_sync(kAll, impossible) || !(loss >= 0) ? infinity() : loss;
}

template <bool Shared>
__device__ void run_exact(const Batch& b, int room, float* memory, i64 floats, const float* means,
                          double max_loss, double max_loss_per_token, float* theta, int* n_picked,
                          int* pick_topics, float* pick_shares, double* losses, int* n_iter) {
    const int lane = lane_of();
    double* const x = reinterpret_cast<double*>(own_room<Shared>(memory, floats));
    double* const ratio = x + room;
    double* const h = ratio + room;
    double* const shown = h + kLanes * kSide;
    float* const columns = reinterpret_cast<float*>(shown + kLanes);
    float* const score = columns + i64(room) * kSide;
    int* const chosen = reinterpret_cast<int*>(score + b.width);
    const i64 n_warps = i64(gridDim.x) * blockDim.x / kLanes;
    for (i64 i = warp_of(); i < b.n; i += n_warps) {
        const int at = b.order[i];
        const Words doc(b, at);
        if (doc.n == 0) {
            if (lane == 0) n_picked[at] = n_iter[at] = 0, losses[at] = 0;
            continue;
        }
        Face on = {doc, doc.tokens(), x, ratio, h, shown, columns};
        for (i64 c = lane; c < i64(doc.n) * kSide; c += kLanes) columns[c] = 0;
        for (int j = lane; j < doc.n; j += kLanes)
            ratio[j] = on.share(j) / double(means[doc.word[j]]);
        __syncwarp();
        double others;
        look(b, on, 0.0, score, others);
        const int first = min(kFirstTopics, b.n_topics);
        choose_largest(score, b.n_topics, first, chosen);
        for (int s = 0; s < first; ++s) on.add(b, chosen[s], double(score[chosen[s]]));
        __syncwarp();
        on.evaluate();
        for (int t = 0; t < kFirstLeaps; ++t) on.leap();
        on.drop(on.mine() && on.w < kHardly && on.g < 1);
        on.evaluate();
        const double asked = fmin(max_loss, max_loss_per_token * on.tokens);
        // sums of positive numbers over words and topics, and a few products
        const double off = 0x1p-52 * double(doc.n + 2 * kLanes + 40);
        const double goal = fmax(expm1(0.9 * asked / on.tokens) - off, off);
        int n_steps = 0;
        const double steepest = climb(b, on, goal, score, chosen, n_steps);
        const float rounded = float(on.w);
        const double loss = loss_of(on, steepest, off, rounded);
        const unsigned kept = __ballot_sync(kAll, rounded > 0);
        if (rounded > 0) {
            const i64 place = i64(at) * kLanes + __popc(kept & ((1u << lane) - 1));
            pick_topics[place] = on.topic, pick_shares[place] = rounded;
            if (theta) theta[i64(at) * b.n_topics + on.topic] = rounded;
        }
        if (lane == 0) n_picked[at] = __popc(kept), n_iter[at] = n_steps, losses[at] = loss;
        __syncwarp();
    }
}

#define OPELDA_EXACT(name, shared)                                                              \
    extern "C" __global__ void name(                                                            \
        OPELDA_BATCH, int room, float* memory, i64 floats, const float* means, double max_loss, \
        double max_loss_per_token, float* theta, int* n_picked, int* pick_topics,               \
        float* pick_shares, double* losses, int* n_iter) {                                      \
        const Batch b = OPELDA_MADE;                                                            \
        run_exact<shared>(b, room, memory, floats, means, max_loss, max_loss_per_token, theta,  \
                          n_picked, pick_topics, pick_shares, losses, n_iter);                  \
    }
OPELDA_EXACT(exact_shared, true)
OPELDA_EXACT(exact_memory, false)

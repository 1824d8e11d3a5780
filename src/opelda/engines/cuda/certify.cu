// The certificate of mixtures and the two terms of f, in double precision, a warp per document;
// native/certificate.hpp has the formulas.

constexpr double kImpossible = 1e-280;

template <bool Shared>
__device__ void run_certify(const Batch& b, int room, float* memory, i64 floats,
                            const double* alpha, const float* theta, double* gap,
                            double* likelihood_gap, double* log_likelihood, double* log_prior,
                            double* loss) {
    const int lane = lane_of();
    double* const x = reinterpret_cast<double*>(own_room<Shared>(memory, floats));
    const i64 n_warps = i64(gridDim.x) * blockDim.x / kLanes;
    for (i64 i = warp_of(); i < b.n; i += n_warps) {
        const int at = b.order[i];
        const Words doc(b, at);
        if (doc.n == 0) continue;
        const float* const mixture = theta + i64(at) * b.n_topics;
        const double tokens = doc.tokens();
        double whole = 0;
        for (int k = lane; k < b.n_topics; k += kLanes) whole += double(mixture[k]);
        whole = sum_of(whole);
        for (int j = 0; j < doc.n; ++j) {
            const float* const row = b.beta + i64(doc.word[j]) * b.width;
            double total = 0;
            for (int k = lane; k < b.n_topics; k += kLanes)
                total += double(mixture[k]) / whole * double(row[k]);
            total = sum_of(total);
            if (lane == 0) x[j] = total;
        }
        __syncwarp();
        double likelihood = 0, rarest = 1;
        for (int j = lane; j < doc.n; j += kLanes) {
            const double d = double(doc.count[j]), here = fmax(x[j], kImpossible);
            rarest = !(x[j] >= rarest) ? x[j] : rarest;
            likelihood += d * log(here);
            x[j] = d / here;
        }
        likelihood = sum_of(likelihood);
        rarest = -largest_of(-rarest);
        __syncwarp();
        double prior = 0, excess = 0, likeliest = -1e300, best = -1e300;
        for (int k = lane; k < b.n_topics; k += kLanes) {
            const double share = fmax(double(mixture[k]) / whole, 1e-30);
            const double weight = alpha[k] - 1;
            prior += weight * log(share);
            excess += weight;
            double slope = 0;
            for (int j = 0; j < doc.n; ++j)
                slope += x[j] * double(b.beta[i64(doc.word[j]) * b.width + k]);
            likeliest = fmax(likeliest, slope);
            best = fmax(best, slope + weight / share);
        }
        prior = sum_of(prior), excess = sum_of(excess);
        likeliest = largest_of(likeliest), best = largest_of(best);
        if (lane == 0) {
            gap[at] = fmax(best - tokens - excess, 0.0);
            likelihood_gap[at] = fmax(likeliest - tokens, 0.0);
            log_likelihood[at] = likelihood;
            log_prior[at] = prior;
            // sums of positive numbers, one for each word and topic, and a few products
            const double rounding = 0x1p-52 * double(doc.n + b.n_topics + 16);
            const double above = fmax(likeliest / tokens * (1 + rounding) - 1, 0.0);
            loss[at] = rarest > kImpossible ? tokens * log1p(above) : infinity();
        }
        __syncwarp();
    }
}

#define OPELDA_CERTIFY(name, shared)                                                      \
    extern "C" __global__ void name(OPELDA_BATCH, int room, float* memory, i64 floats,    \
                                    const double* alpha, const float* theta, double* gap, \
                                    double* likelihood_gap, double* log_likelihood,       \
                                    double* log_prior, double* loss) {                    \
        const Batch b = OPELDA_MADE;                                                      \
        run_certify<shared>(b, room, memory, floats, alpha, theta, gap, likelihood_gap,   \
                            log_likelihood, log_prior, loss);                             \
    }
OPELDA_CERTIFY(certify_shared, true)
OPELDA_CERTIFY(certify_memory, false)

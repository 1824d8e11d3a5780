// Stochastic CVB0 for one document with fixed topics, a warp each, in double precision;
// native/cvb0.hpp has the equations. With S = N + alpha a visit of word j is
//     S <- S (r + c beta_j) + (1 - r) alpha,  c = (1 - r) |d| / (beta_j . S),  r = (1 - rho_t)^d_j.

template <bool Shared>
__device__ void run_cvb0(const Batch& b, float* memory, i64 floats, const float* alpha,
                         double alpha_sum, int burn_in, int n_samples, double scale, double offset,
                         double decay, float* theta) {
    const int lane = lane_of(), n_topics = b.n_topics;
    double* const sizes = reinterpret_cast<double*>(own_room<Shared>(memory, floats));  // S
    double* const total = sizes + n_topics;
    const i64 n_warps = i64(gridDim.x) * blockDim.x / kLanes;
    for (i64 i = warp_of(); i < b.n; i += n_warps) {
        const int at = b.order[i];
        const Words doc(b, at);
        if (doc.n == 0) continue;
        const double tokens = doc.tokens();
        for (int k = lane; k < n_topics; k += kLanes) {
            sizes[k] = tokens * double(alpha[k]) / alpha_sum + double(alpha[k]);
            total[k] = 0;
        }
        for (int pass = 0; pass < burn_in + n_samples; ++pass) {
            for (int first = 0; first < doc.n; first += kLanes) {
                double keep = 1;  // r of a word, one per lane
                if (first + lane < doc.n) {
                    const double t = double(pass) * doc.n + first + lane + 1 + offset;
                    const double left = 1 - scale * exp(-decay * log(t));
                    keep = left > 1e-30 ? exp(double(doc.count[first + lane]) * log(left)) : 0;
                }
                for (int l = 0; l < kLanes && first + l < doc.n; ++l) {
                    const float* const row = b.beta + i64(doc.word[first + l]) * b.width;
                    const double r = __shfl_sync(kAll, keep, l);
                    double mass = 0;
                    for (int k = lane; k < n_topics; k += kLanes) mass += sizes[k] * double(row[k]);
                    const double c = (1 - r) * tokens / fmax(sum_of(mass), 1e-300);
                    for (int k = lane; k < n_topics; k += kLanes)
                        sizes[k] = sizes[k] * (r + c * double(row[k])) + (1 - r) * double(alpha[k]);
                }
            }
            for (int k = lane; k < n_topics && pass >= burn_in; k += kLanes) total[k] += sizes[k];
        }
        double whole = 0;
        for (int k = lane; k < n_topics; k += kLanes) whole += total[k];
        whole = sum_of(whole);
        for (int k = lane; k < n_topics; k += kLanes)
            theta[i64(at) * n_topics + k] = float(total[k] / whole);
    }
}

#define OPELDA_CVB0(name, shared)                                                                \
    extern "C" __global__ void name(                                                             \
        OPELDA_BATCH, int room, float* memory, i64 floats, const float* alpha, double alpha_sum, \
        int burn_in, int n_samples, double scale, double offset, double decay, float* theta) {   \
        const Batch b = OPELDA_MADE;                                                             \
        run_cvb0<shared>(b, memory, floats, alpha, alpha_sum, burn_in, n_samples, scale, offset, \
                         decay, theta);                                                          \
    }
OPELDA_CVB0(cvb0_shared, true)
OPELDA_CVB0(cvb0_memory, false)

// Variational Bayes for a document (Blei et al. 2003), a warp per document, in double precision,
// stopped by its bound. With E_k = exp(psi(gamma_k)) up to a common factor:
//     phi_j = sum_k E_k beta_kj,    gamma_k = alpha_k + E_k sum_j d_j beta_kj / phi_j.

constexpr double kFloor = 1e-300;

template <bool Shared>
__device__ void run_vb(const Batch& b, int room, float* memory, i64 floats, const float* alphas,
                       double of_alpha, int most, double tol, const double* start, float* theta,
                       float* factors, int* n_iter) {
    const int lane = lane_of(), n_topics = b.n_topics;
    double* const ratio = reinterpret_cast<double*>(own_room<Shared>(memory, floats));
    double* const gamma = ratio + room;
    double* const weight = gamma + n_topics;  // E_k
    const i64 n_warps = i64(gridDim.x) * blockDim.x / kLanes;
    for (i64 i = warp_of(); i < b.n; i += n_warps) {
        const int at = b.order[i];
        const Words doc(b, at);
        if (doc.n == 0) continue;
        const double tokens = doc.tokens();
        const auto alpha = [&](int k) { return fmax(double(alphas[k]), 1e-30); };
        // psi(gamma_k), and the largest
        const auto weigh = [&] {
            double top = -1e300;
            for (int k = lane; k < n_topics; k += kLanes) {
                weight[k] = digamma(gamma[k]);
                top = fmax(top, weight[k]);
            }
            return largest_of(top);
        };
        for (int k = lane; k < n_topics; k += kLanes)
            gamma[k] = start ? start[k] : alpha(k) + tokens / double(n_topics);
        double bound = 0;
        int t = 0;
        for (;; ++t) {
            __syncwarp();
            const double top = weigh();
            double whole = 0, terms = 0;
            for (int k = lane; k < n_topics; k += kLanes) whole += gamma[k];
            whole = sum_of(whole);
            const double of_whole = digamma(whole);
            for (int k = lane; k < n_topics; k += kLanes) {
                if (tol > 0)
                    terms += (alpha(k) - gamma[k]) * (weight[k] - of_whole) + lgamma(gamma[k]) -
                             lgamma(alpha(k));
                weight[k] = exp(weight[k] - top);
            }
            __syncwarp();
            for (int j = 0; j < doc.n; ++j) {
                const float* const row = b.beta + i64(doc.word[j]) * b.width;
                double phi = 0;
                for (int k = lane; k < n_topics; k += kLanes) phi += weight[k] * double(row[k]);
                phi = sum_of(phi);
                if (lane == 0) ratio[j] = fmax(phi, kFloor);
            }
            __syncwarp();
            double logs = 0;
            for (int j = lane; j < doc.n; j += kLanes) {
                const double d = double(doc.count[j]);
                if (tol > 0) logs += d * log(ratio[j]);
                ratio[j] = d / ratio[j];
            }
            __syncwarp();
            if (tol > 0) {
                const double after = sum_of(logs) + tokens * (top - of_whole) + sum_of(terms) +
                                     of_alpha - lgamma(whole);
                if (t > 0 && after - bound < tol * fabs(after)) break;
                bound = after;
            }
            for (int k = lane; k < n_topics; k += kLanes) {
                double slope = 0;
                for (int j = 0; j < doc.n; ++j)
                    slope += ratio[j] * double(b.beta[i64(doc.word[j]) * b.width + k]);
                gamma[k] = alpha(k) + weight[k] * slope;
            }
            if (t + 1 == most) {
                ++t;
                break;
            }
        }
        __syncwarp();
        double whole = 0;
        for (int k = lane; k < n_topics; k += kLanes) whole += gamma[k];
        whole = sum_of(whole);
        const double top = weigh();
        for (int k = lane; k < n_topics; k += kLanes) {
            theta[i64(at) * n_topics + k] = float(gamma[k] / whole);
            const double factor = exp(weight[k] - top);
            if (factors) factors[i64(at) * n_topics + k] = factor > 1e-30 ? float(factor) : 0.0f;
        }
        if (lane == 0) n_iter[at] = t;
        __syncwarp();
    }
}

#define OPELDA_VB(name, shared)                                                                    \
    extern "C" __global__ void name(                                                               \
        OPELDA_BATCH, int room, float* memory, i64 floats, const float* alpha, double of_alpha,    \
        int most, double tol, const double* start, float* theta, float* factors, int* n_iter) {    \
        const Batch b = OPELDA_MADE;                                                               \
        run_vb<shared>(b, room, memory, floats, alpha, of_alpha, most, tol, start, theta, factors, \
                       n_iter);                                                                    \
    }
OPELDA_VB(vb_shared, true)
OPELDA_VB(vb_memory, false)

// The log probability of documents under their mixtures, in double precision: a warp per document,
// a lane per word. Topics have the caller's layout, a row of words per topic.
template <class T>
__device__ void log_probability(const i64* indptr, const int* words, const float* counts,
                                int n_docs, const T* topics, i64 n_words, int n_topics,
                                const float* theta, double smallest, double* found) {
    const i64 d = warp_of();
    if (d >= n_docs) return;
    double total = 0;
    for (i64 i = indptr[d] + lane_of(); i < indptr[d + 1]; i += kLanes) {
        double x = 0;
        for (int k = 0; k < n_topics; ++k)
            x += double(topics[k * n_words + words[i]]) * double(theta[d * n_topics + k]);
        total += double(counts[i]) * log(fmax(x, smallest));
    }
    total = sum_of(total);
    if (lane_of() == 0) found[d] = total;
}

#define OPELDA_PREDICT(name, T)                                                                    \
    extern "C" __global__ void name(const i64* indptr, const int* words, const float* counts,      \
                                    int n_docs, const T* topics, i64 n_words, int n_topics,        \
                                    const float* theta, double smallest, double* found) {          \
        log_probability(indptr, words, counts, n_docs, topics, n_words, n_topics, theta, smallest, \
                        found);                                                                    \
    }
OPELDA_PREDICT(predict_float32, float)
OPELDA_PREDICT(predict_float64, double)

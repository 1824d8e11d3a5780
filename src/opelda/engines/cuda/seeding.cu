// Distant rows, as chosen by k-means++: sequentially, with two launches per row.

constexpr int kThreads = 256;

// Write row number `at`: the row at index `at` if draw < 0, otherwise a random row with probability
// proportional to its squared distance, or -1 if all distances are 0. Then unpack its values by
// word. One block.
extern "C" __global__ void choose(const double* distance, int n_docs, double draw, int at,
                                  int* rows, const i64* indptr, const int* words,
                                  const double* values, double* laid) {
    __shared__ double ends[kThreads];
    const int me = threadIdx.x;
    if (draw >= 0) {
        const int each = (n_docs + kThreads - 1) / kThreads;
        const int first = min(me * each, n_docs), last = min(first + each, n_docs);
        double own = 0;
        for (int d = first; d < last; ++d) own += distance[d] * distance[d];
        ends[me] = own;
        __syncthreads();
        if (me == 0) {
            for (int i = 1; i < kThreads; ++i) ends[i] += ends[i - 1];  // (monotone)
            rows[at] = -1;
        }
        __syncthreads();
        const double before = me ? ends[me - 1] : 0.0, target = draw * ends[kThreads - 1];
        if (before <= target && target < ends[me]) {
            // (the same total as above, so some row passes the target)
            double part = 0;
            int d = first;
            for (; d < last; ++d) {
                part += distance[d] * distance[d];
                if (target < before + part) break;
            }
            rows[at] = d;
        }
        __syncthreads();
    }
    const int earlier = at > 0 ? rows[at - 1] : -1, row = rows[at];
    if (earlier >= 0)
        for (i64 i = indptr[earlier] + me; i < indptr[earlier + 1]; i += kThreads)
            laid[words[i]] = 0;
    __syncthreads();
    if (row >= 0)
        for (i64 i = indptr[row] + me; i < indptr[row + 1]; i += kThreads)
            laid[words[i]] = values[i];
}

// Update the distances with the unpacked row; a warp per document.
extern "C" __global__ void leave(const i64* indptr, const int* words, const double* values,
                                 int n_docs, const double* laid, double near, double* nearest,
                                 double* distance) {
    const i64 d = warp_of();
    if (d >= n_docs) return;
    double product = 0;
    for (i64 i = indptr[d] + lane_of(); i < indptr[d + 1]; i += kLanes)
        product += values[i] * laid[words[i]];
    product = sum_of(product);
    if (lane_of() != 0) return;
    nearest[d] = fmax(nearest[d], product);
    const double far = 1 - nearest[d];
    distance[d] = distance[d] > 0 && far >= near ? far : 0.0;
}

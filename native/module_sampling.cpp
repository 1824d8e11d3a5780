// Random numbers in the Python module: documents' keys, and initial topics.
#include <bit>

#include "arrays.hpp"
#include "kernels.hpp"
#include "mixing.hpp"

namespace opelda {
namespace {

// for the sum of four uniform 16-bit numbers: scales the standard deviation to a tenth
constexpr double kTenth = 0.1 / 37837.22723720648;  // sqrt(4 (2^32 - 1) / 12)

// A number per document that depends only on its words and counts, in any order.
nb::object content_keys(In<int64_t, 1> indptr, In<int32_t, 1> words, In<float, 1> counts,
                        MaybeIn<int32_t, 1> ids, int n_threads) {
    const int64_t n_docs = int64_t(indptr.shape(0)) - 1;
    uint64_t* keys;
    auto array = numpy_array<uint64_t>(size_t(n_docs), &keys);
    {
        const Released released;
        run_ranges(n_docs, n_threads, [&](Queue& queue) {
            int64_t begin, end;
            while (take(queue, begin, end))
                for (int64_t d = begin; d < end; ++d) {
                    uint64_t total = 0;
                    for (int64_t at = indptr.data()[d]; at < indptr.data()[d + 1]; ++at) {
                        const int32_t word = words.data()[at];
                        const uint64_t id = uint32_t(ids ? ids->data()[word] : word);
                        total +=
                            mix((id << 32 | std::bit_cast<uint32_t>(counts.data()[at])) + kGolden);
                    }
                    keys[d] = total;
                }
        });
    }
    return nb::cast(array);
}

// Weights of 1 with a standard deviation of a tenth: the sum of the four quarters of a random
// number, which is nearly normal. Each weight depends on its word and topic, and not on the number
// of words or topics.
void random_start(Out<float, 2> rows, int64_t n_topics, uint64_t seed, int n_threads) {
    const int64_t stride = int64_t(rows.shape(1));
    const uint64_t key = mix(seed + kGolden);
    const Released released;
    run_ranges(int64_t(rows.shape(0)), n_threads, [&](Queue& queue) {
        int64_t begin, end;
        while (take(queue, begin, end))
            for (int64_t j = begin; j < end; ++j) {
                const uint64_t word = mix(key + uint64_t(j + 1) * kGolden);
                float* row = rows.data() + j * stride;
                for (int64_t k = 0; k < n_topics; ++k) {
                    const uint64_t bits = mix(word + uint64_t(k + 1) * kGolden);
                    const uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) +
                                         (bits >> 32 & 0xffff) + (bits >> 48);
                    row[k] = float(1.0 + (double(sum) - 131070.0) * kTenth);
                }
                for (int64_t k = n_topics; k < stride; ++k) row[k] = 0;
            }
    });
}

}  // namespace

void add_sampling(nb::module_& m) {
    m.def("content_keys", &content_keys, "indptr"_a, "words"_a, "counts"_a, "ids"_a.none(),
          nb::kw_only(), "n_threads"_a);
    m.def("random_start", &random_start, "rows"_a, nb::kw_only(), "n_topics"_a, "seed"_a,
          "n_threads"_a);
}

}  // namespace opelda

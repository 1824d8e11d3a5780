// Vectors of one register: 64 bytes with AVX-512, 32 with AVX2, 16 with SSE2 and NEON, from a
// common source. (GCC would split wider vectors lane by lane.) Everything here is private to the
// instruction set being compiled (OPELDA_ISA is a different namespace each time), so the linker
// cannot mix symbols of different instruction sets.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>
#include <utility>

namespace OPELDA_ISA {

#define OPELDA_INLINE inline __attribute__((always_inline))

#if defined(__AVX512F__)
constexpr int kRegister = 64;
#elif defined(__AVX__)
constexpr int kRegister = 32;
#else
constexpr int kRegister = 16;
#endif
constexpr int kLanes = kRegister / 4;    // floats or 32-bit integers
constexpr int kDoubles = kRegister / 8;  // doubles or 64-bit integers
// Arrays and rows are padded to a multiple of this number of floats, a cache line.
constexpr int kPad = 16;

typedef float vf __attribute__((vector_size(kRegister)));
typedef int32_t vi __attribute__((vector_size(kRegister)));
typedef double vd __attribute__((vector_size(kRegister)));
typedef int64_t vl __attribute__((vector_size(kRegister)));
typedef uint64_t vu __attribute__((vector_size(kRegister)));
typedef float vh __attribute__((vector_size(kRegister / 2)));  // as many lanes as vd
typedef float vf_any __attribute__((vector_size(kRegister), aligned(4)));
typedef int32_t vi_any __attribute__((vector_size(kRegister), aligned(4)));

OPELDA_INLINE vf load(const float* p) { return *reinterpret_cast<const vf_any*>(p); }
OPELDA_INLINE vi load(const int32_t* p) { return *reinterpret_cast<const vi_any*>(p); }
OPELDA_INLINE vd load(const double* p) {
    vd v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
OPELDA_INLINE void store(float* p, vf v) { *reinterpret_cast<vf_any*>(p) = v; }
OPELDA_INLINE void store(float* p, vh v) { std::memcpy(p, &v, sizeof v); }
OPELDA_INLINE void store(double* p, vd v) { std::memcpy(p, &v, sizeof v); }
// (The compiler simplifies s - 0 to s, but must compute 0 + s, which differs for -0.)
OPELDA_INLINE vf broadcast(float s) { return s - vf{}; }
OPELDA_INLINE vd broadcast(double s) { return s - vd{}; }
OPELDA_INLINE vf as_float(vi bits) {
    vf v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

// 0, 1, 2, ... in the lanes.
constexpr int32_t kNumbers[kPad] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr double kNumbers64[kPad / 2] = {0, 1, 2, 3, 4, 5, 6, 7};

OPELDA_INLINE vf max(vf a, vf b) { return a > b ? a : b; }
OPELDA_INLINE vd max(vd a, vd b) { return a > b ? a : b; }

// Replaces `best` and its place by `value` and its `place` in lanes with a larger value.
OPELDA_INLINE void keep_larger(vf& best, vi& where, vf value, vi place) {
    const vi larger = value > best;
    best = larger ? value : best;
    where = larger ? place : where;
}

// The places of the lanes that equal `value`; a large number in other lanes.
OPELDA_INLINE vi places_of(float value, vf lanes, vi places) {
    return lanes == value ? places : vi{} + INT32_MAX;
}

// Conversion between kDoubles floats and doubles. Loads from memory take a single instruction,
// where GCC emits several for the general form.
OPELDA_INLINE vd widen(vh v) { return __builtin_convertvector(v, vd); }
OPELDA_INLINE vd widen(const float* p) {
#if defined(__AVX512F__)
    return vd(_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p)));
#elif defined(__SSE2__) && !defined(__AVX__)
    return vd(_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))));
#else
    vh v;
    std::memcpy(&v, p, sizeof v);
    return widen(v);
#endif
}
// kDoubles of a vector's floats, starting at this lane.
OPELDA_INLINE vd half(vf v, int64_t at) {
    vh part;
    std::memcpy(&part, reinterpret_cast<const char*>(&v) + at * sizeof(float), sizeof part);
    return widen(part);
}
OPELDA_INLINE vh narrow(vd v) { return __builtin_convertvector(v, vh); }

// Combines the upper half of the lanes with the lower half by `op`, repeatedly, down to a single
// value. The tree is fixed, so with the same instruction set a value does not depend on where it is
// computed.
template <class V, int... I> OPELDA_INLINE auto lower(V v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, I...);
}
template <class V, int... I> OPELDA_INLINE auto upper(V v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, (int(sizeof...(I)) + I)...);
}
template <class V, class Op> OPELDA_INLINE auto fold(V v, Op op) {
    constexpr int n = sizeof v / sizeof v[0];
    if constexpr (sizeof v > 16) {
        constexpr std::make_integer_sequence<int, n / 2> half{};
        return fold(op(lower(v, half), upper(v, half)), op);
    } else if constexpr (n == 4) {
        v = op(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
        return op(v[0], v[1]);
    } else {
        return op(v[0], v[1]);
    }
}

OPELDA_INLINE float sum(vf v) {
    return fold(v, [](auto a, auto b) { return a + b; });
}
OPELDA_INLINE double sum(vd v) {
    return fold(v, [](auto a, auto b) { return a + b; });
}
OPELDA_INLINE float largest(vf v) {
    return fold(v, [](auto a, auto b) { return a > b ? a : b; });
}
OPELDA_INLINE double largest(vd v) {
    return fold(v, [](auto a, auto b) { return a > b ? a : b; });
}
OPELDA_INLINE int32_t smallest(vi v) {
    return fold(v, [](auto a, auto b) { return a < b ? a : b; });
}
// For comparison masks, whose integer types differ between compilers.
template <class Mask> OPELDA_INLINE bool any(Mask v) {
    return fold(v, [](auto a, auto b) { return a | b; }) != 0;
}
template <class Mask> OPELDA_INLINE bool all(Mask v) {
    return fold(v, [](auto a, auto b) { return a & b; }) != 0;
}

// Reduces kLanes vectors to the vector of their sums, with the same tree: each step folds pairs of
// vectors.
template <int Half, class V, int... L>
OPELDA_INLINE V join(V a, V b, std::integer_sequence<int, L...>) {
    constexpr int n = sizeof...(L);
    return __builtin_shufflevector(a, b, (L & Half ? n + L - Half : L)...) +
           __builtin_shufflevector(a, b, (L & Half ? n + L : L + Half)...);
}
template <int Half, class V> OPELDA_INLINE V fold_sums(V* v) {
    constexpr int n = sizeof(V) / sizeof(v[0][0]);
    for (int i = 0; i < Half; ++i)
        v[i] = join<Half>(v[i], v[i + Half], std::make_integer_sequence<int, n>{});
    if constexpr (Half > 1) return fold_sums<Half / 2>(v);
    return v[0];
}
// Transposes a square of vectors.
template <int Half, class V, int... L>
OPELDA_INLINE void swap_blocks(V& a, V& b, std::integer_sequence<int, L...>) {
    constexpr int n = sizeof...(L);
    const V first = __builtin_shufflevector(a, b, (L & Half ? n + L - Half : L)...);
    b = __builtin_shufflevector(a, b, (L & Half ? n + L : L + Half)...);
    a = first;
}
template <int Half, class V> OPELDA_INLINE void transpose(V* v) {
    constexpr int n = sizeof(V) / sizeof(v[0][0]);
    for (int i = 0; i < n; ++i)
        if (!(i & Half)) swap_blocks<Half>(v[i], v[i + Half], std::make_integer_sequence<int, n>{});
    if constexpr (Half > 1) transpose<Half / 2>(v);
}
OPELDA_INLINE vf sums(vf* v) { return fold_sums<kLanes / 2>(v); }
OPELDA_INLINE vd sums(vd* v) { return fold_sums<kDoubles / 2>(v); }

}  // namespace OPELDA_ISA

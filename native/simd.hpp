// Vectors of sixteen floats or eight doubles. The compiler maps them to whatever registers the instruction set has, so one
// source serves AVX-512, AVX2, SSE2 and NEON. Everything here is private to the instruction set being compiled
// (OPELDA_ISA is a different namespace each time): no symbol built for one can be picked by the linker for another.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

namespace OPELDA_ISA {

#define OPELDA_INLINE inline __attribute__((always_inline))

constexpr int kLanes = 16;

typedef float vf __attribute__((vector_size(64)));
typedef float vf8 __attribute__((vector_size(32)));
typedef float vf4 __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(64)));
typedef double vd __attribute__((vector_size(64)));
typedef double vd4 __attribute__((vector_size(32)));
typedef int64_t vl __attribute__((vector_size(64)));
typedef float vf_any __attribute__((vector_size(64), aligned(4)));
typedef int32_t vi_any __attribute__((vector_size(64), aligned(4)));
typedef float vf8_any __attribute__((vector_size(32), aligned(4)));

OPELDA_INLINE vf load(const float* p) { return *reinterpret_cast<const vf_any*>(p); }
OPELDA_INLINE vi load(const int32_t* p) { return *reinterpret_cast<const vi_any*>(p); }
OPELDA_INLINE vf as_float(vi bits) {
    vf v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}
OPELDA_INLINE void store(float* p, vf v) { *reinterpret_cast<vf_any*>(p) = v; }
OPELDA_INLINE vf broadcast(float s) { return vf{} + s; }
// Choosing lane by lane goes register by register: GCC takes the general form apart into single lanes where a vector of sixteen needs
// several registers.
#if defined(__AVX512F__)
constexpr int kRegister = 64;
#elif defined(__AVX__)
constexpr int kRegister = 32;
#else
constexpr int kRegister = 16;
#endif
typedef float rf __attribute__((vector_size(kRegister)));
typedef int32_t ri __attribute__((vector_size(kRegister)));
constexpr int kRegisters = 64 / kRegister;

template <class V, class R> union Registers {
    V whole;
    R part[kRegisters];
};

OPELDA_INLINE vf max(vf a, vf b) {
    Registers<vf, rf> x{a}, y{b};
    for (int i = 0; i < kRegisters; ++i) x.part[i] = x.part[i] > y.part[i] ? x.part[i] : y.part[i];
    return x.whole;
}

OPELDA_INLINE vi min(vi a, vi b) {
    Registers<vi, ri> x{a}, y{b};
    for (int i = 0; i < kRegisters; ++i) x.part[i] = x.part[i] < y.part[i] ? x.part[i] : y.part[i];
    return x.whole;
}

// Where `value` is larger than `best` it and its `place` take over.
OPELDA_INLINE void keep_larger(vf& best, vi& where, vf value, vi place) {
    Registers<vf, rf> b{best}, v{value};
    Registers<vi, ri> w{where}, p{place};
    for (int i = 0; i < kRegisters; ++i) {
        const ri larger = v.part[i] > b.part[i];
        b.part[i] = larger ? v.part[i] : b.part[i];
        w.part[i] = larger ? p.part[i] : w.part[i];
    }
    best = b.whole;
    where = w.whole;
}

// The places of the lanes that equal `value`, and a large number elsewhere.
OPELDA_INLINE vi places_of(float value, vf lanes, vi places) {
    Registers<vf, rf> v{lanes};
    Registers<vi, ri> p{places};
    for (int i = 0; i < kRegisters; ++i) p.part[i] = v.part[i] == value ? p.part[i] : ri{} + INT32_MAX;
    return p.whole;
}

// Eight floats widened to doubles. One instruction of AVX-512, where GCC makes five of the general form.
OPELDA_INLINE vd widen(const float* p) {
#if defined(__AVX512F__)
    return vd(_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p)));
#else
    return __builtin_convertvector(*reinterpret_cast<const vf8_any*>(p), vd);
#endif
}

// Sums and maxima over lanes take one fixed tree, so a value does not depend on where it is computed.
OPELDA_INLINE float sum(vf v) {
    vf8 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
            __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    vf4 b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    vf4 c = b + __builtin_shufflevector(b, b, 2, 3, 0, 1);
    return c[0] + c[1];
}

OPELDA_INLINE double sum(vd v) {
    vd4 a = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    vd4 b = a + __builtin_shufflevector(a, a, 2, 3, 0, 1);
    return b[0] + b[1];
}

OPELDA_INLINE float largest(vf v) {
    v = max(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    v = max(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    v = max(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    return v[0] > v[1] ? v[0] : v[1];
}

OPELDA_INLINE int32_t smallest(vi v) {
    v = min(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    v = min(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    v = min(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    return v[0] < v[1] ? v[0] : v[1];
}

// Natural logarithm of positive normal doubles to about 1e-14: exponent plus 2 atanh(s), s = (m - 1)/(m + 1), with the mantissa m
// in [sqrt(1/2), sqrt 2).
OPELDA_INLINE vd log(vd x) {
    vl bits;
    std::memcpy(&bits, &x, sizeof bits);
    const vl shifted = bits - (vl{} + 0x3fe6a09e667f3bcdLL);  // sqrt(1/2)
    const vl exponent = shifted >> 52;
    const vl mantissa_bits = bits - (exponent << 52);
    vd m;
    std::memcpy(&m, &mantissa_bits, sizeof m);
    // exact conversion of a small integer to double without an instruction that only AVX-512 has
    const vl biased = exponent + (vl{} + 0x4338000000000000LL);
    vd e;
    std::memcpy(&e, &biased, sizeof e);
    e = e - 6755399441055744.0;
    const vd s = (m - 1.0) / (m + 1.0);
    const vd q = s * s;
    vd r = q * (1.0 / 19) + 1.0 / 17;
    r = r * q + 1.0 / 15;
    r = r * q + 1.0 / 13;
    r = r * q + 1.0 / 11;
    r = r * q + 1.0 / 9;
    r = r * q + 1.0 / 7;
    r = r * q + 1.0 / 5;
    r = r * q + 1.0 / 3;
    r = r * q + 1.0;
    return e * 0.693147180559945309417 + 2.0 * s * r;
}

}  // namespace OPELDA_ISA

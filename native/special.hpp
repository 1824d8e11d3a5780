// Logarithm, exponential, digamma and log-gamma of vectors of doubles, and the logarithm of floats.
#pragma once

#include "simd.hpp"

namespace OPELDA_ISA {

// Natural logarithm of positive normal doubles to about 1e-14: exponent plus 2 atanh(s), s = (m -
// 1)/(m + 1), with the mantissa m in [sqrt(1/2), sqrt 2). Only AVX-512 shifts signed 64-bit
// integers to the right or converts them to doubles: the exponent is raised by 1024, shifted as
// unsigned, and converted through the last bits of 1.5 * 2^52.
OPELDA_INLINE vd log(vd x) {
    vu bits;
    std::memcpy(&bits, &x, sizeof bits);
    const vu shifted = bits - 0x3fe6a09e667f3bcdu;  // sqrt(1/2)
    const vu mantissa_bits = bits - (shifted & 0xfff0000000000000u);
    vd m;
    std::memcpy(&m, &mantissa_bits, sizeof m);
    const vu exponent = ((shifted + (uint64_t(1024) << 52)) >> 52) + 0x4338000000000000u;
    vd e;
    std::memcpy(&e, &exponent, sizeof e);
    e = e - (6755399441055744.0 + 1024);
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

// e^x to about 1e-15 relative for x <= 700; 0 below -700. x = n log 2 + r, |r| <= log(2)/2, and the
// Taylor series of e^r.
OPELDA_INLINE vd exp(vd x) {
    constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
    const vd bounded = max(x, broadcast(-700.0));
    const vd shifted = bounded * 1.44269504088896340736 + kShift;
    const vd n = shifted - kShift;
    const vd r = (bounded - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    vd e = r * (1.0 / 479001600) + 1.0 / 39916800;
    e = e * r + 1.0 / 3628800;
    e = e * r + 1.0 / 362880;
    e = e * r + 1.0 / 40320;
    e = e * r + 1.0 / 5040;
    e = e * r + 1.0 / 720;
    e = e * r + 1.0 / 120;
    e = e * r + 1.0 / 24;
    e = e * r + 1.0 / 6;
    e = e * r + 0.5;
    e = e * r + 1.0;
    e = e * r + 1.0;
    vl bits, power;
    std::memcpy(&bits, &e, sizeof bits);
    std::memcpy(&power, &shifted, sizeof power);
    bits += power << 52;
    vd scaled;
    std::memcpy(&scaled, &bits, sizeof scaled);
    return x < -700.0 ? vd{} : scaled;
}

struct GammaPair {
    vd digamma, lgamma;
};

// psi(x) and log Gamma(x) for x > 0, to about 1e-12. Below 6 both are shifted up by six steps: with
// P = x (x+1) ... (x+5), psi(x) = psi(x+6) - P'/P and log Gamma(x) = log Gamma(x+6) - log P; there
// the asymptotic series has converged.
inline GammaPair gamma_pair(vd x) {
    const auto low = x < 6.0;
    const vd small = low ? x : broadcast(1.0);
    vd product = small, slope = broadcast(1.0);
    for (int i = 1; i < 6; ++i) {
        const vd factor = small + double(i);
        slope = slope * factor + product;
        product = product * factor;
    }
    const vd y = low ? x + 6.0 : x;
    const vd inverse = 1.0 / y;
    const vd q = inverse * inverse;
    const vd log_y = log(y);
    vd tail = q * (691.0 / 32760) - 1.0 / 132;
    tail = tail * q + 1.0 / 240;
    tail = tail * q - 1.0 / 252;
    tail = tail * q + 1.0 / 120;
    tail = tail * q - 1.0 / 12;
    vd series = q * (-691.0 / 360360) + 1.0 / 1188;
    series = series * q - 1.0 / 1680;
    series = series * q + 1.0 / 1260;
    series = series * q - 1.0 / 360;
    series = series * q + 1.0 / 12;
    GammaPair pair;
    pair.digamma = log_y - 0.5 * inverse + tail * q;
    pair.lgamma = (y - 0.5) * log_y - y + 0.918938533204672741780 + series * inverse;
    pair.digamma = low ? pair.digamma - slope / product : pair.digamma;
    pair.lgamma = low ? pair.lgamma - log(product) : pair.lgamma;
    return pair;
}

// Natural logarithm of positive normal floats to about 2e-7 relative, as for doubles.
OPELDA_INLINE vf log(vf x) {
    vi bits;
    std::memcpy(&bits, &x, sizeof bits);
    const vi exponent = (bits - (vi{} + 0x3f3504f3)) >> 23;
    const vi mantissa_bits = bits - (exponent << 23);
    vf m;
    std::memcpy(&m, &mantissa_bits, sizeof m);
    const vf s = (m - 1.0f) / (m + 1.0f);
    const vf q = s * s;
    vf r = q * (1.0f / 9) + 1.0f / 7;
    r = r * q + 1.0f / 5;
    r = r * q + 1.0f / 3;
    r = r * q + 1.0f;
    return __builtin_convertvector(exponent, vf) * 0.69314718f + 2.0f * s * r;
}

}  // namespace OPELDA_ISA

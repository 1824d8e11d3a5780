// Quantiles of mixtures of up to eight Beta distributions with a common sum of parameters.
//
// I_x(a, b) = t_a + I_x(a + 1, b) and I_x(a, b) = I_x(a, b + 1) - t_b, with t_a = x^a (1 - x)^b / (a
// B(a, b)) and t_b = t_a a / b: two steps of each lead to parameters above 2, where the normal
// approximation of Abramowitz & Stegun 26.5.22 has an error below 0.001.
#pragma once

#include "special.hpp"

namespace OPELDA_ISA {

constexpr int kComponents = 8;
static_assert(kComponents % kDoubles == 0);

// The distribution function of the standard normal, to 1e-7 (Abramowitz & Stegun 7.1.26).
OPELDA_INLINE vd normal_cdf(vd z) {
    const vd y = (z < 0.0 ? -z : z) * 0.70710678118654752440;
    const vd t = 1.0 / (1.0 + 0.3275911 * y);
    vd p = t * 1.061405429 - 1.453152027;
    p = p * t + 1.421413741;
    p = p * t - 0.284496736;
    p = p * t + 0.254829592;
    const vd tail = 0.5 * p * t * exp(-y * y);
    return z < 0.0 ? tail : 1.0 - tail;
}

class BetaMixture {
public:
    // Sets component i to Beta(a_i, total - a_i); weights sum to 1, unused ones are 0.
    // Steps towards a quantile start from the components after the first if this is a spike at 0.
    void set(const double* a, const double* weight, double total) {
        const int first = a[0] < 1 && weight[0] < 1;
        spike = first ? weight[0] : 0;
        mean = variance = 0;
        for (int i = first; i < kComponents; ++i) mean += weight[i] * a[i] / total;
        mean /= 1 - spike;
        for (int i = first; i < kComponents; ++i) {
            const double own = a[i] / total, off = own - mean;
            variance += weight[i] * (off * off + own * (1 - own) / (total + 1)) / (1 - spike);
        }
        for (int g = 0; g < kParts; ++g) {
            Part& part = parts[g];
            part.a = load(a + g * kDoubles);
            part.b = total - part.a;
            part.weight = load(weight + g * kDoubles);
            part.log_beta = gamma_pair(part.a).lgamma + gamma_pair(part.b).lgamma -
                            gamma_pair(broadcast(total)).lgamma;
        }
        sum_of_both = total;
    }

    // The logit of the quantile `p`, whose standard normal quantile is `z`; -100 or less is 0.
    double logit_quantile(double p, double z) const {
        double low = -100, high = 40, spread = mean * (1 - mean);
        if (spike > 0) z = p > spike ? normal_quantile((p - spike) / (1 - spike)) : -4;
        double y = spread > 0 ? logit(mean) + z * square_root(variance) / spread : 0;
        y = y < low ? low + 1 : y > high ? high - 1 : y;
        for (int step = 0; step < 40; ++step) {
            double slope;
            const double off = distribution(y, slope) - p;
            if (off > 0) high = y; else low = y;
            if ((off < 0 ? -off : off) < 5e-4 || high - low < 1e-4) break;
            double next = slope > 0 ? y - off / slope : high;
            // (far from the quantile the slope is small, and a step leaves the bracket)
            if (!(next > low && next < high) || (next - y > 8) || (y - next > 8))
                next = off > 0 ? larger_of(y - 4, (low + y) / 2) : smaller_of(y + 4, (high + y) / 2);
            y = next;
        }
        return y;
    }

    static double share(double y) {  // of a logit
        return y <= -99 ? 0 : 1 / (1 + exp(broadcast(-y))[0]);
    }

private:
    static constexpr int kParts = kComponents / kDoubles;
    struct Part {
        vd a, b, weight, log_beta;
    };

    // To 0.003 (Abramowitz & Stegun 26.2.22).
    static double normal_quantile(double p) {
        const double tail = p < 0.5 ? p : 1 - p;
        const double t = square_root(-2 * log(broadcast(tail > 1e-12 ? tail : 1e-12))[0]);
        const double z = t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t));
        return p < 0.5 ? -z : z;
    }
    static double logit(double x) { return log(broadcast(x / (1 - x)))[0]; }
    static double square_root(double x) { return x > 0 ? exp(0.5 * log(broadcast(x)))[0] : 0; }
    static double larger_of(double x, double y) { return x > y ? x : y; }
    static double smaller_of(double x, double y) { return x < y ? x : y; }

    // The distribution function at the logit y, and its derivative by y.
    double distribution(double y, double& slope) const {
        const vd e = exp(broadcast(y > 0 ? -y : y));
        const vd more = 1.0 / (1.0 + e), less = e * more;  // of x and 1 - x
        const vd x = y > 0 ? more : less, rest = y > 0 ? less : more;
        const vd log_more = log(more), log_less = log_more - broadcast(y > 0 ? y : -y);
        const vd log_x = y > 0 ? log_more : log_less, log_rest = y > 0 ? log_less : log_more;
        vd value = {}, derivative = {};
        for (const Part& part : parts) {
            const vd a = part.a, b = part.b;
            const vd density = exp(a * log_x + b * log_rest - part.log_beta);  // x (1 - x) f(x)
            const vd first = density / a, second = first * x * sum_of_both / (a + 1.0);
            // at (a + 2, b): x^2 (a + b) (a + b + 1) / (a (a + 1)) times the first term, by b
            const vd third = second * x * (sum_of_both + 1.0) / b;
            const vd fourth = third * rest * (sum_of_both + 2.0) / (b + 1.0);
            const vd far = cdf(a + 2.0, b + 2.0, log_x, log_rest);
            vd all = first + second - third - fourth + far;
            all = all < 0.0 ? vd{} : all > 1.0 ? broadcast(1.0) : all;
            value += part.weight * all;
            derivative += part.weight * density;
        }
        slope = sum(derivative);
        return sum(value);
    }

    static OPELDA_INLINE vd cdf(vd a, vd b, vd log_x, vd log_rest) {
        const vd one = exp((log(b) + log_x) * (1.0 / 3)), two = exp((log(a) + log_rest) * (1.0 / 3));
        const vd off = 3.0 * (one * (1.0 - 1.0 / (9.0 * b)) - two * (1.0 - 1.0 / (9.0 * a)));
        const vd variance = one * one / b + two * two / a;
        return normal_cdf(off * exp(-0.5 * log(max(variance, broadcast(1e-290)))));
    }

    Part parts[kParts];
    double spike = 0, mean = 0, variance = 0, sum_of_both = 0;
};

}  // namespace OPELDA_ISA

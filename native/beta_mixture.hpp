// Quantiles of mixtures of Beta distributions, of several mixtures at a time: one per lane.
//
// I_x(a, b) = t_a + I_x(a + 1, b) and I_x(a, b) = I_x(a, b + 1) - t_b, with t_a = x^a (1 - x)^b /
// (a B(a, b)) and t_b = t_a a / b: two steps of each lead to parameters above 2, where the normal
// approximation of Abramowitz & Stegun 26.5.22 has an error below 0.001.
#pragma once

#include "special.hpp"

namespace OPELDA_ISA {

constexpr int kComponents = 8;  // of a mixture, at most

OPELDA_INLINE vd square_root(vd x) {
    double root[kDoubles];
    store(root, x);
    for (int i = 0; i < kDoubles; ++i) root[i] = __builtin_sqrt(root[i]);
    return load(root);
}

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

// The inverse, to 0.003 (26.2.22).
OPELDA_INLINE vd normal_quantile(vd p) {
    const vd tail = p < 0.5 ? p : 1.0 - p;
    const vd t = square_root(-2.0 * log(max(tail, broadcast(1e-12))));
    const vd z = t - (2.30753 + 0.27061 * t) / (1.0 + t * (0.99229 + 0.04481 * t));
    return p < 0.5 ? -z : z;
}

OPELDA_INLINE vd logistic(vd y) { return 1.0 / (1.0 + exp(-y)); }

// Mixtures with components Beta(a, total - a), whose weights sum to 1.
struct BetaMixtures {
    double a[kComponents][kDoubles], weight[kComponents][kDoubles];
    double p[kDoubles];  // the quantile that is wanted
    // Near the quantile, as a logit, for a mixture whose first component has a < 1 and at least p
    // of the weight.
    double start[kDoubles];

    // The logits of the quantiles; -100 or less is 0. Mixtures have at most n components.
    vd logit_quantiles(int n, double sum_of_parameters) {
        total = sum_of_parameters;
        const vd log_gamma = gamma_pair(broadcast(total)).lgamma;
        for (int i = 0; i < n; ++i) {
            Component& to = components[i];
            to.a = load(a[i]), to.b = total - to.a, to.weight = load(weight[i]);
            to.log_beta = gamma_pair(to.a).lgamma + gamma_pair(to.b).lgamma - log_gamma;
            to.log_a = log(to.a + 2.0), to.log_b = log(to.b + 2.0);
            to.third_a = 1.0 / (3.0 * (to.a + 2.0)), to.third_b = 1.0 / (3.0 * (to.b + 2.0));
        }
        const vd wanted = load(p);
        vd y = first_guess(n, wanted), low = broadcast(-100.0), high = broadcast(40.0);
        y = y < low ? low + 1.0 : y > high ? high - 1.0 : y;
        for (int step = 0; step < 40; ++step) {
            vd slope;
            const vd off = distribution(n, y, slope) - wanted;
            high = off > 0.0 ? y : high, low = off > 0.0 ? low : y;
            const vd error = off < 0.0 ? -off : off;
            if (all(vl(error < 5e-4) | vl(high - low < 1e-4))) break;
            vd next = y - off / max(slope, broadcast(1e-300));
            // far from the quantile the slope is small, and a step leaves the bracket
            const vd down = max(y - 4.0, (low + y) * 0.5), up = -max(-y - 4.0, (high + y) * -0.5);
            next = next < down ? down : next > up ? up : next;
            y = error < 5e-4 ? y : next;
        }
        return y;
    }

private:
    struct Component {
        vd a, b, weight, log_beta;
        vd log_a, log_b, third_a, third_b;  // of a + 2 and b + 2: logarithms, and 1 / 3 a
    };

    // A normal quantile of the logit, without a spike at 0.
    vd first_guess(int n, vd wanted) const {
        vd mean = {}, squares = {}, weights = {};
        for (int i = 0; i < n; ++i) {
            const Component& c = components[i];
            const auto counts = i > 0 || n == 1 ? vl(c.a > 0.0) : vl(c.a >= 1.0);
            const vd w = counts ? c.weight : vd{}, own = c.a / total;
            weights += w, mean += w * own;
            squares += w * (own * own + own * (1.0 - own) / (total + 1));
        }
        const vd spike = 1.0 - weights, whole = max(weights, broadcast(1e-9));
        mean /= whole;
        const vd variance = squares / whole - mean * mean, spread = mean * (1.0 - mean);
        const vd z = normal_quantile((wanted - spike) / whole);
        const vd y = log(max(mean, broadcast(1e-300)) / max(1.0 - mean, broadcast(1e-300))) +
                     z * square_root(max(variance, vd{})) / max(spread, broadcast(1e-300));
        return spike >= wanted ? load(start) : y;
    }

    // The distribution functions at the logits y, and their derivatives by y.
    vd distribution(int n, vd y, vd& slope) const {
        const vd above = y > 0.0 ? y : -y, e = exp(-above);
        const vd more = 1.0 / (1.0 + e), less = e * more;  // of x and 1 - x
        const vd log_more = log(more), log_less = log_more - above;
        const vd x = y > 0.0 ? more : less, rest = y > 0.0 ? less : more;
        const vd log_x = y > 0.0 ? log_more : log_less, log_rest = y > 0.0 ? log_less : log_more;
        vd value = {};
        slope = vd{};
        for (int i = 0; i < n; ++i) {
            const Component& c = components[i];
            const vd density = exp(c.a * log_x + c.b * log_rest - c.log_beta);  // x (1 - x) f(x)
            const vd first = density / c.a, second = first * x * total / (c.a + 1.0);
            // at (a + 2, b): x^2 (a + b) (a + b + 1) / (a (a + 1)) times the first term, by b
            const vd third = second * x * (total + 1.0) / c.b;
            const vd fourth = third * rest * (total + 2.0) / (c.b + 1.0);
            vd sum = first + second - third - fourth + far(c, log_x, log_rest);
            sum = sum < 0.0 ? vd{} : sum > 1.0 ? broadcast(1.0) : sum;
            value += c.weight * sum;
            slope += c.weight * density;
        }
        return value;
    }

    static OPELDA_INLINE vd far(const Component& c, vd log_x, vd log_rest) {
        const vd one = exp((c.log_b + log_x) * (1.0 / 3));
        const vd two = exp((c.log_a + log_rest) * (1.0 / 3));
        const vd off = one * (3.0 - c.third_b) - two * (3.0 - c.third_a);
        const vd variance = one * one * 3.0 * c.third_b + two * two * 3.0 * c.third_a;
        return normal_cdf(off / max(square_root(variance), broadcast(1e-150)));
    }

    Component components[kComponents];
    double total = 0;
};

}  // namespace OPELDA_ISA

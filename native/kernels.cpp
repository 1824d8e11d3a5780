// Compiled once per instruction set, each time with another OPELDA_ISA (see CMakeLists.txt).
#include "kernels.hpp"

#include "bandwidth.hpp"
#include "certificate.hpp"
#include "cgs.hpp"
#include "coarse.hpp"
#include "cvb.hpp"
#include "cvb0.hpp"
#include "em.hpp"
#include "exact.hpp"
#include "fw.hpp"
#include "learning.hpp"
#include "ope.hpp"
#include "posterior.hpp"
#include "sweep.hpp"
#include "vb.hpp"

namespace OPELDA_ISA {
namespace {

void ope(const Problem& p, const OpePlan& plan, const Outputs& out, opelda::Queue& queue,
         opelda::PickSink* sink) {
    Ope worker(p, plan);
    const Arena arena([&](Arena& a) { worker.allocate(a); });
    worker.prepare();
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) {
        for (int64_t i = begin; i < end; ++i) {
            worker.run(i, end, out);
            if (sink) opelda::append(*sink, i, worker.n_picked(), worker.topics(), worker.counts());
        }
    }
}

void exact(const Problem& p, const ExactSettings& settings, const Outputs& out,
           opelda::Queue& queue, opelda::PickSink* sink) {
    Exact worker(p, settings);
    Certifier certifier(p);
    float* scratch;  // receives the mixture to be certified if the caller wants no mixture
    const Arena arena([&](Arena& a) {
        worker.allocate(a);
        certifier.allocate(a);
        scratch = a.array<float>(p.n_topics);
    });
    certifier.prepare();
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) {
        for (int64_t i = begin; i < end; ++i) {
            const int32_t steps = worker.solve(i, end);
            const int64_t n = worker.n_picked();
            if (opelda::stopped()) return;
            out.n_iter[i] = steps;
            out.likelihood_loss[i] = worker.loss();
            if (sink) opelda::append(*sink, i, n, worker.topics(), worker.shares());
            if (n == 0 || !(out.theta || out.gap)) continue;
            float* theta = out.theta ? out.theta + i * p.n_topics : scratch;
            std::memset(theta, 0, sizeof(float) * p.n_topics);
            for (int64_t k = 0; k < n; ++k) theta[worker.topics()[k]] = worker.shares()[k];
            if (!out.gap) continue;
            certifier.run(i, theta, out);
            if (worker.loss() < out.likelihood_loss[i]) out.likelihood_loss[i] = worker.loss();
        }
    }
}

void certify(const Problem& p, const float* theta, const Outputs& out, opelda::Queue& queue) {
    Certifier worker(p);
    const Arena arena([&](Arena& a) { worker.allocate(a); });
    worker.prepare();
    int64_t begin, end;
    while (opelda::take(queue, begin, end))
        for (int64_t i = begin; i < end; ++i) worker.run(i, theta + i * p.n_topics, out);
}

void coarsen(const opelda::Coarsening& c, opelda::Queue& queue) {
    int64_t begin, end;
    while (opelda::take(queue, begin, end))
        for (int64_t i = begin; i < end; ++i)
            coarsen_row(c.rows + i * c.stride, c.stride, c.coarse + i * c.coarse_stride,
                        c.coarse_scale + i);
}

void read_rows_once(const Problem& p, opelda::Queue& queue, int64_t ahead, float* sum) {
    float total = 0;
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) total += read_rows(p, begin, end, ahead);
    *sum = total;  // keeps the compiler from removing the reads
}

}  // namespace

extern const opelda::Kernels table;
const opelda::Kernels table = {
    .name = OPELDA_ISA_NAME,
    .ope = ope,
    .vb = run_solver<Vb>,
    .cvb0 = run_solver<Cvb0>,
    .cvb = run_solver<Cvb>,
    .cgs = run_solver<Cgs>,
    .posterior = run_posterior,
    .fw = run_solver<Fw>,
    .em = run_em,
    .exact = exact,
    .certify = certify,
    .topic_rows = topic_rows,
    .add = add,
    .sweep = sweep,
    .coarsen = coarsen,
    .read_rows = read_rows_once,
};

}  // namespace OPELDA_ISA

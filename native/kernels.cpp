// Compiled once per instruction set, each time with another OPELDA_ISA (see CMakeLists.txt).
#include "certificate.hpp"
#include "cgs.hpp"
#include "coarse.hpp"
#include "cvb.hpp"
#include "cvb0.hpp"
#include "em.hpp"
#include "fw.hpp"
#include "kernels.hpp"
#include "learning.hpp"
#include "ope.hpp"
#include "reading.hpp"
#include "resample.hpp"
#include "vb.hpp"

namespace OPELDA_ISA {
namespace {

bool ope(const Problem& p, const OpePlan& plan, const Outputs& out, opelda::Queue& queue, opelda::PickSink* sink) {
    Ope worker(p, plan);
    if (!worker.allocate()) return false;
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) {
        for (int64_t i = begin; i < end; ++i) {
            worker.run(i, end, out);
            if (sink) opelda::append(*sink, i, worker.n_picked(), worker.topics(), worker.counts());
        }
    }
    return true;
}

bool certify(const Problem& p, const float* theta, const Outputs& out, opelda::Queue& queue) {
    Arena arena;
    Certifier worker;
    worker.cut(arena, p);
    if (!arena.allocate()) return false;
    worker.cut(arena, p);
    int64_t begin, end;
    while (opelda::take(queue, begin, end))
        for (int64_t i = begin; i < end; ++i) worker.run(p, i, theta + i * p.n_topics, out);
    return true;
}

bool coarsen(const opelda::Coarsening& c, opelda::Queue& queue) {
    int64_t begin, end;
    while (opelda::take(queue, begin, end))
        for (int64_t i = begin; i < end; ++i)
            coarsen_row(c.rows + i * c.stride, c.stride, c.coarse + i * c.coarse_stride, c.coarse_scale + i);
    return true;
}

bool read_rows_once(const Problem& p, opelda::Queue& queue, int64_t ahead, float* sum) {
    float total = 0;
    int64_t begin, end;
    while (opelda::take(queue, begin, end)) total += read_rows(p, begin, end, ahead);
    *sum = total;  // so that the compiler cannot leave the reading out
    return true;
}

}  // namespace

extern const opelda::Kernels table;
const opelda::Kernels table = {
    OPELDA_ISA_NAME, ope,           run_solver<Vb>,  run_solver<Cvb0>, run_solver<Cvb>, run_solver<Cgs>,
    run_solver<Fw>,  run_em,        certify,         lay_out,          add,             prior_masses,
    resample,        coarsen,       read_rows_once,
};

}  // namespace OPELDA_ISA

// The Python module opelda._native: arrays in, arrays filled. The caller (engines/_cpu*.py) has checked shapes and types.
#include "arrays.hpp"

#include <algorithm>

#include "threads.hpp"

namespace {

using opelda::best_kernels;

// Documents and topics, kept together so that every kernel takes them in one argument.
struct Batch {
    In<float, 2> rows;
    int64_t n_topics;
    In<int64_t, 1> indptr;
    In<int32_t, 1> words;
    In<float, 1> counts;
    In<float, 1> alpha;
    MaybeIn<int32_t, 2> coarse;
    MaybeIn<float, 1> coarse_scale;
    MaybeIn<int32_t, 1> ids;

    opelda::Problem problem() const {
        opelda::Problem p;
        p.rows = rows.data();
        p.stride = int64_t(rows.shape(1));
        p.n_topics = n_topics;
        p.indptr = indptr.data();
        p.words = words.data();
        p.counts = counts.data();
        p.n_docs = int64_t(indptr.shape(0)) - 1;
        p.max_words = 0;
        for (int64_t i = 0; i < p.n_docs; ++i)
            if (p.indptr[i + 1] - p.indptr[i] > p.max_words) p.max_words = p.indptr[i + 1] - p.indptr[i];
        p.alpha = alpha.data();
        p.ids = pointer(ids);
        p.coarse = pointer(coarse);
        p.coarse_stride = coarse ? int64_t(coarse->shape(1)) : 0;
        p.coarse_scale = pointer(coarse_scale);
        return p;
    }
};

struct Results {
    MaybeOut<float, 2> theta;
    MaybeOut<int32_t, 1> n_iter;
    MaybeOut<double, 1> gap, likelihood_gap, log_likelihood, log_prior;
    MaybeOut<float, 2> factors;
    MaybeOut<int32_t, 2> kept_topics;
    MaybeOut<float, 2> kept_shares;

    opelda::Outputs outputs() const {
        return {pointer(theta),          pointer(n_iter),    pointer(gap),     pointer(likelihood_gap),
                pointer(log_likelihood), pointer(log_prior), pointer(factors), pointer(kept_topics),
                pointer(kept_shares)};
    }
};

nb::object ope(const Batch& batch, const Results& results, In<float, 2> a, In<float, 2> b, MaybeIn<float, 2> a2,
               MaybeIn<float, 2> b2, MaybeIn<float, 1> coin, In<float, 1> base, In<float, 1> start,
               In<float, 1> start_words, std::optional<uint64_t> seed, int64_t n_restarts, double tol, bool screen,
               bool want_picks, int n_threads) {
    const auto problem = batch.problem();
    opelda::OpePlan plan;
    plan.n_moves = int64_t(a.shape(1));
    plan.n_sequences = int64_t(a.shape(0));
    plan.a = a.data();
    plan.b = b.data();
    plan.a2 = pointer(a2);
    plan.b2 = pointer(b2);
    plan.coin = pointer(coin);
    plan.base = base.data();
    plan.start = start.data();
    plan.start_words = start_words.data();
    plan.by_content = seed.has_value();
    plan.seed = seed.value_or(0);
    plan.n_restarts = n_restarts;
    plan.tol = tol;
    plan.screen = screen;
    const auto outputs = results.outputs();
    opelda::PickSink sink(want_picks ? problem.n_docs : 0, opelda::kStep);
    {
        const MaybeRelease release(problem.work(plan.n_moves * n_restarts));
        opelda::share_out(problem.n_docs, n_threads, [&](opelda::Queue& queue) {
            return best_kernels().ope(problem, plan, outputs, queue, want_picks ? &sink : nullptr);
        });
    }
    if (!want_picks) return nb::none();
    size_t total = 0;
    for (const auto& part : sink.parts) total += part.topics.size();
    int64_t* indptr;
    int32_t *topics, *counts;
    auto indptr_array = numpy_array<int64_t>(sink.lengths.size() + 1, &indptr);
    auto topics_array = numpy_array<int32_t>(total, &topics);
    auto counts_array = numpy_array<int32_t>(total, &counts);
    indptr[0] = 0;
    for (size_t i = 0; i < sink.lengths.size(); ++i) indptr[i + 1] = indptr[i] + sink.lengths[i];
    for (const auto& part : sink.parts) {
        topics = std::copy(part.topics.begin(), part.topics.end(), topics);
        counts = std::copy(part.counts.begin(), part.counts.end(), counts);
    }
    return nb::make_tuple(indptr_array, topics_array, counts_array);
}

// The iterative methods differ in their kernel alone: one signature, of which each reads what it needs.
void add_iterative(nb::module_& m, const char* name, opelda::Iterative* opelda::Kernels::*kernel) {
    m.def(
        name,
        [kernel](const Batch& batch, const Results& results, int64_t n_iter, int64_t n_samples, double tol, double scale,
                 double offset, double decay, MaybeIn<double, 1> start, MaybeIn<double, 1> steps,
                 MaybeIn<uint64_t, 1> keys, int64_t max_tokens, int64_t n_kept, MaybeIn<float, 1> start_words,
                 int n_threads) {
            const auto problem = batch.problem();
            const auto outputs = results.outputs();
            const opelda::Settings settings = {n_iter,     n_samples, tol,
                                               scale,      offset,    decay,
                                               pointer(start), pointer(steps), pointer(keys),
                                               max_tokens, n_kept,    pointer(start_words)};
            const MaybeRelease release(problem.work(n_iter + n_samples));
            opelda::share_out(problem.n_docs, n_threads, [&](opelda::Queue& queue) {
                return (best_kernels().*kernel)(problem, settings, outputs, queue);
            });
        },
        "batch"_a, "results"_a, nb::kw_only(), "n_iter"_a, "n_samples"_a = 0, "tol"_a = 0.0, "scale"_a = 0.0,
        "offset"_a = 0.0, "decay"_a = 0.0, "start"_a = nb::none(), "steps"_a = nb::none(), "keys"_a = nb::none(),
        "max_tokens"_a = 0, "n_kept"_a = 0, "start_words"_a = nb::none(), "n_threads"_a);
}

void certify(const Batch& batch, In<float, 2> theta, const Results& results, int n_threads) {
    const auto problem = batch.problem();
    const auto outputs = results.outputs();
    const MaybeRelease release(problem.work(1));
    opelda::share_out(problem.n_docs, n_threads, [&](opelda::Queue& queue) {
        return best_kernels().certify(problem, theta.data(), outputs, queue);
    });
}

void coarsen(In<float, 2> rows, Out<int32_t, 2> coarse, Out<float, 1> scale, int n_threads) {
    const opelda::Coarsening c = {rows.data(), int64_t(rows.shape(1)), coarse.data(), int64_t(coarse.shape(1)),
                                  scale.data()};
    nb::gil_scoped_release release;
    opelda::share_out(int64_t(rows.shape(0)), n_threads,
                      [&](opelda::Queue& queue) { return best_kernels().coarsen(c, queue); });
}

void read_rows(const Batch& batch, int64_t ahead, int n_threads) {
    const auto problem = batch.problem();
    nb::gil_scoped_release release;
    opelda::share_out(problem.n_docs, n_threads, [&](opelda::Queue& queue) {
        float sum;
        return best_kernels().read_rows(problem, queue, ahead, &sum);
    });
}

}  // namespace

NB_MODULE(_native, m) {
    nb::class_<Batch>(m, "Batch")
        .def("__init__",
             [](Batch* self, In<float, 2> rows, int64_t n_topics, In<int64_t, 1> indptr, In<int32_t, 1> words,
                In<float, 1> counts, In<float, 1> alpha, MaybeIn<int32_t, 2> coarse, MaybeIn<float, 1> coarse_scale,
                MaybeIn<int32_t, 1> ids) {
                 new (self) Batch{rows, n_topics, indptr, words, counts, alpha, coarse, coarse_scale, ids};
             },
             "rows"_a, "n_topics"_a, "indptr"_a, "words"_a, "counts"_a, "alpha"_a, "coarse"_a.none(),
             "coarse_scale"_a.none(), "ids"_a.none());
    nb::class_<Results>(m, "Results")
        .def("__init__",
             [](Results* self, MaybeOut<float, 2> theta, MaybeOut<int32_t, 1> n_iter, MaybeOut<double, 1> gap,
                MaybeOut<double, 1> likelihood_gap, MaybeOut<double, 1> log_likelihood, MaybeOut<double, 1> log_prior,
                MaybeOut<float, 2> factors, MaybeOut<int32_t, 2> kept_topics, MaybeOut<float, 2> kept_shares) {
                 new (self) Results{theta,     n_iter,  gap,         likelihood_gap, log_likelihood,
                                    log_prior, factors, kept_topics, kept_shares};
             },
             "theta"_a.none(), "n_iter"_a.none(), "gap"_a.none(), "likelihood_gap"_a.none(), "log_likelihood"_a.none(),
             "log_prior"_a.none(), "factors"_a.none(), "kept_topics"_a.none() = nb::none(),
             "kept_shares"_a.none() = nb::none());
    m.def("ope", &ope, "batch"_a, "results"_a, nb::kw_only(), "a"_a, "b"_a, "a2"_a.none(), "b2"_a.none(),
          "coin"_a.none(), "base"_a, "start"_a, "start_words"_a, "seed"_a.none(), "n_restarts"_a, "tol"_a,
          "screen"_a, "want_picks"_a, "n_threads"_a);
    add_iterative(m, "vb", &opelda::Kernels::vb);
    add_iterative(m, "cvb0", &opelda::Kernels::cvb0);
    add_iterative(m, "cvb", &opelda::Kernels::cvb);
    add_iterative(m, "cgs", &opelda::Kernels::cgs);
    add_iterative(m, "fw", &opelda::Kernels::fw);
    add_iterative(m, "em", &opelda::Kernels::em);
    m.def("certify", &certify, "batch"_a, "theta"_a, "results"_a, nb::kw_only(), "n_threads"_a);
    m.def("coarsen", &coarsen, "rows"_a, "coarse"_a, "scale"_a, nb::kw_only(), "n_threads"_a);
    m.def("read_rows", &read_rows, "batch"_a, nb::kw_only(), "ahead"_a, "n_threads"_a);
    opelda::add_batches(m);
    opelda::add_learning(m);
    opelda::add_sampling(m);
    m.def("instruction_set", [] { return best_kernels().name; });
    m.def("use_instruction_set", &opelda::use_kernels, "name"_a);
}

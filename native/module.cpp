// The Python module opelda._native: input and output arrays. The caller (engines/_cpu*.py) has
// checked shapes and types.
#include <algorithm>
#include <utility>

#include "picks.hpp"

namespace opelda {

void append(PickSink& sink, int64_t document, int64_t n, const int32_t* topics,
            const float* shares) {
    auto& part = sink.parts[document / kStep];
    part.topics.insert(part.topics.end(), topics, topics + n);
    part.shares.insert(part.shares.end(), shares, shares + n);
    sink.lengths[document] = int32_t(n);
}

namespace {

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

    Problem problem() const {
        const int64_t n_docs = int64_t(indptr.shape(0)) - 1;
        int64_t max_words = 0;
        for (int64_t i = 0; i < n_docs; ++i)
            max_words = std::max(max_words, indptr.data()[i + 1] - indptr.data()[i]);
        return {.rows = rows.data(),
                .stride = int64_t(rows.shape(1)),
                .n_topics = n_topics,
                .indptr = indptr.data(),
                .words = words.data(),
                .counts = counts.data(),
                .n_docs = n_docs,
                .max_words = max_words,
                .alpha = alpha.data(),
                .ids = pointer(ids),
                .coarse = pointer(coarse),
                .coarse_stride = coarse ? int64_t(coarse->shape(1)) : 0,
                .coarse_scale = pointer(coarse_scale)};
    }
};

struct Results {
    MaybeOut<float, 2> theta;
    MaybeOut<int32_t, 1> n_iter;
    MaybeOut<double, 1> gap, likelihood_gap, log_likelihood, log_prior, likelihood_loss;
    MaybeOut<float, 2> factors;
    MaybeOut<int32_t, 2> kept_topics;
    MaybeOut<float, 2> kept_shares;

    Outputs outputs() const {
        return {.theta = pointer(theta),
                .n_iter = pointer(n_iter),
                .gap = pointer(gap),
                .likelihood_gap = pointer(likelihood_gap),
                .log_likelihood = pointer(log_likelihood),
                .log_prior = pointer(log_prior),
                .likelihood_loss = pointer(likelihood_loss),
                .factors = pointer(factors),
                .kept_topics = pointer(kept_topics),
                .kept_shares = pointer(kept_shares)};
    }
};

nb::object ope(const Batch& batch, const Results& results, In<float, 2> a, In<float, 2> b,
               MaybeIn<float, 2> a2, MaybeIn<float, 2> b2, MaybeIn<float, 1> coin,
               In<float, 1> base, In<float, 1> start, In<float, 1> start_words,
               std::optional<uint64_t> seed, int64_t n_restarts, double tol, bool screen,
               bool want_picks, int n_threads) {
    const auto problem = batch.problem();
    const OpePlan plan = {.n_moves = int64_t(a.shape(1)),
                          .n_sequences = int64_t(a.shape(0)),
                          .a = a.data(),
                          .b = b.data(),
                          .a2 = pointer(a2),
                          .b2 = pointer(b2),
                          .coin = pointer(coin),
                          .base = base.data(),
                          .start = start.data(),
                          .start_words = start_words.data(),
                          .by_content = seed.has_value(),
                          .seed = seed.value_or(0),
                          .n_restarts = n_restarts,
                          .tol = tol,
                          .screen = screen};
    const auto outputs = results.outputs();
    PickSink sink(want_picks ? problem.n_docs : 0);
    {
        const Released released(problem.work(plan.n_moves * n_restarts));
        run_ranges(problem.n_docs, n_threads, [&](Queue& queue) {
            best_kernels().ope(problem, plan, outputs, queue, want_picks ? &sink : nullptr);
        });
    }
    return want_picks ? sink.arrays() : nb::none();
}

// Runs an iterative method with the given number of iterations.
template <class Settings>
void solve(Solve<Settings>* Kernels::* kernel, const Settings& settings, const Batch& batch,
           const Results& results, int64_t n_iter, int n_threads) {
    const auto problem = batch.problem();
    const auto outputs = results.outputs();
    const Released released(problem.work(n_iter));
    run_ranges(problem.n_docs, n_threads,
               [&](Queue& queue) { (best_kernels().*kernel)(problem, settings, outputs, queue); });
}

void vb(const Batch& batch, const Results& results, int64_t n_iter, double tol,
        MaybeIn<double, 1> start, int n_threads) {
    solve(&Kernels::vb, {.n_iter = n_iter, .tol = tol, .start = pointer(start)}, batch, results,
          n_iter, n_threads);
}

void cvb0(const Batch& batch, const Results& results, int64_t burn_in, int64_t n_samples,
          double scale, double offset, double decay, int n_threads) {
    const Cvb0Settings settings = {.burn_in = burn_in,
                                   .n_samples = n_samples,
                                   .scale = scale,
                                   .offset = offset,
                                   .decay = decay};
    solve(&Kernels::cvb0, settings, batch, results, burn_in + n_samples, n_threads);
}

void cvb(const Batch& batch, const Results& results, int64_t n_iter, double tol, int n_threads) {
    solve(&Kernels::cvb, {.n_iter = n_iter, .tol = tol}, batch, results, n_iter, n_threads);
}

void cgs(const Batch& batch, const Results& results, int64_t burn_in, int64_t n_samples,
         In<uint64_t, 1> keys, int64_t max_tokens, int n_threads) {
    const CgsSettings settings = {
        .burn_in = burn_in, .n_samples = n_samples, .keys = keys.data(), .max_tokens = max_tokens};
    solve(&Kernels::cgs, settings, batch, results, burn_in + n_samples, n_threads);
}

void posterior(const Batch& batch, int64_t burn_in, int64_t n_samples, int64_t n_tables,
               In<uint64_t, 1> keys, In<int32_t, 1> main, int64_t max_tokens, double level,
               double z_level, double z_tail, Out<float, 2> lower, Out<float, 2> upper,
               Out<float, 1> probability, int n_threads) {
    const PosteriorSettings settings = {.burn_in = burn_in,
                                        .n_samples = n_samples,
                                        .n_tables = n_tables,
                                        .keys = keys.data(),
                                        .main = main.data(),
                                        .max_tokens = max_tokens,
                                        .level = level,
                                        .z_level = z_level,
                                        .z_tail = z_tail,
                                        .lower = lower.data(),
                                        .upper = upper.data(),
                                        .probability = probability.data()};
    solve(&Kernels::posterior, settings, batch, Results{}, burn_in + n_samples, n_threads);
}

void fw(const Batch& batch, const Results& results, In<double, 1> steps, int n_threads) {
    const auto n_iter = int64_t(steps.shape(0));
    solve(&Kernels::fw, {.n_iter = n_iter, .steps = steps.data()}, batch, results, n_iter,
          n_threads);
}

void em(const Batch& batch, const Results& results, int64_t n_iter, int64_t n_kept,
        In<float, 1> start_words, int n_threads) {
    const EmSettings settings = {
        .n_iter = n_iter, .n_kept = n_kept, .start_words = start_words.data()};
    solve(&Kernels::em, settings, batch, results, n_iter, n_threads);
}

nb::object exact(const Batch& batch, const Results& results, double max_loss,
                 double max_loss_per_token, In<float, 1> start_words, int64_t max_work,
                 bool want_picks, int n_threads) {
    const auto problem = batch.problem();
    const ExactSettings settings = {.max_loss = max_loss,
                                    .max_loss_per_token = max_loss_per_token,
                                    .start_words = start_words.data(),
                                    .max_work = max_work};
    const auto outputs = results.outputs();
    PickSink sink(want_picks ? problem.n_docs : 0);
    {
        const Released released(problem.work(20));
        run_ranges(problem.n_docs, n_threads, [&](Queue& queue) {
            best_kernels().exact(problem, settings, outputs, queue, want_picks ? &sink : nullptr);
        });
    }
    return want_picks ? sink.arrays() : nb::none();
}

void certify(const Batch& batch, In<float, 2> theta, In<double, 1> prior, const Results& results,
             int n_threads) {
    auto problem = batch.problem();
    problem.prior = prior.data();
    const auto outputs = results.outputs();
    const Released released(problem.work(1));
    run_ranges(problem.n_docs, n_threads, [&](Queue& queue) {
        best_kernels().certify(problem, theta.data(), outputs, queue);
    });
}

void coarsen(In<float, 2> rows, Out<int32_t, 2> coarse, Out<float, 1> scale, int n_threads) {
    const Coarsening c = {.rows = rows.data(),
                          .stride = int64_t(rows.shape(1)),
                          .coarse = coarse.data(),
                          .coarse_stride = int64_t(coarse.shape(1)),
                          .coarse_scale = scale.data()};
    const Released released;
    run_ranges(int64_t(rows.shape(0)), n_threads,
               [&](Queue& queue) { best_kernels().coarsen(c, queue); });
}

void read_rows(const Batch& batch, int64_t ahead, int n_threads) {
    const auto problem = batch.problem();
    const Released released;
    run_ranges(problem.n_docs, n_threads, [&](Queue& queue) {
        float sum;
        best_kernels().read_rows(problem, queue, ahead, &sum);
    });
}

// Returns the result of `work`. Native calls of this thread call `check` from time to time; an
// exception from `check` ends them.
nb::object watched(const nb::callable& work, const nb::callable& check) {
    struct Set {
        PyObject* outer;
        ~Set() { Released::own_check = outer; }
    } const set{std::exchange(Released::own_check, check.ptr())};
    return work();
}

}  // namespace
}  // namespace opelda

NB_MODULE(_native, m) {
    using namespace opelda;
    nb::class_<Batch>(m, "Batch")
        .def(
            "__init__",
            [](Batch* self, In<float, 2> rows, int64_t n_topics, In<int64_t, 1> indptr,
               In<int32_t, 1> words, In<float, 1> counts, In<float, 1> alpha,
               MaybeIn<int32_t, 2> coarse, MaybeIn<float, 1> coarse_scale,
               MaybeIn<int32_t, 1> ids) {
                new (self) Batch{.rows = rows,
                                 .n_topics = n_topics,
                                 .indptr = indptr,
                                 .words = words,
                                 .counts = counts,
                                 .alpha = alpha,
                                 .coarse = coarse,
                                 .coarse_scale = coarse_scale,
                                 .ids = ids};
            },
            "rows"_a, "n_topics"_a, "indptr"_a, "words"_a, "counts"_a, "alpha"_a, "coarse"_a.none(),
            "coarse_scale"_a.none(), "ids"_a.none());
    nb::class_<Results>(m, "Results")
        .def(
            "__init__",
            [](Results* self, MaybeOut<float, 2> theta, MaybeOut<int32_t, 1> n_iter,
               MaybeOut<double, 1> gap, MaybeOut<double, 1> likelihood_gap,
               MaybeOut<double, 1> log_likelihood, MaybeOut<double, 1> log_prior,
               MaybeOut<double, 1> likelihood_loss, MaybeOut<float, 2> factors,
               MaybeOut<int32_t, 2> kept_topics, MaybeOut<float, 2> kept_shares) {
                new (self) Results{.theta = theta,
                                   .n_iter = n_iter,
                                   .gap = gap,
                                   .likelihood_gap = likelihood_gap,
                                   .log_likelihood = log_likelihood,
                                   .log_prior = log_prior,
                                   .likelihood_loss = likelihood_loss,
                                   .factors = factors,
                                   .kept_topics = kept_topics,
                                   .kept_shares = kept_shares};
            },
            "theta"_a.none(), "n_iter"_a.none(), "gap"_a.none(), "likelihood_gap"_a.none(),
            "log_likelihood"_a.none(), "log_prior"_a.none(), "likelihood_loss"_a.none(),
            "factors"_a.none(), "kept_topics"_a.none() = nb::none(),
            "kept_shares"_a.none() = nb::none());
    m.def("ope", &ope, "batch"_a, "results"_a, nb::kw_only(), "a"_a, "b"_a, "a2"_a.none(),
          "b2"_a.none(), "coin"_a.none(), "base"_a, "start"_a, "start_words"_a, "seed"_a.none(),
          "n_restarts"_a, "tol"_a, "screen"_a, "want_picks"_a, "n_threads"_a);
    m.def("vb", &vb, "batch"_a, "results"_a, nb::kw_only(), "n_iter"_a, "tol"_a, "start"_a.none(),
          "n_threads"_a);
    m.def("cvb0", &cvb0, "batch"_a, "results"_a, nb::kw_only(), "burn_in"_a, "n_samples"_a,
          "scale"_a, "offset"_a, "decay"_a, "n_threads"_a);
    m.def("cvb", &cvb, "batch"_a, "results"_a, nb::kw_only(), "n_iter"_a, "tol"_a, "n_threads"_a);
    m.def("cgs", &cgs, "batch"_a, "results"_a, nb::kw_only(), "burn_in"_a, "n_samples"_a, "keys"_a,
          "max_tokens"_a, "n_threads"_a);
    m.def("posterior", &posterior, "batch"_a, nb::kw_only(), "burn_in"_a, "n_samples"_a,
          "n_tables"_a, "keys"_a, "main"_a, "max_tokens"_a, "level"_a, "z_level"_a, "z_tail"_a,
          "lower"_a, "upper"_a, "main_topic_probability"_a, "n_threads"_a);
    m.def("fw", &fw, "batch"_a, "results"_a, nb::kw_only(), "steps"_a, "n_threads"_a);
    m.def("em", &em, "batch"_a, "results"_a, nb::kw_only(), "n_iter"_a, "n_kept"_a, "start_words"_a,
          "n_threads"_a);
    m.def("exact", &exact, "batch"_a, "results"_a, nb::kw_only(), "max_loss"_a,
          "max_loss_per_token"_a, "start_words"_a, "max_work"_a, "want_picks"_a, "n_threads"_a);
    m.def("certify", &certify, "batch"_a, "theta"_a, "prior"_a, "results"_a, nb::kw_only(),
          "n_threads"_a);
    m.def("coarsen", &coarsen, "rows"_a, "coarse"_a, "scale"_a, nb::kw_only(), "n_threads"_a);
    m.def("read_rows", &read_rows, "batch"_a, nb::kw_only(), "ahead"_a, "n_threads"_a);
    add_batches(m);
    add_learning(m);
    add_sampling(m);
    add_sweeps(m);
    add_counts(m);
    m.def("watched", &watched, "work"_a, "check"_a);
#ifdef OPELDA_CHECKED
    m.attr("checked") = true;
#else
    m.attr("checked") = false;
#endif
    m.def("instruction_set", [] { return best_kernels().name; });
    m.def("use_instruction_set", &use_kernels, "name"_a);
}

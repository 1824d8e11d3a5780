"""Mutants that no test can catch: by file and changed line, why."""

EXPLAINED = {
    (
        "native/module.cpp",
        "PickSink sink(want_picks ? problem.n_docs : 1);",
    ): "where no picks are wanted, nothing is put in and nothing read",
    (
        "native/text/words.cpp",
        '"pairs"_a = true)',
    ): "a default that nobody uses: whoever scans says which",
    (
        "src/opelda/engines/seam.py",
        "n_draws: int = 2,",
    ): "of an abstract method: every engine has a default of its own",
    (
        "native/document.hpp",
        "int64_t n_padded = 1;",
    ): "set by whoever lays a document out, before anybody reads it",
    (
        "native/exact_face.hpp",
        "without weight[gone] = best_[gone] = 0;",
    ): "a topic that is left out is masked by in_ wherever its weight is read",
    (
        "src/opelda/engines/_tokens.py",
        "FRACTION_SHIFT = 17",
    ): "one bit more of a token's weight than is needed",
    (
        "src/opelda/inference/_method.py",
        "without theta /= theta.sum()",
    ): "shares add up to 1 but for rounding before they are divided by their sum",
    (
        "src/opelda/inference/hamcmc.py",
        "burn_in: int = 201",
    ): "one sample fewer of 800",
    (
        "native/text/uci.hpp",
        "const bool same = (begin | same_mask_) == same_;",
    ): "a short cut that is hardly ever taken then: the long way gives the same",
    (
        "native/vb.hpp",
        "double aside = 1;  // sum of the alpha of the topics set aside",
    ): "set to 0 for every document, before anybody reads it",
    (
        "src/opelda/learning/streaming/_window_sweeps.py",
        "PASSES = 6",
    ): "a choice: passes with which a stream starts",
    (
        "native/exact.hpp",
        "const int64_t first = large ? 2 / kFirstTopics : kFirstTopics;",
    ): "a start: topics that it lacks are added on the way, and what is lost is proved at the end",
    (
        "src/opelda/learning/streaming/_cusum.py",
        "AT_LEAST = 5  # blocks make an alarm: a single one that is odd does not",
    ): "a choice, by which tests go, too",
    (
        "src/opelda/learning/_seeds.py",
        "cells = np.array(found, np.int32).reshape(-2, 2)",
    ): "NumPy takes any negative number for the length that follows from the others",
    (
        "native/ope_bounds.hpp",
        "without moves_then = walk.moves;",
    ): "bounds are made anew more often then, and the vertices are the same",
    (
        "native/cgs.hpp",
        "if (target <= 0) break;",
    ): "differs where a random number falls on a bound to the last bit",
    (
        "native/certificate.hpp",
        "vd acc[5] = {};",
    ): "room for one more that nobody uses",
    (
        "native/fw.hpp",
        "for (int64_t j = doc.n; j <= doc.n_padded; ++j) x[j] = 1;",
    ): "writes to the next array of the same scratch memory, which is filled before it is read",
    (
        "native/text/merging.cpp",
        "std::vector<float> count_of(size_t(n_columns), 1);",
    ): "a column's count is written before it is read",
    (
        "native/text/scan.hpp",
        "bool ascii = false;",
    ): "a short cut that is not taken then: the long way gives the same",
    (
        "src/opelda/inference/ope.py",
        "n_moves: int = 2",
    ): "a default that nobody uses: whoever stops a walk says where",
    (
        "src/opelda/learning/_listeners.py",
        "BarColumn(bar_width=13, table_column=Column(width=12, no_wrap=True)),",
    ): "a bar is cut to the width of its column",
    (
        "native/threads.cpp",
        "if (!(!here.check)) {",
    ): "Ctrl-C is noticed later, by as much as other threads need for the part they are at",
    (
        "native/text/numbers.hpp",
        "const uint64_t others = ((v + 0x7676767676767676u) | v) | 0x8080808080808080u;",
    ): "a short cut that is not taken then: the long way gives the same",
    (
        "src/opelda/learning/_seeding.py",
        "return chosen[free] if free.sum() > least else chosen",
    ): "a choice: twice as many documents as are wanted, or one more, are enough to choose from",
    (
        "native/exact_columns.hpp",
        "int64_t most_ = 1;",
    ): "set by `allocate`, before anybody reads it",
    (
        "native/exact_columns.hpp",
        "last_ = 1;",
    ): "set to 0 by `pack`, which follows",
    (
        "native/sweep.hpp",
        "float prior = 1;",
    ): "set for every word, before anybody reads it",
    (
        "src/opelda/learning/editing/_edit.py",
        "for number in np.flatnonzero(times >= 1).tolist():",
    ): "a topic of one has itself as its origin, and nothing joins it",
    (
        "native/document.hpp",
        "without end_ = index < last ? p.words + p.indptr[index + 1] : nullptr;",
    ): "nothing is fetched ahead then, which takes longer and gives the same",
    (
        "native/solver.hpp",
        "without copied = doc.n * p.stride <= kLargestCopy;",
    ): "rows are read where they are then, which takes longer and gives the same",
    (
        "native/em_choice.hpp",
        "} else if (count <= least) {",
    ): "some number from the least to the most is wanted, and found another way then",
    (
        "native/cvb0.hpp",
        "for (int64_t k = 0; k <= p.stride; k += kDoubles)",
    ): "writes to the next array of the same scratch memory, which is filled before it is read",
    (
        "src/opelda/inference/_method.py",
        "knows_loss: ClassVar[bool] = True",
    ): "a method that does not know its loss is run once more, with certificates",
}

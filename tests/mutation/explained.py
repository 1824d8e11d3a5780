"""Mutants that no test can catch: by file and changed line, why."""

EXPLAINED = {
    (
        "native/module.cpp",
        "PickSink sink(want_picks ? problem.n_docs : 1);",
    ): "where no picks are wanted, nothing is put in and nothing read",
}

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
        "src/opelda/engines/_engine.py",
        "n_draws: int = 2,",
    ): "of an abstract method: every engine has a default of its own",
}

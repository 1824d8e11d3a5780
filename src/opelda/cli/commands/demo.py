"""`opelda demo`: the topics of the Python packages on this machine, from their docstrings."""

import sys
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any, cast

import typer

from opelda.cli._app import command
from opelda.cli._choices import PRESETS, complete_preset
from opelda.cli._errors import StoppedError
from opelda.cli._learners import PRESET, SEED
from opelda.cli._models import on_machine
from opelda.cli._options import AsJson, Engine, Jobs, Show
from opelda.cli._output import print_json
from opelda.cli._paths import check_model_output
from opelda.cli._progress import learning_display, reading_bar
from opelda.cli.commands._demo_results import Demo, Example, Seconds, Step
from opelda.cli.commands._demo_view import as_plain, print_demo
from opelda.errors import InputError

N_TOPICS, N_WORDS, N_DOCS = 24, 8, 8_000
MIN_DF, MAX_DF = 0.001, 0.2
# More often in one docstring, a word says no more about its subject.
MOST_TIMES = 3
LETTERS = r"[^\W\d_]{3,}"
# Found in every standard library, the first one that is there is shown.
EXAMPLES = (
    "statistics.linear_regression",
    "tempfile.NamedTemporaryFile",
    "subprocess.run",
    "urllib.request.urlopen",
)
STEPS = (20, 100, 500)


@command(
    "demo",
    "opelda demo",
    "opelda demo -k 40 --seed 1",
    "opelda demo -o python.opelda",
    "opelda demo --json",
)
def demo(
    topics: Annotated[
        int, typer.Option("--topics", "-k", help="Number of topics.", min=2, metavar="K")
    ] = N_TOPICS,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Save the model there; if not given, it is not kept.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(help="Docstrings to gather, spread over the packages.", min=20)
    ] = N_DOCS,
    preset: Annotated[
        str,
        typer.Option(
            help="The settings: best, fast or paper.",
            metavar="|".join(PRESETS),
            autocompletion=complete_preset,
        ),
    ] = PRESET,
    seed: Annotated[int, typer.Option(help="Of the random numbers.", min=0)] = SEED,
    jobs: Jobs = None,
    engine: Engine = None,
    as_json: AsJson = False,
    show: Show = Show(),
) -> None:
    """Show topics of text that is on every machine: the docstrings of the packages installed here.

    Nothing is downloaded, and no package is imported or run.
    """
    from opelda import TopicModel

    place = None if output is None else check_model_output(output)
    model = TopicModel(topics, preset=cast("Any", preset), random_state=seed)
    on_machine(model, jobs, engine)
    model._schedule()  # complains of a preset that there is not before it gathers anything
    try:
        found = learn(limit, model, show)
    except KeyboardInterrupt:
        raise StoppedError("stopped; nothing was written.") from None
    if place is not None:
        import opelda

        opelda.save(found.model, place)
    saved = None if place is None else str(place)
    if as_json:
        print_json(as_plain(found, saved))
    else:
        print_demo(found, saved)


def learn(limit: int, model: Any, show: Show) -> Demo:
    """Gather docstrings, count their words, learn topics, and infer one with a certificate."""
    from opelda.corpus import docstrings

    begun = perf_counter()
    with reading_bar(show, "gathering docstrings") as bar:
        texts = docstrings(
            limit=limit, progress=None if bar is None else lambda n: bar(n, n, limit)
        )
    if not texts:
        raise InputError("There are no docstrings in this Python's library or packages.")
    gathered = perf_counter()
    corpus = count_words(texts, model.n_jobs)
    counted = perf_counter()
    model.set_params(callbacks=learning_display(show)).fit(corpus)
    learned = perf_counter()
    mixtures = model.transform(corpus.X)
    return Demo(
        model=model,
        corpus=corpus,
        texts=texts,
        mixtures=mixtures,
        example=certified_example(model, corpus, texts),
        seconds=Seconds(gathered - begun, counted - gathered, learned - counted),
        n_words=N_WORDS,
    )


def count_words(texts: dict[str, str], jobs: int | None) -> Any:
    """Return the counts of words that say what docstrings are about."""
    import numpy as np

    from opelda.corpus import Tokenizer, read
    from opelda.corpus.packages._prose import STOP_WORDS
    from opelda.corpus.text._stop_words import listed

    # a package's own name tells where a docstring is from; those of the library are words
    packages = {name.split(".")[0].lower() for name in texts} - sys.stdlib_module_names
    tokenizer = Tokenizer(pattern=LETTERS, stop_words={*listed("en"), *STOP_WORDS, *packages})
    records = ({"name": name, "text": text} for name, text in texts.items())
    corpus = read(
        records, text_column="text", name_column="name", tokenizer=tokenizer,
        min_df=max(2, round(MIN_DF * len(texts))), max_df=MAX_DF, n_jobs=jobs,
    )  # fmt: skip
    np.minimum(corpus.X.data, MOST_TIMES, out=corpus.X.data)
    return replace(corpus, names=list(texts))


def certified_example(model: Any, corpus: Any, texts: dict[str, str]) -> Example:
    """Infer one docstring with a flat prior, for which the gap bounds what is missing."""
    import numpy as np

    from opelda.inference import OPE, infer

    names = list(texts)
    lengths = np.asarray(corpus.X.sum(axis=1)).ravel()
    known = [names.index(name) for name in EXAMPLES if name in texts]
    row = next((i for i in known if lengths[i] > 0), int(lengths.argmax()))
    steps = []
    for n_iter in STEPS:
        result = infer(
            corpus.X[[row]],
            model.components_,
            doc_topic_prior=1.0,
            method=OPE(n_iter=n_iter),
            random_state=0,
        )
        steps.append(
            Step(
                n_iter,
                float(result.log_likelihood[0]),
                float(result.gap[0]),
                float(result.likelihood_loss[0]),
            )
        )
    mixture = result.theta[0]
    return Example(names[row], texts[names[row]], float(lengths[row]), mixture, tuple(steps))

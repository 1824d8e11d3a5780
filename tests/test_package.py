"""The package as a whole: its names, and what importing it costs."""

import ast
import importlib
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import opelda
from tests.cases import cases


def test_exported_names():
    assert dir(opelda) == [
        "MLOPE",
        "OnlineCGS",
        "OnlineCVB0",
        "OnlineOPE",
        "OnlineVB",
        "StreamingOPE",
        "StreamingVB",
        "TopicClassifier",
        "TopicModel",
        "corpus",
        "engines",
        "errors",
        "follow",
        "inference",
        "learning",
        "load",
        "metrics",
        "optimize",
        "report",
        "save",
        "selection",
        "serve",
        "spark",
    ]
    for name in dir(opelda):
        assert getattr(opelda, name) is not None


# every public name; changing one changes the public interface
PUBLIC = {
    "opelda.corpus": [
        "ABSTRACTS",
        "Biterms",
        "Corpus",
        "NOTHING",
        "Tokenizer",
        "Vocabulary",
        "generate",
        "generate_stream",
        "near_duplicates",
        "read",
        "stream",
    ],
    "opelda.engines": ["get_engine"],
    "opelda.errors": [
        "EngineError",
        "InputError",
        "ModelFileError",
        "OpeldaError",
    ],
    "opelda.inference": [
        "CCCP",
        "CGS",
        "CVB",
        "CVB0",
        "EM",
        "Exact",
        "FW",
        "HAMCMC",
        "OFW",
        "OPE",
        "PMD",
        "PerToken",
        "SMM",
        "TLI",
        "Topics",
        "VB",
        "infer",
    ],
    "opelda.learning": [
        "EarlyStopping",
        "History",
        "ML",
        "OnEvent",
        "Online",
        "SCVB0",
        "SGRLD",
        "Seeds",
        "Streaming",
        "TPS",
        "word_vectors",
    ],
    "opelda.metrics": [
        "coherence",
        "effective_topics",
        "inference_spread",
        "log_predictive_probability",
        "match_topics",
        "predict_held_out",
        "split_tokens",
        "topic_diversity",
        "topic_exclusivity",
        "topic_intrusion",
        "topic_stability",
        "windows",
        "word_intrusion",
    ],
    "opelda.optimize": ["Box", "Domain", "L1Ball", "Polytope", "Simplex", "Term", "maximize"],
    "opelda.report": [
        "estimate_effect",
        "export_proxann",
        "label_topics",
        "map_positions",
        "nearest",
        "search",
        "similar_topics",
        "to_pyldavis",
        "top_documents",
        "topic_table",
        "topic_tree",
        "topics_by",
        "topics_over_time",
        "words_by_group",
        "write_report",
    ],
    "opelda.report.plots": [
        "plot_effect",
        "plot_groups",
        "plot_history",
        "plot_learning",
        "plot_map",
        "plot_over_time",
        "plot_predicted",
        "plot_topics",
        "plot_tree",
    ],
    "opelda.selection": ["choose_n_topics", "stability"],
    "opelda.serve": ["app"],
}


@cases("name", PUBLIC)
def test_public_names(name):
    module = importlib.import_module(name)
    assert sorted(module.__all__) == PUBLIC[name]
    for public in module.__all__:
        assert getattr(module, public) is not None


def test_public_names_of_spark():
    """They themselves take pyspark: `make test-spark`."""
    assert dir(opelda.spark) == ["LDA", "LDAEvaluator", "LDAModel", "learn", "session"]


def test_version_is_written_in_one_place():
    root = Path(__file__).parents[1]
    written = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert opelda.__version__ == written
    assert f"\nversion: {written}\n" in (root / "CITATION.cff").read_text()


def test_unknown_attribute_raises():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = opelda.nonsense


def test_import_loads_no_heavy_package():
    """Except packages that scikit-learn imports."""
    statements = [
        "import opelda",
        "import opelda.inference, opelda.optimize",
        "import opelda.learning, opelda.corpus, opelda.metrics",
        "import opelda; opelda.OnlineOPE, opelda.load",
    ]
    heavy = (
        "polars",
        "matplotlib",
        "typer",
        "rich",
        "pandas",
        "gensim",
        "zstandard",
        "snowballstemmer",
        "icu4py",
    )
    code = (
        "import sys, sklearn.utils.validation\nbefore = set(sys.modules)\n"
        f"for statement in {statements}:\n"
        "    exec(statement)\n"
        f"    for name in (set(sys.modules) - before) & set({heavy}):\n"
        "        print(statement, 'loads', name)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == ""


def test_import_loads_neither_subpackages_nor_numpy():
    code = (
        "import sys, opelda\n"
        "print([m for m in sys.modules if m.startswith('opelda.') or m == 'numpy'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['opelda._names']"  # a few tuples of names


def test_restricted_modules_have_one_importing_package():
    """import-linter does not see modules without a source file."""
    root = Path(opelda.__file__).parent
    importers = defaultdict(set)
    for path in root.rglob("*.py"):
        for module in imported(ast.parse(path.read_text())):
            importers[module].add(path.relative_to(root).parts[0])
    for module, package in {
        "opelda._native": "engines",
        "opelda._text": "corpus",
        "starlette.requests": "serve",
        "uvicorn": "serve",
    }.items():
        assert importers[module] == {package}, module


def test_the_contract_lists_every_private_part_of_engines():
    config = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    listed = next(c["forbidden_modules"] for c in contracts if "allow_indirect_imports" in c)
    parts = [p for p in (Path(opelda.__file__).parent / "engines").iterdir() if p.name[0] != "."]
    private = {p.stem for p in parts if p.name != "__pycache__"} - {"__init__", "seam"}
    assert {f"opelda.engines.{name}" for name in private} | {"cupy", "cupyx"} == set(listed)


def test_only_engines_import_cupy():
    package = Path(opelda.__file__).parent
    found = [path for path in package.rglob("*.py") if "cupy" in path.read_text().lower()]
    assert {path.relative_to(package).parts[0] for path in found} == {"engines"}


def imported(tree):
    """Return the full names of all imports of a module, at any level."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

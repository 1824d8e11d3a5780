"""Mutants: each is another program than the code, and what nobody can notice is left alone."""

import ast
import random
from pathlib import Path

import pytest

from tests.mutation.concerned import NATIVE, PYTHON, concerned_tests
from tests.mutation.explained import EXPLAINED
from tests.mutation.mutants import chosen, mutants_of

ROOT = Path(__file__).parents[2]


def mutants_in(tmp_path, name, text):
    """The changed texts, with what was replaced by what."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = mutants_of(tmp_path, name)
    return {(mutant.before, mutant.after): mutant.apply(text) for mutant in found}


def test_cpp(tmp_path):
    text = """// 1 < 2
#define N 3
void f() {
    const int a = b + 10 * 1e-20;  // + 1
    if (g("x < y", a) && (a <= c)) total = std::min(a, c);
    __builtin_prefetch(p + 1);
    out[i] = float(x);
    ++n;
    return h<2>(a, true);
}
"""
    found = mutants_in(tmp_path, "f.cpp", text)
    condition = 'g("x < y", a) && (a <= c)'
    assert set(found) == {
        ("+", "-"), ("10", "11"), ("*", "/"), ("&&", "||"), ("<=", "<"), ("min", "max"),
        ("true", "false"), ("out[i] = float(x);", ";"), ("++n;", ";"), ("2", "3"),
        (condition, f"!({condition})"),
    }  # fmt: skip
    assert "const int a = b - 10 * 1e-20;" in found["+", "-"]


def test_python(tmp_path):
    text = '''"""1 < 2"""
def f(x: "int | None" = 3):
    """a and b"""
    é = "ü"; a = (x) + len(é)  # + 1
    if a is not None and not a:
        raise ValueError("1" + "2")
    log.info("%d", a + 1)
    self.a = max(a, 7)
    return [b for b, _ in zip(a, a, strict=True) if b in é]
'''
    found = mutants_in(tmp_path, "f.py", text)
    assert set(found) == {
        ("3", "4"), ("+", "-"), ("is not", "is"), ("and", "or"), ("not a", "(a)"),
        ("a is not None and not a", "(not (a is not None and not a))"),
        ("self.a = max(a, 7)", "pass"), ("max", "min"), ("7", "8"), ("in", "not in"),
    }  # fmt: skip
    assert "a = (x) - len(é)" in found["+", "-"]
    assert "if b not in é" in found["in", "not in"]


@pytest.mark.parametrize("pattern", PYTHON)
def test_mutants_of_python_are_other_programs(pattern):
    file = random.Random(pattern).choice(sorted(ROOT.glob(pattern)))
    text = file.read_text(encoding="utf-8")
    for mutant in mutants_of(ROOT, str(file.relative_to(ROOT))):
        assert ast.dump(ast.parse(mutant.apply(text))) != ast.dump(ast.parse(text)), mutant


def test_a_seed_chooses_one_mutant_of_each_line():
    found = mutants_of(ROOT, "native/ope_walk.hpp")
    first, second, other = chosen(found, 0), chosen(found, 0), chosen(found, 1)
    assert first == second != other
    lines = [mutant.line for mutant in first]
    assert sorted(lines) == sorted({mutant.line for mutant in found})


def test_every_file_has_tests():
    files = [file for pattern in NATIVE + PYTHON for file in ROOT.glob(pattern)]
    for file in files:
        assert concerned_tests(ROOT, str(file.relative_to(ROOT))), file


def test_explanations_are_of_files_that_are_there():
    assert all((ROOT / file).exists() and why for (file, _), why in EXPLAINED.items())

"""Small changes to source code, each of which some test should notice.

A `Mutant` replaces one piece of one file. C++ is taken as clang-format leaves it (blanks around
binary operators, none inside of template brackets), Python by `ast`. Left out, because nobody can
notice them: comments, docstrings, texts of errors and logs, prefetches, hints to the compiler.
"""

import ast
import random
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "@": "*", "**": "*",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "//=": "*=", "%=": "*=",
    "&&": "||", "||": "&&", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    "and": "or", "or": "and", "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    "min": "max", "max": "min", "true": "false", "false": "true",
    "True": "False", "False": "True", "maximum": "minimum", "minimum": "maximum",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A replacement of `before`, at an offset into the text of a file, by `after`."""

    file: str
    line: int
    offset: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        end = self.offset + len(self.before)
        assert text[self.offset : end] == self.before
        return text[: self.offset] + self.after + text[end:]


def chosen(mutants: list[Mutant], seed: int) -> list[Mutant]:
    """One mutant of each line, at random, in a random order of the lines."""
    lines = defaultdict(list)
    for mutant in mutants:
        lines[mutant.file, mutant.line].append(mutant)
    rng = random.Random(seed)
    result = [rng.choice(lines[line]) for line in sorted(lines)]
    rng.shuffle(result)
    return result


def mutants_of(root: Path, file: str) -> list[Mutant]:
    """Every mutant of a file, in the order of their places."""
    text = (root / file).read_text(encoding="utf-8")
    places = _python(text) if file.endswith(".py") else _cpp(text)
    found = {}
    for start, end, after in places:
        before = text[start:end]
        if before.strip() != after.strip():
            line = text.count("\n", 0, start) + 1
            found[start, before, after] = Mutant(file, line, start, before, after)
    return [found[place] for place in sorted(found)]


_NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|^#(?:\\\n|[^\n])*|"(?:\\.|[^"\\\n])*"|\'\\?.\'', re.S | re.M
)
_NO_EFFECT = re.compile(
    r"prefetch|fetch_row|static_assert|\[\[|__attribute__|\busing\b|\btemplate\b|\bnamespace\b"
    r"|memory_order|reserve\(|kAhead|Ahead\b|ahead\.|nb::arg|extern|read_rows"
    r"|\.notify_|throw |throws\("
)
_BINARY = re.compile(r"(?<= )(?:[<>=!]=|[<>]|[-+*/%]=?|&&|\|\||<<|>>|[&|])(?= |\n)")
_NUMBER = re.compile(r"(?<![\w.'])(?<!\de-)\d+(?![\w.'])")
_WORD = re.compile(r"(?<![\w.])(?:std::)?(min|max|true|false)\b")
_CONDITION = re.compile(r"\bif \(")
_STATEMENT = re.compile(
    r"^ *((?:\+\+|--|\*)?[A-Za-z_][\w.:]*(?:->\w+|\.\w+|\[[^;=]*\]|\([^;]*\))*"
    r"(?: [-+*/|&^]?= [^;]+|\+\+|--)?;|break;|continue;)$"
)


def _cpp(text):
    # what is no code becomes blanks, so that places stay what they are
    code = _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    start = 0
    for line in code.splitlines(keepends=True):
        if not _NO_EFFECT.search(line):
            yield from _cpp_line(line, start, code, text)
        start += len(line)


def _cpp_line(line, start, code, text):
    for pattern, group in ((_BINARY, 0), (_WORD, 1)):
        for found in pattern.finditer(line):
            yield start + found.start(group), start + found.end(group), _OTHER[found.group(group)]
    for found in _NUMBER.finditer(line):
        yield start + found.start(), start + found.end(), str(int(found.group()) + 1)
    for found in _CONDITION.finditer(line):
        begin = start + found.end()
        end = _closed(code, begin)
        if ";" not in code[begin:end]:
            yield begin, end, f"!({text[begin:end]})"
    found = _STATEMENT.match(line.rstrip())
    whole = code[:start].rstrip().endswith((";", "{", "}", ")", ":", "else"))
    if found and whole and not re.match(r" *(return|case|default|public|private)\b", line):
        yield start + found.start(1), start + found.end(1), ";"


def _closed(code, at):
    """Where the bracket that was opened before `at` is closed."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        at += 1
    return at - 1


_SILENT = re.compile(r"^(?:self\.)?_?(?:log|logger|logging|warnings|warn)\b")
_OPERATORS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.MatMult: "@", ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&",
    ast.BitOr: "|", ast.And: "and", ast.Or: "or",
}  # fmt: skip


def _python(text):
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line.encode()))
    data = text.encode()

    def offset(row, column):
        return len(data[: lines[row - 1] + column].decode())

    def span(node):
        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)

    def between(left, operator, right):
        sign = _OPERATORS.get(type(operator))
        start, end = span(left)[1], span(right)[0]
        pattern = r"\b" + sign.replace(" ", r"\s+") + r"\b" if sign and sign[0].isalpha() else None
        found = re.search(pattern or re.escape(sign or "\0"), text[start:end])
        if found:
            yield start + found.start(), start + found.end(), _OTHER[sign]

    def visit(node):
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.Expr) and _SILENT.match(ast.unparse(node)):
            return
        if isinstance(node, ast.keyword) and node.arg in ("copy", "strict"):
            return  # what it costs, and what never happens
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        match node:
            case ast.Compare():
                values = [node.left, *node.comparators]
                for left, operator, right in zip(values, node.ops, values[1:], strict=False):
                    yield from between(left, operator, right)
            case ast.BinOp():
                yield from between(node.left, node.op, node.right)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from between(left, node.op, right)
            case ast.AugAssign():
                start, end = span(node.target)[1], span(node.value)[0]
                found = re.search(r"\S+=", text[start:end])
                if found and found.group() in _OTHER:
                    yield start + found.start(), start + found.end(), _OTHER[found.group()]
            case ast.UnaryOp(op=ast.Not()):
                yield *span(node), f"({ast.get_source_segment(text, node.operand)})"
            case ast.If() | ast.IfExp() | ast.While():
                if not isinstance(node.test, ast.UnaryOp):
                    yield *span(node.test), f"(not ({ast.get_source_segment(text, node.test)}))"
            case ast.Constant(value=bool()):
                yield *span(node), str(not node.value)
            case ast.Constant(value=int()):
                yield *span(node), str(node.value + 1)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _OTHER:
                end = span(node.func)[1]
                yield end - len(name), end, _OTHER[name]
        if _droppable(node):
            yield *span(node), "pass"
        for child in _code_below(node):
            yield from visit(child)

    yield from visit(ast.parse(text))


def _droppable(node):
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue():
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
    return False


def _code_below(node):
    """A node's parts less decorators, annotations, docstrings, and what only names things."""
    left_out = {"decorator_list", "annotation", "returns", "type_comment"}
    for name, field in ast.iter_fields(node):
        if name in left_out or (isinstance(node, ast.arg) and name == "annotation"):
            continue
        for child in field if isinstance(field, list) else [field]:
            text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not text:
                yield child

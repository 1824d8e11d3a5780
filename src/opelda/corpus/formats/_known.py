"""All formats there are."""

from opelda.corpus.formats import (
    csv,
    files,
    jsonl,
    ldac,
    lines,
    mallet,
    mm,
    npz,
    parquet,
    tsv,
    uci,
    vw,
)
from opelda.corpus.formats._format import Format

_MODULES = (lines, files, jsonl, csv, tsv, parquet, mallet, vw, uci, ldac, mm, npz)
FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in _MODULES}

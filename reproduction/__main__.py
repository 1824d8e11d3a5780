"""`python -m reproduction`: the command line."""

import sys

try:
    from reproduction.cli import main
except ModuleNotFoundError as missing:
    if missing.name not in ("matplotlib", "threadpoolctl"):
        raise
    sys.exit(
        f"reproduction: {missing.name} is not installed; set up with `make reproduce`, or pip "
        "install -e '.[reproduction]'."
    )

if __name__ == "__main__":
    sys.exit(main())

"""``python -m opelda`` is the command line."""

import sys

from opelda.cli import main

if __name__ == "__main__":
    sys.exit(main())

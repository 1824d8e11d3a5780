"""The profiles and fixtures of the package's own tests, which these share."""

from tests.conftest import check_picture

__all__ = ["check_picture"]

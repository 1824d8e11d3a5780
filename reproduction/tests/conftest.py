"""The profiles, fixtures and seeds of the package's own tests, which these share."""

from tests.conftest import check_picture, pytest_generate_tests

__all__ = ["check_picture", "pytest_generate_tests"]

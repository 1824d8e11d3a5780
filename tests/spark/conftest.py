"""One Spark session for all tests: local[2], or OPELDA_SPARK_MASTER."""

import os

import pytest

from opelda.spark import session

# in local mode tasks are not retried by default
MASTER = os.environ.get("OPELDA_SPARK_MASTER", "local[2,4]")
FOREIGN = (
    "ignore:PySpark does not yet fully support pandas",
    "ignore::ResourceWarning",  # sockets between Python and Java, closed when they are collected
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::DeprecationWarning:pyspark",
    "ignore::FutureWarning:pyspark",
)


def pytest_collection_modifyitems(items):
    for item in items:
        for warning in FOREIGN:
            item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session")
def spark():
    made = session(MASTER, spark_ui_enabled=False, spark_sql_shuffle_partitions=4)
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def master():
    return MASTER

"""A Spark session on this machine."""

import os
import re
import shutil
import subprocess
import sys
from typing import Any

from pyspark.sql import SparkSession

from opelda.errors import EngineError


def session(master: str = "local[*]", **config: Any) -> SparkSession:
    """Return the active session, or a new one on this machine, after a check of Java.

    Parameters
    ----------
    master : str
        "local[*]" for every core, or "local-cluster[2,1,1024]" for executors of their own.
    **config
        Settings, with ``_`` for dots: ``spark_ui_enabled=False``.
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master)
    for name, value in config.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        builder = builder.config(name.replace("_", "."), text)
    return builder.getOrCreate()


def check_java() -> None:
    """Raise without a Java 17 or later."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    advice = "install Java 17 or later (Debian: openjdk-17-jre-headless)"
    if java is None:
        where = f"JAVA_HOME, {home}, has no bin/java" if home else "no Java was found"
        raise EngineError(f"Spark needs Java, but {where}; {advice}, or set JAVA_HOME.")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found and int(found[1]) < 17:
        raise EngineError(f"{java} is Java {found[1]}, too old for Spark; {advice}.")

"""A Spark stream made to be killed: python kill_stream.py MASTER SOURCE FOLDER [NUMBER].

It prints "ready" after the first job of its session. With a number it kills
itself when the model has this micro-batch and Spark has not committed it.
"""

import os
import signal
import sys

from opelda.spark import learn, session
from opelda.spark._structured_streaming import MicroBatchLearner


def main(master: str, source: str, folder: str, number: str = "") -> None:
    if number:
        die_after(int(number))
    spark = session(master, spark_ui_enabled=False, spark_sql_shuffle_partitions=2)
    spark.sparkContext.setLogLevel("OFF")
    spark.range(2).count()
    print("ready", flush=True)
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(source)
    now = {"availableNow": True}
    learn(stream, folder, 3, textCol="value", seed=1, trigger=now).awaitTermination()


def die_after(last: int) -> None:
    learned = MicroBatchLearner.__call__

    def call(self, table, number):
        learned(self, table, number)
        if number == last:
            os.killpg(0, signal.SIGKILL)

    MicroBatchLearner.__call__ = call


if __name__ == "__main__":
    main(*sys.argv[1:])

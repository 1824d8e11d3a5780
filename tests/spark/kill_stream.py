"""A Spark stream made to be killed: python kill_stream.py MASTER SOURCE FOLDER.

It says "ready" once there is a session, of which the first job was run.
"""

import sys

from opelda.spark import learn, session


def main(master: str, source: str, folder: str) -> None:
    spark = session(master, spark_ui_enabled=False, spark_sql_shuffle_partitions=2)
    spark.sparkContext.setLogLevel("OFF")
    spark.range(2).count()
    print("ready", flush=True)
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(source)
    now = {"availableNow": True}
    learn(stream, folder, 3, textCol="value", seed=1, trigger=now).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])

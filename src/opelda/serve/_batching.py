"""Texts of several requests inferred in one call.

The overhead of a call equals the inference of several short texts. Requests that arrive during a
call are queued for the next call. The result of a text does not depend on other texts.
"""

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from opelda.engines import watched
from opelda.serve._served import Asked, Served

TEXTS_AT_ONCE = 64  # of a request, so that short requests need not wait for long ones
CHARACTERS_AT_ONCE = 500_000
WORKERS = 2  # so that texts that take long do not keep all others waiting


class Job(NamedTuple):
    """Some texts of a request, and the future that gets their answer."""

    served: Served
    texts: list[str]
    asked: Asked
    answer: "asyncio.Future[bytes]"


class Batches:
    """A queue of jobs, and threads that infer several jobs per call."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._n_running = 0
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="opelda-infer")

    def __len__(self) -> int:
        return len(self._waiting)

    async def answer(self, served: Served, texts: list[str], asked: Asked) -> bytes:
        """Return the documents of a request as JSON, separated by commas."""
        loop, found = asyncio.get_running_loop(), []
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            job = Job(served, texts[first : first + TEXTS_AT_ONCE], asked, loop.create_future())
            self._waiting.append(job)
            loop.call_soon(self._start)  # after all requests that have arrived by now
            found.append(await job.answer)
        return b",".join(found)

    def _start(self) -> None:
        while self._n_running < WORKERS and (jobs := self._take()):
            self._n_running += 1
            work, check = partial(_work, jobs), partial(_check, jobs)
            loop = asyncio.get_running_loop()
            task = loop.run_in_executor(self._pool, watched, work, check)
            task.add_done_callback(partial(self._finish, jobs))

    def _take(self) -> list[Job]:
        """Return the jobs of the next call, which share one model and one kind of answer."""
        jobs: list[Job] = []
        n_texts = n_characters = 0
        while self._waiting:
            job = self._waiting[0]
            n_texts += len(job.texts)
            n_characters += sum(map(len, job.texts))
            if jobs and (
                n_texts > TEXTS_AT_ONCE
                or n_characters > CHARACTERS_AT_ONCE
                or job.served is not jobs[0].served
                or job.asked.certificate != jobs[0].asked.certificate
            ):
                break
            self._waiting.popleft()
            if not job.answer.done():  # by the time limit
                jobs.append(job)
        return jobs

    def _finish(self, jobs: list[Job], done: "asyncio.Future[list[bytes]]") -> None:
        self._n_running -= 1
        error = done.exception()
        answers: list[Any] = [None] * len(jobs) if error else done.result()
        for job, answer in zip(jobs, answers, strict=True):
            if not job.answer.done() and error:
                job.answer.set_exception(error)
            elif not job.answer.done():
                job.answer.set_result(answer)
        self._start()

    def close(self) -> None:
        """End the threads when they are done."""
        self._pool.shutdown(wait=False)


def _check(jobs: list[Job]) -> None:
    """Stop a call if all its requests have timed out."""
    if all(job.answer.done() for job in jobs):
        raise TimeoutError


def _work(jobs: list[Job]) -> list[bytes]:
    served, asked = jobs[0].served, jobs[0].asked
    found = served.infer([text for job in jobs for text in job.texts], asked.certificate)
    ends = accumulate((len(job.texts) for job in jobs), initial=0)
    return [
        served.written(found, first, end, job.asked)
        for job, (first, end) in zip(jobs, pairwise(ends), strict=True)
    ]

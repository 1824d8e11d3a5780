"""The application: its answers, and the separation of requests."""

import asyncio
import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opelda
from opelda.errors import InputError
from opelda.report import topic_table
from opelda.serve import _batching
from opelda.serve import app as make_app
from opelda.serve._site import HEADERS

from .conftest import THEMES, ask, asked, check_refused, infer, make_texts

WORDS = [*THEMES[0], *THEMES[1], *THEMES[2], "zeppelin", "the", "Ω", "\x00"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS)).map(" ".join), min_size=1, max_size=5)


def expected(model, texts, least=0.01, top=None):
    """Return the expected documents, from `model.infer` and the tokenizer."""
    found, labels = model.infer(texts), model.topic_labels_
    documents = []
    for row, text in enumerate(texts):
        # the tokenizer drops the last two words
        words = [word for word in text.replace(",", "").split() if word in WORDS[:-2]]
        known = sum(word in model.vocabulary_ for word in words)
        theta = found.theta[row]
        order = [k for k in np.argsort(-theta, kind="stable") if theta[k] >= least]
        order = (order or [int(theta.argmax())])[:top] if known else []
        topics = [
            {"topic": int(k), "label": labels[k], "weight": pytest.approx(theta[k], rel=1e-5)}
            for k in order
        ]
        documents.append(
            {
                "tokens": known,
                "unknown_tokens": len(words) - known,
                "topics": topics,
                "loss": pytest.approx(found.loss[row], abs=1.1e-6),
            }
        )
    return documents


@given(texts=TEXTS)
def test_answers_match_the_model(service, models, texts):
    response = infer(service, {"texts": texts})
    assert response.status == 200
    assert response.json["documents"] == expected(models[0], texts)
    assert response.json["version"] == response.headers["opelda-model"]
    found = models[0].infer(texts)
    assert all(
        document["loss"] >= loss
        for document, loss in zip(response.json["documents"], found.loss, strict=True)
    )


def test_texts_as_object_list_or_plain_text(service):
    text = "the court and the judge, 100%"
    object_ = infer(service, {"texts": [text]})
    list_ = infer(service, [text])
    plain = ask(service, "POST", "/infer", text.encode(), kind="text/plain; charset=utf-8")
    assert object_.body == list_.body == plain.body


def test_options_of_infer(service, models):
    texts = ["court bread star", "oven"]
    for options, how in (("?top=1", {"top": 1}), ("?min_weight=0", {"least": 0.0})):
        assert infer(service, texts, options).json["documents"] == expected(models[0], texts, **how)
    plain = infer(service, texts, "?certificate=false").json["documents"]
    assert [d["topics"] for d in plain] == [d["topics"] for d in expected(models[0], texts)]
    assert "loss" not in plain[0]


def test_requested_accuracy_is_met(models):
    service = make_app(models[0], max_loss=1e-3)
    documents = infer(service, make_texts(9, seed=5)).json["documents"]
    assert max(document["loss"] for document in documents) <= 1e-3
    service.close()


@pytest.fixture
def calls(service):
    """Record the texts of every call of the model."""
    found, real = [], service.newest.served.infer

    def infer(texts, certified):
        found.append(list(texts))
        return real(texts, certified)

    service.newest.served.infer = infer
    return found


def test_concurrent_requests_get_their_own_answers(service, models, calls):
    texts = make_texts(50, seed=1)

    async def several():
        bodies = [json.dumps([text, ""]).encode() for text in texts]
        certified = ["false", "true"] * 25
        paths = [f"/infer?top={1 + i % 3}&certificate={certified[i]}" for i in range(50)]
        return await asyncio.gather(
            *(asked(service, "POST", *each) for each in zip(paths, bodies, strict=True))
        )

    responses = asyncio.run(several())
    for number, (text, response) in enumerate(zip(texts, responses, strict=True)):
        want = expected(models[0], [text, ""], top=1 + number % 3)
        if not number % 2:
            want = [{k: v for k, v in document.items() if k != "loss"} for document in want]
        assert response.json["documents"] == want
    assert max(map(len, calls)) <= _batching.TEXTS_AT_ONCE


def test_concurrent_requests_are_batched_in_order(service, calls):
    texts = make_texts(50, seed=2)

    async def several():
        bodies = [json.dumps([text]).encode() for text in texts]
        return await asyncio.gather(*(asked(service, "POST", "/infer", body) for body in bodies))

    asyncio.run(several())
    assert len(calls) < 10
    assert sorted(text for call in calls for text in call) == sorted(texts)
    places = [[texts.index(text) for text in call] for call in calls]
    assert places == [sorted(each) for each in places]


def test_long_request_does_not_block_others(service, calls):
    async def both():
        ended = []

        async def one(texts):
            response = await asked(service, "POST", "/infer", json.dumps(texts).encode())
            ended.append(len(texts))
            return response

        long = asyncio.create_task(one(["court judge"] * 900))
        await asyncio.sleep(0)
        await asyncio.gather(long, *(one(["oven"]) for _ in range(5)))
        return ended, long.result()

    ended, long = asyncio.run(both())
    assert ended == [1] * 5 + [900]
    assert len(long.json["documents"]) == 900
    assert max(map(len, calls)) <= _batching.TEXTS_AT_ONCE


def test_topics_and_health(service, models):
    topics = ask(service, path="/topics").json["topics"]
    assert [topic["label"] for topic in topics] == list(models[0].topic_labels_)
    assert [topic["words"] for topic in topics] == [
        list(row.words) for row in topic_table(models[0])
    ]
    assert sum(topic["share"] for topic in topics) == pytest.approx(1, abs=1e-5)
    assert [t["coherence"] for t in topics] == pytest.approx(models[0].coherence_, abs=1e-4)
    one = ask(service, path="/topics/2").json
    assert sorted(one["words"]) == sorted(models[0].vocabulary_)  # fewer than fifty
    assert one["probabilities"][:10] == topics[2]["probabilities"]
    health = ask(service, path="/health").json
    assert health["ready"] is True
    assert health["model"]["documents"] == models[0].n_docs_ < models[0].n_docs_seen_
    assert (health["model"]["topics"], health["model"]["words"]) == (3, len(models[0].vocabulary_))


def test_page_has_strict_headers_and_is_made_once(service):
    calls, real = [], service.newest.served.page
    service.newest.served.page = lambda corpus: calls.append(corpus) or real(corpus)

    async def several():
        return await asyncio.gather(*(asked(service, "GET", "/") for _ in range(3)))

    for response in asyncio.run(several()):
        assert response.body.startswith(b"<!DOCTYPE html>")
        assert b"default-src 'none'" in response.body
        assert response.headers.items() >= {k.decode(): v.decode() for k, v in HEADERS}.items()
    assert calls == [None]


def test_page_of_documents(models):
    service = make_app(models[0], corpus=make_texts(30))
    assert b'id="documents"' in ask(service).body
    service.close()


def test_page_in_progress_shows_a_notice_or_the_old_page(service, models):
    gate, former = threading.Event(), service.newest.served
    real = former.page
    former.page = lambda corpus: gate.wait() and real(corpus)
    service.timeout = 0.1

    async def three():
        first = await asked(service, "GET", "/")
        gate.set()
        service.timeout = 60
        return first, await asked(service, "GET", "/")

    waiting, shown = asyncio.run(three())
    check_refused(waiting, 503, "is not ready yet")
    assert shown.headers["opelda-model"] == former.version
    newer = make_app(models[1]).newest.served
    newer.page = lambda corpus: b"newer"
    service.newest.served = newer

    async def again():
        bodies = [(await asked(service, "GET", "/")).body]
        while bodies[-1] != b"newer":
            await asyncio.sleep(0.01)
            bodies.append((await asked(service, "GET", "/")).body)
        return bodies

    assert asyncio.run(again())[0] == shown.body


def test_app_can_be_mounted(service):
    assert ask(service, path="/lda/health", root_path="/lda").status == 200
    assert ask(service, path="/health", root_path="").status == 200


def test_unusable_models_are_rejected(tmp_path):
    counts = opelda.corpus.generate(50, n_words=20, n_topics=2).X
    with pytest.raises(InputError, match="counts and has no words"):
        make_app(opelda.OnlineOPE(2, random_state=0).fit(counts))
    with pytest.raises(opelda.errors.ModelFileError, match="nowhere"):
        make_app(tmp_path / "nowhere")
    with pytest.raises(InputError, match="max_docs"):
        make_app(tmp_path, max_docs=0)


def test_failed_page_reports_the_error(models, tmp_path):
    service = make_app(models[0], corpus=tmp_path / "nowhere.txt")
    for _ in range(2):
        check_refused(ask(service), 500, "nowhere.txt")
    service.close()


def test_failed_page_is_retried(service):
    real, calls = service.newest.served.page, []

    def page(corpus):
        calls.append(corpus)
        if len(calls) == 1:
            raise InputError("The disk is full for a moment.")
        return real(corpus)

    service.newest.served.page = page

    async def twice():
        return [await asked(service, "GET", "/") for _ in range(2)]

    failed, made = asyncio.run(twice())
    check_refused(failed, 500, "for a moment")
    assert made.status == 200

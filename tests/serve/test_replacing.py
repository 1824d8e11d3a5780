"""A model that is replaced while it is served: each request uses one model."""

import asyncio
import json
import logging

import pytest

import opelda
from opelda.serve import app as make_app

from .conftest import ask, asked, infer, make_model, make_texts, until

TEXTS = make_texts(70, seed=3)  # two calls of the model


@pytest.fixture
def replaced(models, tmp_path, quick):
    """Serve a file that is replaced."""
    path = tmp_path / "model.opelda"
    opelda.save(models[0], path)
    service = make_app(path, n_jobs=1)
    yield service, path
    service.close()


def answers(model):
    """Return the answer of a model without the server."""
    service = make_app(model, n_jobs=1)
    found = infer(service, TEXTS).json
    service.close()
    return found


def test_new_requests_use_the_new_model(replaced, models, caplog):
    service, path = replaced
    caplog.set_level(logging.INFO, "opelda.serve")
    assert infer(service, TEXTS).json == answers(models[0])
    for model in models[1:]:
        opelda.save(model, path)
        version = answers(model)["version"]
        until(lambda version=version: service.newest.served.version == version)
        assert infer(service, TEXTS).json == answers(model)
        labels = [topic["label"] for topic in ask(service, path="/topics").json["topics"]]
        assert labels == list(model.topic_labels_)
        assert f"was replaced; {version} answers now" in caplog.text


def test_running_requests_use_the_old_model(replaced, models):
    service, _ = replaced
    old, new = service.newest.served, make_app(models[1]).newest.served
    real = old.infer

    def replace_meanwhile(texts, certified):
        service.newest.served = new
        return real(texts, certified)

    old.infer = replace_meanwhile
    for model in models[:2]:
        response = infer(service, TEXTS)
        assert response.json == answers(model)
        assert response.headers["opelda-model"] == response.json["version"]


def test_queued_requests_of_two_models_are_not_batched_together(replaced, models):
    service, _ = replaced
    new = make_app(models[1]).newest.served
    body = json.dumps(TEXTS[:9]).encode()

    async def after_it_was_replaced():
        service.newest.served = new  # the second request has its model and is queued
        return await asked(service, "POST", "/infer", body)

    async def both():
        return await asyncio.gather(asked(service, "POST", "/infer", body), after_it_was_replaced())

    for response, model in zip(asyncio.run(both()), models, strict=False):
        want = answers(model)
        assert response.json == want | {"documents": want["documents"][:9]}


def test_unusable_new_file_is_logged_once(replaced, models, caplog):
    service, path = replaced
    caplog.set_level(logging.INFO, "opelda.serve")
    infer(service, TEXTS)  # starts to follow the file
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    until(lambda: "corrupted" in caplog.text)
    counts = opelda.corpus.generate(50, n_words=20, n_topics=2).X
    opelda.save(opelda.OnlineOPE(2, random_state=0).fit(counts), path)
    until(lambda: "counts and has no words" in caplog.text)
    assert infer(service, TEXTS).json == answers(models[0])
    opelda.save(models[1], path)
    until(lambda: service.newest.served.version == answers(models[1])["version"])
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 2


def test_served_model_is_a_copy():
    model = make_model(7)
    service, before = make_app(model, n_jobs=1), answers(model)
    model.partial_fit(make_texts(30, seed=9))
    model.set_topic_labels({0: "another"})
    assert json.dumps(infer(service, TEXTS).json) == json.dumps(before)
    service.close()


def test_checkpoint_folder_is_served(tmp_path, quick):
    folder = tmp_path / "live"
    texts = make_texts(120)
    model = opelda.OnlineOPE(3, random_state=0, batch_size=30)
    model.fit_stream(texts[:60], checkpoint=folder)
    service = make_app(folder)
    first = infer(service, TEXTS).json["version"]
    model = opelda.OnlineOPE(3, random_state=0, batch_size=30)
    model.fit_stream(texts, checkpoint=folder)
    until(lambda: service.newest.served.version != first)
    service.close()

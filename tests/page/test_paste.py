"""A pasted text has the mixture and the loss that Python infers."""

import json

import numpy as np
import pytest

from opelda.inference import infer

TEXTS = {
    "short": "The Judge and the JURY!",
    "two themes": "the court heard the doctor, the hospital and the patient; a verdict on the drug",
    "long": "bank market profit rocket moon galaxy orbit recipe butter goal season coach " * 40,
    "half unknown": "Xylophone zebra, 12 naïve straße 😀 שלום; a court",
}


@pytest.mark.parametrize("name", TEXTS)
def test_pasted_text_matches_python(open_page, report, name):
    page = open_page(f"{report.url}#/paste")
    page.fill("textarea", TEXTS[name])
    found = page.wait_for_selector("figure[data-theta]")
    theta = np.array(json.loads(found.get_attribute("data-theta")))
    loss = float(found.get_attribute("data-loss"))
    expected = report.model.infer([TEXTS[name]])
    np.testing.assert_allclose(theta, expected.theta[0], atol=1e-3)
    # Python accepts a bound of 0.01, so the distance from the optimum is compared
    X = report.model._checked([TEXTS[name]])
    prior = report.model.doc_topic_prior
    best = infer(X, report.model, doc_topic_prior=prior, method="exact", max_loss=1e-5)
    behind = best.log_likelihood[0] - expected.log_likelihood[0]
    assert loss == pytest.approx(behind, abs=1e-3)
    assert loss <= expected.loss[0] + 1e-3


def test_text_without_a_known_word_has_no_mixture(open_page, report):
    page = open_page(f"{report.url}#/paste")
    page.fill("textarea", "Xylophone zebra, 12 naïve straße 😀 שלום")
    assert "no words of the vocabulary" in page.inner_text(".certificate")
    assert page.locator("figure[data-theta]").count() == 0


def test_long_text_is_inferred_in_full_and_abbreviated(open_page, report):
    page = open_page(f"{report.url}#/paste")
    page.fill("textarea", "court " * 30_000)
    page.wait_for_selector("text=30,000 words that the model knows")
    assert page.locator(".text .of").count() < 5000


def test_words_are_coloured_by_topic(open_page, report):
    page = open_page(f"{report.url}#/paste")
    page.fill("textarea", "The Court, the rocket")
    page.wait_for_selector(".text .of")
    assert page.locator(".text .of").all_text_contents() == ["Court", "rocket"]
    theta = report.model.transform(["The Court, the rocket"])[0]
    names = list(report.model.vocabulary_)
    for word, place in (("court", 0), ("rocket", 1)):
        topic = int((theta * report.model.components_[:, names.index(word)]).argmax())
        assert page.locator(".text .of").nth(place).get_attribute("data-topic") == str(topic)


def test_text_is_kept_between_views_and_an_example_is_offered(open_page, report):
    page = open_page(f"{report.url}#/paste")
    page.click("text=Try a document of the page")
    page.wait_for_selector("figure[data-theta]")
    text = page.input_value("textarea")
    assert text in report.texts
    page.click("nav >> text=Topics")
    page.wait_for_selector("table.topics")
    page.click("nav >> text=Your text")
    page.wait_for_selector("textarea")
    assert page.input_value("textarea") == text

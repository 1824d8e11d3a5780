"""Every learner is a scikit-learn estimator."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

from opelda import (
    MLOPE,
    OnlineCGS,
    OnlineCVB0,
    OnlineOPE,
    OnlineVB,
    StreamingOPE,
    StreamingVB,
    TopicModel,
)
from opelda.inference import FW

LEARNERS = [
    TopicModel(),
    TopicModel(preset="fast"),
    OnlineOPE(),
    TopicModel(preset="paper", learning="sgrld"),
]
OTHERS = [
    MLOPE(),
    StreamingOPE(),
    OnlineVB(),
    StreamingVB(),
    OnlineCVB0(),
    OnlineCGS(),
    OnlineOPE(transform_method="same"),
    TopicModel(preset="paper"),
    TopicModel(preset="fast", transform_method="same"),
    TopicModel(preset="paper", inference=FW(n_iter=20), learning="ml"),
    TopicModel(preset="paper", inference="cvb", learning="streaming"),
    TopicModel(preset="paper", learning="scvb0"),
]


@pytest.mark.parametrize("estimator", LEARNERS, ids=repr)
def test_scikit_learn_checks(estimator):
    check_estimator(estimator, on_skip=None)


@pytest.mark.parametrize("estimator", OTHERS, ids=repr)
def test_scikit_learn_checks_of_other_learners(estimator):
    check_estimator(estimator, on_skip=None)

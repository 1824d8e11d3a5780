"""Every learner is a scikit-learn estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

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
    TopicModel(transform_method="same"),
    TopicModel(preset="paper", inference=FW(n_iter=20), learning="ml"),
    TopicModel(preset="paper", inference="cvb", learning="streaming"),
    TopicModel(preset="paper", learning="scvb0"),
]


@parametrize_with_checks(LEARNERS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(OTHERS)
def test_scikit_learn_checks_of_the_others(estimator, check):
    check(estimator)

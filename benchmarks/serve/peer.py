"""A service of FastAPI around scikit-learn's LDA, as one would write it: the topics are opelda's.

python -m benchmarks.serve.peer MODEL PORT
"""

import sys

import numpy as np


def service(path: str):
    """Return the application."""
    from fastapi import FastAPI
    from pydantic import BaseModel
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    import opelda

    model = opelda.load(path)
    counter = CountVectorizer(vocabulary=list(model.vocabulary_.words))
    lda = LatentDirichletAllocation(model.n_components, random_state=0)
    lda.partial_fit(np.ones((1, model.n_features_in_)))  # only sets attributes
    lda.components_ = lda.exp_dirichlet_component_ = model.components_.astype(np.float64)
    labels = model.topic_labels_
    app = FastAPI()

    class Texts(BaseModel):
        texts: list[str]

    @app.post("/infer")
    def infer(asked: Texts) -> dict:
        theta = lda.transform(counter.transform(asked.texts))
        return {
            "documents": [
                {
                    "topics": [
                        {"topic": int(k), "label": labels[k], "weight": round(float(row[k]), 6)}
                        for k in np.argsort(-row)
                        if row[k] >= 0.01
                    ]
                }
                for row in theta
            ]
        }

    return app


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(service(sys.argv[1]), port=int(sys.argv[2]), access_log=False, log_level="error")

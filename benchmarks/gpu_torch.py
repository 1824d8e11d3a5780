"""EM on all topics, documents padded and sorted by length: what one would write in PyTorch."""

from __future__ import annotations

import numpy as np
from scipy import sparse

N_ITER = 7
AT_ONCE = 8192  # documents


def mixtures(components: np.ndarray, X: sparse.csr_array) -> np.ndarray:
    import torch

    n_topics, order = len(components), np.argsort(np.diff(X.indptr))
    beta = torch.tensor(np.ascontiguousarray(components.T), device="cuda")
    beta = beta / beta.sum(dim=0)
    theta = np.empty((X.shape[0], n_topics), np.float32)
    for first in range(0, len(order), AT_ONCE):
        docs = order[first : first + AT_ONCE]
        part, n_words = X[docs], np.diff(X.indptr)[docs]
        at = np.arange(n_words.max()) < n_words[:, None]
        words, counts = np.zeros(at.shape, np.int64), np.zeros(at.shape, np.float32)
        words[at], counts[at] = part.indices, part.data
        rows = beta[torch.from_numpy(words).cuda()]
        d = torch.from_numpy(counts).cuda()
        mixture = torch.full((len(docs), n_topics), 1 / n_topics, device="cuda")
        for _ in range(N_ITER):
            x = torch.bmm(rows, mixture[:, :, None])[:, :, 0]
            n = mixture * torch.bmm(rows.transpose(1, 2), (d / x)[:, :, None])[:, :, 0]
            mixture = (n + 1 / n_topics) / (d.sum(dim=1, keepdim=True) + 1)
        theta[docs] = mixture.cpu().numpy()
    return theta

"""A collection that is swept: here, or in parts on many machines."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from opelda.engines import Engine
from opelda.engines.seam import Prior, SizeHistogram, TokenCounts, Weights


class Collection(Protocol):
    """Documents whose tokens are swept, wherever these are."""

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        ...

    @property
    def n_tokens(self) -> int:
        """Number of tokens that are drawn."""
        ...

    @property
    def total(self) -> float:
        """Their weight."""
        ...

    def sweep(
        self,
        weights: Weights,
        alpha: NDArray[np.float64],
        *,
        counts: TokenCounts | None,
        prior: Prior | None,
        seed: int,
    ) -> TokenCounts:
        """Draw every token's topic and count them; see `Engine.sweep`."""
        ...

    def histogram(self, share: float) -> SizeHistogram:
        """Count documents as last drawn by their tokens per topic; see `Engine.histogram`."""
        ...


@dataclass(frozen=True)
class Held:
    """Tokens that an engine of this process has."""

    engine: Engine
    tokens: Any

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.tokens.rows.n_docs)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.tokens.first[-1])

    @property
    def total(self) -> float:
        """Their weight."""
        return float(self.tokens.total)

    def sweep(self, weights: Weights, alpha: NDArray[np.float64], **how: Any) -> TokenCounts:
        """Draw and count."""
        return self.engine.sweep(weights, self.tokens, alpha, **how)

    def histogram(self, share: float) -> SizeHistogram:
        """Count documents."""
        return self.engine.histogram(self.tokens, share)

"""The CUDA engine: topics, documents and tokens on a GPU; what has no kernel there runs here."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines import _cpu_tables as tables
from opelda.engines import _cuda_sweeps as sweeps
from opelda.engines._cpu import CPUEngine
from opelda.engines._cpu_updates import check_words
from opelda.engines._cuda_device import Device
from opelda.engines._cuda_sweeps import CudaTokens
from opelda.engines._cuda_tables import CudaTable, CudaWeights
from opelda.engines._documents import Documents
from opelda.engines._tokens import TokenCounts, Tokens
from opelda.engines._weights import HostWeights, Prior, Weights


class CudaEngine(CPUEngine):
    """Runs on a GPU of NVIDIA's.

    Parameters
    ----------
    device : int
        Which one.
    n_threads : int or None
        Threads of what is done by the processor.
    """

    def __init__(self, device: int = 0, n_threads: int | None = None) -> None:
        super().__init__(n_threads)
        self.device = Device(device)
        self.name = "cuda" if device == 0 else f"cuda:{device}"

    def __repr__(self) -> str:
        return f"CudaEngine(device={self.device.number})  # {self.device.title}"

    def weights(self, host: HostWeights) -> CudaWeights:
        """Take weights; see `Engine.weights`."""
        return self._owned(super().weights(host))

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> CudaWeights:
        """Make the weights that learning starts with; see `Engine.random_weights`."""
        return self._owned(super().random_weights(n_words, n_topics, prior, seed))

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> CudaTable:
        """Take fixed topics; see `Engine.topics`."""
        with self.device.busy():
            return CudaTable.of_topics(self.device, components, ids)

    def tokens(  # type: ignore[override]
        self,
        documents: Documents,
        n_topics: int,
        *,
        copies: NDArray[np.integer] | None = None,
        shift: int | None = None,
        topics: NDArray[np.uint16] | None = None,
    ) -> CudaTokens:
        """Make tokens; see `Engine.tokens`."""
        tokens = Tokens.of(documents, n_topics, copies, shift)
        with self.device.busy():
            return CudaTokens.laid_out(self.device, tokens, topics)

    def sweep(  # type: ignore[override]
        self,
        weights: CudaWeights | None,
        tokens: CudaTokens,
        alpha: NDArray[np.float64],
        *,
        counts: TokenCounts | None = None,
        prior: Prior | None = None,
        seed: int,
        n_draws: int = 1,
    ) -> TokenCounts:
        """Draw and count; see `Engine.sweep`."""
        how: dict[str, Any] = {"seed": seed, "n_draws": n_draws}
        with self.device.busy():
            return sweeps.sweep(weights, tokens, alpha, counts, prior, **how)

    def blend(  # type: ignore[override]
        self, weights: CudaWeights, counts: TokenCounts, share: float
    ) -> None:
        """Average; see `Engine.blend`."""
        with self.device.busy():
            sweeps.blend(weights, counts, share)

    def histogram(self, tokens: CudaTokens, share: float) -> Any:  # type: ignore[override]
        """Count documents; see `Engine.histogram`."""
        with self.device.busy():
            return tokens.histogram(share)

    def read(self, weights: Weights, words: NDArray[np.int32] | None = None) -> NDArray[np.float32]:
        """Return topics; see `Engine.read`."""
        if words is not None:
            check_words(words, weights.n_words)
        with self.device.busy():
            table = self._whole(weights) if words is None else self._some(weights, words)
            topics: NDArray[np.float32] = table.rows[:, : weights.n_topics].T
        topics.flags.writeable = False
        return topics

    def _owned(self, weights: Weights) -> CudaWeights:
        """Return the same weights as the GPU has them."""
        given = {
            name: getattr(weights, name) for name in ("scale", "prior_weight", "sums", "prior")
        }
        return CudaWeights(
            self.device, self.name, weights.rows, weights.n_topics, given.pop("prior"), **given
        )

    def _whole(self, topics: Any) -> CudaTable:
        """Return the topics of every word; those of weights are cached until they change."""
        if isinstance(topics, CudaTable):
            return topics
        table: CudaTable | None = topics.derived
        if table is None:
            version = topics.version  # before reading: another thread may change them meanwhile
            table = CudaTable.of_weights(topics, None)
            topics.keep(table, version)
        return table

    def _some(self, weights: Any, words: NDArray[np.int32]) -> CudaTable:
        return CudaTable.of_weights(weights, words)

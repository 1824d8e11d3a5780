"""Messages without a GPU, without CuPy, with an old driver or with too little memory."""

import logging
import shutil
import subprocess
import sys
from contextlib import nullcontext
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from opelda import TopicModel
from opelda.engines import (
    AN_INFERENCE,
    LEAST_WORK,
    CPUEngine,
    Engine,
    get_engine,
)
from opelda.engines.cuda import _device as _cuda_device
from opelda.engines.cuda import _documents as _cuda_documents
from opelda.engines.seam import Documents
from opelda.errors import EngineError
from opelda.inference import infer
from tests.cases import cases


@pytest.fixture(autouse=True)
def clear_device_cache():
    """Clear the cached GPU detection before and after the test."""
    _cuda_device.device_of.cache_clear()
    yield
    _cuda_device.device_of.cache_clear()


class FakeError(RuntimeError):
    """An error of CUDA's runtime."""

    def __init__(self, status):
        self.status = status


def fake(monkeypatch, *, status=None, n_devices=0, driver=0):
    """Replace CuPy by a fake with `n` GPUs, or one whose detection fails."""

    def count():
        if status is not None:
            raise FakeError(status)
        return n_devices

    runtime = SimpleNamespace(
        CUDARuntimeError=FakeError,
        getDeviceCount=count,
        driverGetVersion=lambda: driver,
        runtimeGetVersion=lambda: 13000,
        memGetInfo=lambda: (2_000_000_000, 8_000_000_000),
    )
    memory = SimpleNamespace(OutOfMemoryError=MemoryError)
    cuda = SimpleNamespace(runtime=runtime, memory=memory, Device=lambda number: nullcontext())
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))


def test_cupy_is_imported_only_for_the_cuda_engine(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert isinstance(get_engine("cpu"), CPUEngine)
    with pytest.raises(EngineError, match=r"needs CuPy.*pip install 'opelda\[cuda\]'"):
        get_engine("cuda")


def test_learners_report_a_missing_gpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(EngineError, match="needs CuPy"):
        TopicModel(2, engine="cuda").fit(np.eye(4))


@cases("how", [{"status": 100}, {"status": 35}, {"n_devices": 0}])
def test_missing_gpu_is_reported(monkeypatch, how):
    fake(monkeypatch, **how)
    with pytest.raises(EngineError, match="No GPU was found on this machine; use the engine 'cpu'"):
        get_engine("cuda")


def test_cuda_engine_implements_every_call(monkeypatch):
    fake(monkeypatch, n_devices=1)
    engine = get_engine("cuda", 2)
    assert not isinstance(engine, CPUEngine)
    assert type(engine.host) is CPUEngine
    assert engine.host.n_threads == 2
    assert {name for name in vars(Engine) if name[0] != "_"} <= set(dir(engine))


def test_unknown_gpu_number_is_rejected(monkeypatch):
    fake(monkeypatch, n_devices=1)
    with pytest.raises(EngineError, match="No GPU number 1"):
        get_engine("cuda:1")


@cases("name", ["cuda:", "cuda:x", "cuda:-1", "cuda1"])
def test_bad_gpu_names_are_rejected(name):
    with pytest.raises(EngineError, match=f"Unknown engine '{name}'"):
        get_engine(name)


def test_old_driver_is_reported(monkeypatch):
    fake(monkeypatch, status=35, driver=12020)
    with pytest.raises(EngineError, match="GPU driver is too old for CuPy's CUDA 13"):
        get_engine("cuda")


def test_too_little_memory(monkeypatch):
    fake(monkeypatch, n_devices=1)
    device = _cuda_device.Device()
    with pytest.raises(EngineError, match=r"Out of GPU memory: 2\.0 of 8\.0 GB"), device.busy():
        raise MemoryError


@cases("most", [1, 200, 1000, 10**6])
def test_blocks_keep_document_order(monkeypatch, most):
    monkeypatch.setattr(_cuda_documents, "AT_ONCE", most)
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, (30, 12)).astype(np.float32))
    rows = Documents(X).part()
    places, blocks = zip(*_cuda_documents.in_blocks(rows, 5), strict=True)
    assert np.array_equal(np.concatenate([np.arange(30)[at] for at in places]), np.arange(30))
    assert (len(blocks) == 1) is (most == 10**6)
    assert (max(block.n_docs for block in blocks) == 1) is (most == 1)
    assert all(8 * len(b.words) + 68 * b.n_docs <= most for b in blocks if b.n_docs > 1)
    assert np.array_equal(np.concatenate([np.diff(b.indptr) for b in blocks]), np.diff(rows.indptr))
    for name in ("words", "counts"):
        joined = np.concatenate([getattr(block, name) for block in blocks])
        assert np.array_equal(joined, getattr(rows, name))
    assert len(_cuda_documents.in_blocks(Documents(X[:0]).part(), 5)) == 1


def test_auto_chooses_the_cpu_and_logs_once(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "cupy", None)
    _cuda_device.tell.cache_clear()
    with caplog.at_level(logging.INFO, "opelda"):
        for _ in range(2):
            assert type(get_engine("auto", 2)) is CPUEngine  # small collections log nothing
            assert type(get_engine("auto", 2, LEAST_WORK)) is CPUEngine
    assert [record.message for record in caplog.records] == [
        "engine='auto' selects the CPU. The engine 'cuda' needs CuPy, which cannot be imported; "
        "run pip install 'opelda[cuda]', or use the engine 'cpu'."
    ]


def test_auto_chooses_the_faster_engine(monkeypatch):
    asked = []

    def found(engine, n_jobs, work, weights):
        asked.append(work)
        return get_engine("cpu", n_jobs)

    monkeypatch.setattr("opelda.learning._plan.get_engine", found)
    X = np.random.default_rng(0).poisson(1.0, (20, 8)).astype(np.float32)
    model = TopicModel(2, random_state=0, n_passes=3, n_sweeps=2, engine="auto").fit(X)
    n_entries = np.count_nonzero(X)
    assert 32 * n_entries in asked
    asked.clear()
    model.transform(X)
    assert asked == [AN_INFERENCE * n_entries]


KERNELS = files("opelda.engines") / "cuda"


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile kernels")
@pytest.mark.parametrize("name", sorted(f.name for f in KERNELS.iterdir() if f.name[-3:] == ".cu"))
def test_kernels_compile(tmp_path, name):
    source = tmp_path / name
    source.write_text((KERNELS / "common.cuh").read_text() + (KERNELS / name).read_text())
    subprocess.run(["nvcc", *_cuda_device.OPTIONS, "-ptx", name], cwd=tmp_path, check=True)


def test_gpu_arrays_are_valid_counts(monkeypatch):
    """CuPy's own are tested where there is a GPU; these are like them."""

    class Array(SimpleNamespace):
        device = 0

        def get(self):
            return self.values

    module = SimpleNamespace(asarray=lambda found: ("there", found))
    monkeypatch.setitem(sys.modules, "cupy", module)
    for name in ("cupyx", "cupyx.scipy", "cupyx.scipy.sparse"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(sparse=None))
    X = np.random.default_rng(0).poisson(1.0, (20, 8)).astype(np.float32)
    model = TopicModel(2, random_state=0, n_sweeps=2).fit(Array(values=X))
    where, found = model.transform(Array(values=X))
    assert where == "there"
    assert np.array_equal(found, model.transform(X))
    for inferred in (model.infer(Array(values=X)), infer(Array(values=X), model, method="em")):
        where, found = inferred.theta
        assert where == "there"
        assert found.shape == (20, 2)
        assert isinstance(inferred.gap, np.ndarray)

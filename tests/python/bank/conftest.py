"""What the tests of banks share."""

import bank_files
import onnx
import pytest
from one_workload import ROWS, SET, SOC_VERSION, default_of
from onnx_models import model, node


@pytest.fixture
def rows():
    return ROWS


@pytest.fixture
def relu(tmp_path, rows):
    """A model of one workload."""
    made = model(
        [node("y = Relu(x)", name="only")],
        {"x": ("float32", [rows, 50])},
        {"y": ("float32", [rows, 50])},
    )
    onnx.save(made, tmp_path / "relu.onnx")
    return tmp_path / "relu.onnx"


@pytest.fixture
def default(relu):
    """The text of the workload and its default policy."""
    return default_of(relu)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where the bank is looked for; nothing is there yet."""
    (tmp_path / "banks").mkdir()
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path / "banks"))
    return tmp_path / "banks" / SOC_VERSION / "op.db"


@pytest.fixture
def tuned(default):
    """An entry whose policy is not the default one."""
    workload, policy = default
    return bank_files.entry(workload, f"threads 1\n{policy}", SOC_VERSION, instruction_set=SET)


@pytest.fixture
def bank(place, tuned):
    return bank_files.write(place, SOC_VERSION, [tuned])

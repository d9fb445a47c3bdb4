"""Load and run ONNX models.

>>> model = aoe.load("model.onnx")
>>> model.inputs
[TensorInfo(name='image', dtype='float32', shape=('N', 3, 224, 224))]
>>> model.run({"image": image})["scores"]
"""

from aoe._aoe import Error, version
from aoe._bank import Bank
from aoe._model import Model, TensorInfo, load

__version__ = version()
__all__ = ["Bank", "Error", "Model", "TensorInfo", "__version__", "load"]

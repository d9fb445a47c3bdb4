"""Generates ONNX models: the graphs that PyTorch's exporter writes, without PyTorch.

`builder` is the way to say a graph, `layers` its usual parts, `weights` where numbers come from;
`zoo` the catalogue, `real` models that packages carry; each other module is a family of models.
"""

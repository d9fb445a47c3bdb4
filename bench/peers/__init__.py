"""The participants: one module each, run in a process and an environment of its own.

The constants of a module can be read without the peer's package, which `load` imports.
"""

OURS = "aoe"
# The peers that are asked to run everything: each row is judged by the faster one of them.
RIVALS = ("onnxruntime", "openvino")
# Another build of ours, if one is given.
BEFORE = "aoe_before"
# Ours tuned once more, with Strassen's algorithm allowed, if that is asked for.
STRASSEN = "aoe_strassen"

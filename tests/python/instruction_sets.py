"""The instruction sets of this machine that kernels can be made for."""

import json

from cli import succeeds

# All that work but the widest, which is taken where nothing else is said.
NARROWER: list[str] = json.loads(succeeds("devices", "--json"))["instruction_sets"][:-1]

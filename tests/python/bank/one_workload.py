"""A model of one workload, and what a bank has for it."""

import json
import subprocess

import bank_files
import om_files

from cli import BINARY, succeeds

DEVICE = json.loads(succeeds("devices", "--json"))
SOC_VERSION = DEVICE["soc_version"]
SET = DEVICE["instruction_sets"][-1]
ROWS = 64
# Of a model to be timed: below some ten microseconds the two sides of an A/A comparison differ.
TIMED_ROWS = 16384


def compiled(relu):
    """The model's only workload: its key, and the policy that it is compiled by."""
    succeeds("compile", relu, "-o", relu.with_suffix(".om"), "--threads", 1)
    (policy,) = om_files.read(relu.with_suffix(".om")).structure.policies
    return f"{policy.workload:016x}", policy.text.decode()


def default_of(relu):
    """The text of the workload and its default policy."""
    key, policy = compiled(relu)
    printed = subprocess.run(
        [BINARY.parent / "workload_texts", relu], capture_output=True, text=True, check=True
    ).stdout
    workloads = [f"in {text.rstrip()}\n" for text in ("\n" + printed).split("\nin ")[1:]]
    texts = {bank_files.hash_of(text.encode()): text for text in workloads}
    return texts[key], policy


def exported_line(entry, folder):
    return succeeds(
        "bank", "export", "--bank", bank_files.write(folder / "x.db", SOC_VERSION, [entry])
    )

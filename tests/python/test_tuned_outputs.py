"""The outputs of trained models, tuned against untuned (tuned_outputs.py)."""

import pytest
from tuned_outputs import TOLERANCE, TRAINED, Trained, sampled, tuned

# Silero VAD computes in the branches of an If, which are not tuned.
MODELS = [name for name in TRAINED if name != "silero_vad"]
BUDGET = "12s"


@pytest.mark.parametrize("name", MODELS)
def test_random_policies_of_the_search_space_give_the_same_outputs(name, tmp_path):
    model = Trained.made(name, tmp_path)
    by_samples = sampled(model, seed=0)
    # Every workload runs by another policy than the default.
    assert by_samples.hits == by_samples.workloads >= 15
    assert by_samples.classes["strassen"] == 0
    assert by_samples.error < TOLERANCE


def test_random_policies_with_strassen_give_the_same_outputs(tmp_path):
    model = Trained.made("rapidocr_detection", tmp_path)
    by_samples = sampled(model, seed=0, strassen=True)
    assert by_samples.hits == by_samples.workloads
    assert by_samples.classes["strassen"] > 0
    assert by_samples.error < TOLERANCE


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", ["magika", "minilm"])
def test_a_tuned_model_gives_the_same_outputs(name, tmp_path):
    model = Trained.made(name, tmp_path)
    job = tuned(model, BUDGET)
    assert job.hits == job.kept
    # On a noisy machine so short a job may keep nothing, and then nothing may change.
    most = TOLERANCE if job.kept > 0 else 0
    assert job.error <= most
    assert job.om_error <= most

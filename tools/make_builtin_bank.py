"""Tunes typical networks that no benchmark has, and exports what was proven: the built-in bank.

make_builtin_bank.py AOE FOLDER [--budget 10m] [--threads 1,2] [--models a,b] writes
FOLDER/<soc_version>.jsonl, in which entries of an earlier run stay unless they were proven worse.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from models import bert, efficientnet, gpt2, mobilenetv2, resnet, unet, vit
from models.builder import WeightSource, serialize
from models.weights import seeded
from onnx import ModelProto


def widened(widths: tuple[int, ...], stem: int, head: int) -> Callable[[WeightSource], ModelProto]:
    """A MobileNetV2 of one of the other published widths."""
    usual = mobilenetv2.MobileNetV2Config()
    stages = tuple(
        replace(stage, channels=width) for stage, width in zip(usual.stages, widths, strict=True)
    )
    config = replace(usual, stages=stages, stem=stem, head=head)
    return lambda weights: mobilenetv2.mobilenetv2(config, weights)


def deepened(blocks: tuple[int, ...]) -> Callable[[WeightSource], ModelProto]:
    """An EfficientNet as wide as B0."""
    usual = efficientnet.EfficientNetConfig()
    stages = tuple(
        replace(stage, blocks=count) for stage, count in zip(usual.stages, blocks, strict=True)
    )
    config = replace(usual, stages=stages)
    return lambda weights: efficientnet.efficientnet(config, weights)


# Networks that are in wide use, none of which the benchmark has (models/zoo.py): what is built in
# must not be the benchmark's answers. Workloads that they share with other networks are hits there.
MODELS = {
    "resnet34": lambda w: resnet.resnet(resnet.ResNetConfig(blocks=(3, 4, 6, 3)), w),
    "resnet101": lambda w: resnet.resnet(
        resnet.ResNetConfig(blocks=(3, 4, 23, 3), bottleneck=True), w
    ),
    "mobilenetv2_140": widened((24, 32, 48, 88, 136, 224, 448), 48, 1792),
    "mobilenetv2_075": widened((16, 24, 24, 48, 72, 120, 240), 24, 1280),
    "efficientnet_b1": deepened((2, 3, 3, 4, 4, 5, 2)),
    "vit_tiny_21k": lambda w: vit.vit(vit.ViTConfig(classes=21843), w),
    "deit_small": lambda w: vit.vit(vit.ViTConfig(hidden=384, heads=6, intermediate=1536), w),
    "distilbert_128": lambda w: bert.bert(bert.BertConfig(layers=6, tokens=128), w),
    "distilbert_512": lambda w: bert.bert(bert.BertConfig(layers=6, tokens=512), w),
    "minilm_128": lambda w: bert.bert(
        bert.BertConfig(layers=6, hidden=384, intermediate=1536, tokens=128), w
    ),
    "distilgpt2_step": lambda w: gpt2.gpt2_step(gpt2.GPT2Config(layers=6, cache=256), w),
    "unet_gray": lambda w: unet.unet(unet.UNetConfig(channels=1, classes=2), w),
}


def run(aoe: str, *words: object, **environment: str) -> str:
    command = [aoe, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def tune(aoe: str, name: str, threads: str, budget: str, banks: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / f"{name}.onnx"
        model.write_bytes(serialize(MODELS[name](seeded())))
        print(f"tuning {name} on {threads} threads for {budget}", flush=True)
        run(
            aoe, f"--model={model}", "--job_type=2", f"--aicore_num={threads}",
            f"--budget={budget}", "--progress_bar=off",
            TUNE_BANK_PATH=str(banks), AOE_BUILTIN="off", ASCEND_WORK_PATH=folder,
        )  # fmt: skip


def is_built_in(entry: dict) -> bool:
    """What had no gain here may have one elsewhere; a gain must show in its final estimate too."""
    return bool(entry["policy"]) and entry["total_low"] > 1


def write(aoe: str, bank: Path, export: Path) -> None:
    lines = run(aoe, "bank", "export", "--bank", bank).splitlines()
    policies = [line for line in lines if is_built_in(json.loads(line))]
    export.parent.mkdir(parents=True, exist_ok=True)
    export.write_text("".join(f"{line}\n" for line in policies), encoding="utf-8")
    print(f"{export}: {len(policies)} policies", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("aoe")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", default="10m", help="of each model")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--models", default=",".join(MODELS), help=", ".join(MODELS))
    options = parser.parse_args()
    options.aoe = str(Path(options.aoe).resolve())
    soc_version = json.loads(run(options.aoe, "devices", "--json"))["soc_version"]
    export = (options.folder / f"{soc_version}.jsonl").resolve()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # for work spaces
        bank = Path(scratch) / soc_version / "op.db"
        if export.exists():
            run(options.aoe, "bank", "import", export, "--bank", bank)
        for threads in options.threads.split(","):
            for name in options.models.split(","):
                tune(options.aoe, name, threads, options.budget, Path(scratch))
                write(options.aoe, bank, export)


if __name__ == "__main__":
    main()

"""Results of the benchmark as bench/run.py writes them, for the tests of what is shown."""

PEERS = {"aoe": "aoe", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "iree": "IREE"}
TUNERS = {"tvm": "TVM"}
# The first is far slower than aoe, of the second no difference is shown.
RATIOS = {"onnxruntime": 0.01, "openvino": 1.0, "iree": 5.0}
PEAK = {"gflops": 80.0, "gbps": 20.0}


def ratio(value, width=0.01):
    return {"ratio": value, "low": value * (1 - width), "high": value * (1 + width)}


def time(ms):
    return {
        "status": "ok",
        "load_s": 0.1,
        "error": 2e-7,
        "turns_ms": [ms] * 24,
        "median_ms": ms,
        "min_ms": 0.9 * ms,
    }


def row(suite, case, threads=1, **more):
    ratios = {key: ratio(value) for key, value in RATIOS.items()}
    return {
        "suite": suite,
        "case": case,
        "title": f"Title of {case}",
        "threads": threads,
        "cpus": list(range(threads)),
        "flops": 400_000_000,
        "bytes": 1_000_000,
        "peak": dict(PEAK),
        "rounds": 24,
        "measured": {"aoe": time(10.0), **{key: time(10 * r) for key, r in RATIOS.items()}},
        "noise": ratio(1.002) | {"of": "onnxruntime", "turns_ms": [0.1] * 24},
        "ratios": ratios,
        "best": {"peer": "onnxruntime", **ratios["onnxruntime"]},
        **more,
    }


def failed(why):
    return {"status": "failed", "why": why}


def mean(suite, peer, value, rows, threads=1):
    return {"suite": suite, "threads": threads, "peer": peer, "rows": rows, **ratio(value)}


def tuning(case, participant, seconds, **more):
    """What a tuner did: it saw 5 ms at last."""
    return {
        "case": case,
        "title": f"Title of {case}",
        "participant": participant,
        "status": "ok",
        "threads": 1,
        "limits": {"trials": 3, "budget_s": 4},
        "trials": 3,
        "seconds": seconds,
        "flops": 55_000_000,
        "points": [[1.0, 9.0], [2.0, 5.0], [9.0, 5.0]],
        **more,
    }


def tuned(case):
    """What two tuners did, and the row of what they found: aoe 2.5 ms, by Winograd's algorithm with
    a layout before and after it, TVM twice that."""
    measured = {"aoe": time(2.5), "tvm": time(5.0)}
    found = row("tuning", case, measured=measured, ratios={"tvm": ratio(2.0)})
    del found["best"]
    ours = tuning(case, "aoe", 4.0, algorithms={"direct": 2, "winograd": 1})
    return [ours, tuning(case, "tvm", 100.0)], found


def results(rows, summary=(), tuners=()):
    named = PEERS | TUNERS
    return {
        "format": "aoe-bench 2",
        "date": "2026-11-16T07:00:00Z",
        "seconds": 1234.5,
        "command": "bench/run.py --threads 1",
        "quick": False,
        "machine": {
            "processor": "A Processor",
            "cores": 2,
            "vector": "AVX2",
            "caches": {"L1d": "32 KiB", "L2": "512 KiB"},
            "memory": "24 GB",
            "system": "Debian, Linux 6",
            "peak": {"1": dict(PEAK), "2": dict(PEAK)},
        },
        "participants": {
            key: {
                "name": name,
                "version": f"7.{index}",
                "settings": f"settings of {key}",
                "documentation": [f"https://example.org/{key}"],
                "note": None,
            }
            for index, (key, name) in enumerate(named.items())
        },
        "rows": list(rows),
        "summary": list(summary),
        "tuning": list(tuners),
        "training": [],
    }

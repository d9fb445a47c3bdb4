"""The command line as tests call it."""

import ctypes
import os
import resource
import subprocess
from pathlib import Path

BINARY = Path(os.environ.get("AOE_BINARY", Path(__file__).parents[2] / "build" / "aoe")).absolute()

LIBC = ctypes.CDLL(None, use_errno=True)
PR_CAPBSET_DROP = 24
# Those by which root reads and writes whatever permissions say: CAP_DAC_OVERRIDE and
# CAP_DAC_READ_SEARCH.
PASS_PERMISSIONS = (1, 2)

# Far beyond what any case takes, so that a busy machine is not taken for a hang.
TIMEOUT_S = 60
# No model of the tests needs a tenth of it: what asks for more has believed a bad file.
ADDRESS_SPACE = 4 << 30


def aoe(*args: object, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Runs `aoe` with little memory and little time, and captures what it writes.

    Permissions bind it, even if the tests run as root.
    """
    return subprocess.run(
        [str(BINARY), *map(str, args)],
        capture_output=True,
        check=False,
        cwd=cwd,
        timeout=TIMEOUT_S,
        preexec_fn=_limit,
    )


def succeeds(*args: object, cwd: Path | None = None) -> str:
    """What `aoe` printed; it must have ended well."""
    done = aoe(*args, cwd=cwd)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode()


def fails(*args: object, cwd: Path | None = None) -> str:
    """The message of `aoe`; it must have refused what it was given, with exit code 2."""
    done = aoe(*args, cwd=cwd)
    message = done.stderr.decode()  # Always UTF-8, whatever bytes the model holds.
    assert done.returncode == 2, f"exit code {done.returncode}, message: {message}"
    assert message.strip()
    assert "std::" not in message, f"an exception nobody translated: {message}"
    return message


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.geteuid() == 0:
        for capability in PASS_PERMISSIONS:
            if LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "a capability cannot be given up")

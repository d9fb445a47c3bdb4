"""The command line as tests call it."""

import os
import resource
import subprocess
from pathlib import Path

BINARY = Path(os.environ.get("AOE_BINARY", Path(__file__).parents[2] / "build" / "aoe")).absolute()

# Far beyond what any case takes, so that a busy machine is not taken for a hang.
TIMEOUT_S = 60
# No model of the tests needs a tenth of it: what asks for more has believed a bad file.
ADDRESS_SPACE = 4 << 30


def aoe(*args: object, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Runs `aoe` with little memory and little time, and captures what it writes."""
    return subprocess.run(
        [str(BINARY), *map(str, args)],
        capture_output=True,
        check=False,
        cwd=cwd,
        timeout=TIMEOUT_S,
        preexec_fn=_limit_memory,
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


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

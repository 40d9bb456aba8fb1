"""A real Linux kernel of another kind than the host's, for what the host's own can't do: IPVS, dummy devices.

    outcome = run_in_uml("tests.uml.hello", "any", "arguments")
    outcome.output      what the program printed, standard error included
    outcome.status      its exit status; None if the machine stopped before the program did
    outcome.console     what the kernel said, for when that happens

boots Debian's user-mode-linux (an ordinary process: neither KVM nor privileges, 2 to 5 s), runs
`python -m tests.uml.hello any arguments` as root inside it, and switches it off. The program sees the host's
files, read-only, at their usual places, with this repository and its sources on the import path; /run and
/tmp are its own, `/run/job` is the folder `shared` (given, or a temporary one) and may be written. Modules
load by themselves (`modprobe` too finds them). The network is a lone loopback device; network namespaces,
veth and bridges work, so `tests/netns/topology.py` does (`modprobe br_netfilter` first, as on a real node).
iptables is the legacy one. nftables for IP is there if `make uml-modules` could build it (`has_nftables`).

The machine has one processor, and starting a process there takes ten times as long as on the host. So that
what has to keep a time limit can (a probe of a second, three a second of them), its clock may go slower than
ours: with `slowness=4` a second inside takes four, and the machine seems four times as fast.

One boot should run many checks: print a line for each (`json.dumps`) and let pytest read them one by one.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

KERNEL = shutil.which("linux.uml") or ""
_HERE = Path(__file__).parent
_REPOSITORY = _HERE.parent.parent
_DEBIAN_MODULES = Path("/usr/lib/uml/modules")
_OUR_MODULES = Path(sys.prefix, "uml/lib/modules")


@dataclass(frozen=True, slots=True)
class Outcome:
    output: str
    status: int | None
    console: str

    def check(self) -> str:
        """The output of a program that has done its work; an error that tells the whole story otherwise."""
        if self.status != 0:
            raise AssertionError(
                f"status {self.status} inside user-mode Linux\n{self.output}\n--- console\n{self.console}"
            )
        return self.output


def is_available() -> bool:
    return bool(KERNEL)


@functools.cache
def has_nftables() -> bool:
    """Modules fit one version of the kernel only."""
    if not is_available():
        return False
    version = subprocess.run([KERNEL, "--version"], check=True, capture_output=True, text=True).stdout
    return (_OUR_MODULES / version.strip() / "modules.dep").exists()


def run_in_uml(
    module: str,
    *arguments: str,
    memory: str = "512M",
    timeout: float = 300,
    slowness: int = 1,
    shared: Path | None = None,
) -> Outcome:
    """`timeout` bounds the life of the machine, in our seconds; what was printed until then is returned."""
    with tempfile.TemporaryDirectory(prefix="fairway-uml-") as folder:
        job = shared or Path(folder, "job")
        job.mkdir(exist_ok=True)
        (job / "command").write_text(_command(module, *arguments))
        for name in ("output", "status"):
            (job / name).unlink(missing_ok=True)
        environment = _slow_clock(Path(folder), slowness) if slowness > 1 else {}
        console = _boot(job, Path(folder), memory, timeout, environment)
        return Outcome(_text(job / "output"), _status(job / "status"), console)


def _command(module: str, *arguments: str) -> str:
    path = os.pathsep.join((str(_REPOSITORY), str(_REPOSITORY / "src")))
    environment = ["env", f"PYTHONPATH={path}", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1"]
    return (
        shlex.join(["cd", str(_REPOSITORY)])
        + " && "
        + shlex.join([*environment, sys.executable, "-m", module, *arguments])
    )


def _slow_clock(folder: Path, slowness: int) -> dict[str, str]:
    library = folder / "slow_clock.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, _HERE / "slow_clock.c"], check=True)
    return {"LD_PRELOAD": str(library), "FAIRWAY_SLOWNESS": str(slowness)}


def _boot(job: Path, folder: Path, memory: str, timeout: float, environment: dict[str, str]) -> str:
    machine = [
        KERNEL,
        f"mem={memory}",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init={_HERE / 'init'}",
        f"FAIRWAY_JOB={job}",
        f"FAIRWAY_REPOSITORY={_REPOSITORY}",
        f"FAIRWAY_MODULES={_OUR_MODULES if has_nftables() else _DEBIAN_MODULES}",
        f"uml_dir={folder}/",
        "umid=machine",
        "con=null",
        "con0=null,fd:1",
        "loglevel=4",
        "panic=-1",
    ]
    with Path(folder, "console").open("wb") as console:
        # A session of its own: the kernel has a process for each of its own processes, and all must end.
        running = subprocess.Popen(
            machine,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
            env=os.environ | environment,
        )
        try:
            running.wait(timeout)
        except subprocess.TimeoutExpired:
            console.write(f"\nswitched off after {timeout} seconds\n".encode())
        finally:
            _end(running)
    return _text(folder / "console")


def _end(running: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(running.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    running.wait()


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _status(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text else None

"""The default profile of system calls."""

from __future__ import annotations

from typing import Any

from fairway.nodeagent.runtime.capabilities import DEFAULT, NAMES
from fairway.nodeagent.runtime.seccomp import BY_CAPABILITY, default_profile
from fairway.nodeagent.runtime.system_calls import FOR_EVERYONE


def allowed(profile: dict[str, Any]) -> set[str]:
    """Those that are allowed whatever their arguments."""
    rules = [rule for rule in profile["syscalls"] if "args" not in rule]
    return {name for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}


def test_what_concerns_the_whole_machine_is_refused() -> None:
    calls = allowed(default_profile(DEFAULT, "x86_64"))
    assert not calls & {"mount", "reboot", "init_module", "keyctl", "kexec_load", "bpf", "io_uring_setup"}
    assert calls >= {"read", "openat", "socket", "execve", "futex", "epoll_wait", "chroot"}


def test_what_is_not_named_is_refused() -> None:
    assert default_profile(DEFAULT, "x86_64")["defaultAction"] == "SCMP_ACT_ERRNO"


def test_no_call_that_needs_a_capability_is_given_to_everyone() -> None:
    for calls in BY_CAPABILITY.values():
        assert not set(calls) & set(FOR_EVERYONE)


def test_a_capability_allows_its_calls_and_no_others() -> None:
    assert allowed(default_profile(["CAP_SYS_TIME"], "x86_64")) - set(FOR_EVERYONE) == {
        "clock_settime",
        "clock_settime64",
        "settimeofday",
        "stime",
    }


def test_namespaces_are_made_only_by_those_who_may() -> None:
    plain = default_profile(DEFAULT, "x86_64")["syscalls"]
    [clone] = [rule for rule in plain if rule["names"] == ["clone"]]
    assert clone["args"] == [{"index": 0, "value": 0x7E020000, "op": "SCMP_CMP_MASKED_EQ"}]
    assert {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38} in plain
    assert {"clone", "clone3"} <= allowed(default_profile(["CAP_SYS_ADMIN"], "x86_64"))


def test_capabilities_are_those_that_there_are() -> None:
    assert set(BY_CAPABILITY) <= set(NAMES)


def test_programs_of_a_machines_other_kinds_are_filtered_too() -> None:
    assert "SCMP_ARCH_X86" in default_profile((), "x86_64")["architectures"]
    assert "architectures" not in default_profile((), "riscv64")

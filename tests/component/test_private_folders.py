"""Fairway installed and started where only root may look, while its servers run as lesser users."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import fairway
from fairway.lb.balancer.process import Haproxy
from tests.component.ingress_under_test import Front

CONFIGURATION = """
global
    stats socket {socket} mode 600 level admin
defaults
    mode tcp
    timeout connect 1s
    timeout client 1s
    timeout server 1s
frontend nobody
    bind unix@{folder}/nobody.sock
"""


async def test_haproxy_starts_from_a_folder_that_its_user_may_not_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    monkeypatch.chdir(private)
    with tempfile.TemporaryDirectory(prefix="fairway-test.") as parent:
        os.chmod(parent, 0o755)  # noqa: S103
        haproxy = Haproxy(Path(parent) / "balancer")
        haproxy.prepare()
        try:
            await haproxy.start(CONFIGURATION.format(socket=haproxy.next_socket, folder=haproxy.folder))
            assert haproxy.is_running
        finally:
            await haproxy.stop()


async def test_nginx_needs_nothing_from_where_fairway_is_installed(served: Front) -> None:
    settings = served.nginx.settings
    assert str(Path(fairway.__file__).parent) not in (settings.folder / "nginx.conf").read_text()
    programs = list(settings.lua.rglob("*.lua"))
    assert programs
    assert all(program.stat().st_mode & 0o004 for program in programs)

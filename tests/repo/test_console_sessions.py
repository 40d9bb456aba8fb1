"""How sessions in documents are read."""

from __future__ import annotations

from tests.e2e.console import Step, steps

DOCUMENT = """Text.

```console
$ kubectl get svc
NAME   AGE
web    5s
$ echo a \\
> b
```

```sh
$ not this
```

```console
$ kubectl delete svc web
```
"""


def test_commands_and_what_they_show_are_found_in_console_blocks_only() -> None:
    found = list(steps(DOCUMENT))
    assert [step.command for step in found] == ["kubectl get svc", "echo a \\\nb", "kubectl delete svc web"]
    assert [step.expected for step in found] == [("NAME   AGE", "web    5s"), (), ()]


def test_only_commands_that_look_are_repeated() -> None:
    assert [step.changes_something for step in steps(DOCUMENT)] == [False, False, True]


def test_an_ellipsis_stands_for_anything_within_a_line_or_for_lines() -> None:
    step = Step("x", ("web  10.…  80/TCP", "…", "end"))
    assert step.is_met_by("web    10.96.0.1   80/TCP\n\nend\n")
    assert step.is_met_by("web 10.96.0.1 80/TCP\nmore\nand more\nend")
    assert not step.is_met_by("web 11.96.0.1 80/TCP\nend")
    assert not step.is_met_by("web 10.96.0.1 80/TCP\nend\nmore")

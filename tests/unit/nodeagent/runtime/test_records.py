import json
import os
from pathlib import Path

from fairway.nodeagent.runtime import records
from fairway.nodeagent.runtime.reaper import start_time
from fairway.nodeagent.runtime.records import Record


def write(folder: Path, **files: dict[str, object]) -> None:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


def test_a_start_that_was_cut_short_is_no_run(tmp_path: Path) -> None:
    assert records.load(tmp_path, 0) is None
    records.write(tmp_path, Record("id"))
    assert records.load(tmp_path, 0) is None


def test_a_living_process_is_known_by_its_number_and_its_start(tmp_path: Path) -> None:
    records.write(tmp_path, Record("id", attempt=2, crashes=1))
    pid = os.getpid()
    write(tmp_path, process={"pid": pid, "startTime": start_time(pid), "startedAt": 5.0})
    run = records.load(tmp_path, 9)
    assert run
    assert run.running
    assert (run.pid, run.attempt, run.crashes) == (pid, 2, 1)


def test_another_process_with_the_same_number_is_not_taken_for_it(tmp_path: Path) -> None:
    records.write(tmp_path, Record("id"))
    write(tmp_path, process={"pid": os.getpid(), "startTime": 1, "startedAt": 5.0})
    run = records.load(tmp_path, 9)
    assert run
    assert (run.exit_code, run.reason, run.finished_at) == (137, "ContainerStatusUnknown", 9)


def test_the_exit_code_is_what_the_reaper_wrote(tmp_path: Path) -> None:
    records.write(tmp_path, Record("id"))
    write(
        tmp_path,
        process={"pid": 1, "startTime": 1, "startedAt": 5.0},
        exit={"exitCode": 3, "signal": 0, "finishedAt": 7.0},
    )
    run = records.load(tmp_path, 9)
    assert run
    assert (run.exit_code, run.finished_at, run.reason) == (3, 7.0, "")


def test_a_refused_start_is_a_run_that_failed(tmp_path: Path) -> None:
    records.write(tmp_path, Record("id", failed_at=4.0, failure="no such file"))
    run = records.load(tmp_path, 9)
    assert run
    assert (run.exit_code, run.reason, run.message) == (128, "StartError", "no such file")


def test_runs_are_found_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 0):
        (tmp_path / str(number)).mkdir()
    assert [folder.name for folder in records.attempts(tmp_path)] == ["0", "9", "10"]

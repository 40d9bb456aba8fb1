import pytest

from fairway.api.errors import StatusError
from fairway.httpserver import Request
from fairway.nodeagent.server.conversation import Streams
from fairway.nodeagent.server.server import exec_request, log_options


def request(query: str) -> Request:
    return Request("GET", f"/exec/default/web/main?{query}", {})


@pytest.mark.parametrize(
    "query", ["stdin=true&stdout=true&stderr=true", "input=1&output=1&error=1"], ids=["api", "kubelet"]
)
def test_streams_are_named_as_the_api_or_as_kubelet_does(query: str) -> None:
    found = exec_request("id", request(f"command=ls&command=-l&{query}"))
    assert found.command == ("ls", "-l")
    assert found.streams == Streams(stdin=True, stdout=True, stderr=True, tty=False)


def test_a_terminal_has_one_output_only() -> None:
    found = exec_request("id", request("command=sh&stdin=1&stdout=1&stderr=1&tty=1"))
    assert (found.streams.tty, found.streams.stderr) == (True, False)


def test_a_command_is_needed() -> None:
    with pytest.raises(StatusError, match="at least 1 command"):
        exec_request("id", request("stdout=1"))


def test_log_options_are_read_and_nonsense_is_refused() -> None:
    found = log_options({"follow": "true", "tailLines": "5", "limitBytes": "100", "timestamps": "1"})
    assert (found.follow, found.tail_lines, found.limit_bytes, found.timestamps) == (True, 5, 100, True)
    assert log_options({"sinceTime": "2023-11-14T22:13:20Z"}).since == "2023-11-14T22:13:20.000000000Z"
    with pytest.raises(StatusError, match="bad log options"):
        log_options({"tailLines": "many"})

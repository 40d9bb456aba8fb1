import pytest

from fairway.images.reference import InvalidReference, parse


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.36", "docker.io/library/busybox:1.36"),
        ("docker.io/library/busybox", "docker.io/library/busybox:latest"),
        ("docker.io/busybox", "docker.io/library/busybox:latest"),
        ("index.docker.io/me/app:1", "docker.io/me/app:1"),
        ("me/app", "docker.io/me/app:latest"),
        ("k8s.gcr.io/serve_hostname", "k8s.gcr.io/serve_hostname:latest"),
        ("localhost:5000/app", "localhost:5000/app:latest"),
        ("localhost/app:dev", "localhost/app:dev"),
        (f"busybox:1@sha256:{'a' * 64}", f"docker.io/library/busybox@sha256:{'a' * 64}"),
    ],
)
def test_short_names_stand_for_full_ones(text: str, full: str) -> None:
    assert str(parse(text)) == full


@pytest.mark.parametrize(
    "text", ["", "UPPER", "busybox:", "a//b", "../etc", "busybox@sha256:12", "busybox:a/b", "a b"]
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidReference):
        parse(text)


def test_a_long_name_is_refused_quickly() -> None:
    with pytest.raises(InvalidReference):
        parse("a-" * 20_000 + "!.example/app")

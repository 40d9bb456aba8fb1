from pathlib import Path

from fairway.kernel.mounts import mounted_under

TABLE = r"""22 1 8:1 / / rw shared:1 - ext4 /dev/sda rw
23 22 0:5 / /data rw - tmpfs tmpfs rw
24 23 0:6 / /data/pods/a/volumes/v rw - tmpfs tmpfs rw
25 23 0:7 / /data/pods/a/with\040blank rw - tmpfs tmpfs rw
26 23 0:8 / /data/podsx rw - tmpfs tmpfs rw
"""


def test_mounts_below_a_folder_come_deepest_first_and_nothing_else() -> None:
    assert mounted_under(Path("/data/pods"), TABLE) == [
        Path("/data/pods/a/volumes/v"),
        Path("/data/pods/a/with blank"),
    ]


def test_a_mount_point_counts_as_below_itself() -> None:
    assert mounted_under(Path("/data"), TABLE)[-1] == Path("/data")

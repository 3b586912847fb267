"""The line that shows how far a download is."""

import time

from elmo_keras.models.transfer_progress import TransferProgress


def test_megabytes_speed_and_time_left_are_shown(monkeypatch, capsys):
    seconds = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: seconds[0])
    with TransferProgress(True) as progress:
        progress.skip(0.5)  # of 100 MB, by an earlier download
        seconds[0] = 40.0
        progress.add(25_000_000, 0.75)
    assert capsys.readouterr().err == " 75% · 25.0 MB · 0.6 MB/s · 0:00:40 left\n"

"""The progress of a download, in megabytes."""

from elmo_keras.cli.progress_line import Progress

MEGABYTE = 10**6


class TransferProgress(Progress):
    """Shows megabytes, megabytes a second and the time left.

    `add` takes bytes instead of tokens.
    """

    def _counted(self):
        megabytes = self._tokens / MEGABYTE
        return f"{megabytes:,.1f} MB", f"{megabytes / self.seconds:,.1f} MB/s"

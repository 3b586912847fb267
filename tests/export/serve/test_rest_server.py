import threading

from export.serve.rest_server import RestServer
from tests.support.waiting import PATIENCE


def rest_threads():
    return {thread for thread in threading.enumerate() if thread.name == "rest"}


def test_a_server_closes_at_once_and_leaves_no_error_in_its_thread():
    """A socket closed while the thread selects among the sockets is an error there."""
    others = rest_threads()
    for _ in range(50):
        server = RestServer(lambda *_: [], "127.0.0.1", 0, max_message_bytes=1)
        (thread,) = rest_threads() - others
        server.close(grace=0)
        thread.join(PATIENCE)
        assert not thread.is_alive()
        server.close(grace=0)

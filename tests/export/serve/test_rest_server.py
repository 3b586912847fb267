from export.serve.rest_server import RestServer


def test_a_server_closes_at_once_and_leaves_no_error_in_its_thread():
    """A socket closed while the thread selects among the sockets is an error there."""
    for _ in range(50):
        server = RestServer(lambda *_: [], "127.0.0.1", 0, max_message_bytes=1)
        thread = server._thread
        server.close(grace=0)
        thread.join(5)
        assert not thread.is_alive()
        server.close(grace=0)

"""The model server for tests that have no loop."""

import json
import urllib.error
import urllib.request

import pytest

from tests.support.model_replies import fails, says
from tests.support.model_server import model_server_in_thread


def test_a_server_in_a_thread_answers_programs_that_block() -> None:
    with model_server_in_thread([says("Hello."), fails(429, "rate_limit_error", "No")]) as server:
        asked = urllib.request.Request(f"{server.url}/v1/messages", json.dumps({"a": 1}).encode())
        with urllib.request.urlopen(asked, timeout=10) as answer:
            assert b"event: message_stop" in answer.read()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=10)
        refused.value.close()
        assert refused.value.code == 429
        assert [request.json for request in server.requests] == [{"a": 1}] * 2
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(asked, timeout=10)

"""Every limit, on a running service: what is over it is refused, and nobody else is hurt."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from pipelines.serving.limits import BODY_LIMIT
from pipelines.serving.problems import RETRY_SECONDS

QUESTION = {"query": "Who decides?"}


def chunks(size: int) -> Iterator[bytes]:
    for _ in range(size // 65_536 + 1):
        yield b" " * 65_536


@pytest.mark.parametrize("size", [BODY_LIMIT + 1, 20_000_000])
def test_a_body_over_the_limit_gets_413_however_it_is_sent(law_service: Any, size: int):
    for body in (b" " * size, chunks(size)):
        response = law_service.client.post("/lexical/run", content=body)
        assert response.status_code == 413
        assert response.json()["error"] == "too_large"
        assert response.headers["connection"] == "close"
    assert law_service.client.post("/nowhere", content=b" " * size).status_code == 413


def test_a_body_of_the_limit_is_read(law_service: Any):
    body = b'{"query": "rent"}'.ljust(BODY_LIMIT)
    headers = {"Content-Type": "application/json"}
    response = law_service.client.post("/lexical/run", content=body, headers=headers)
    assert response.status_code == 200


def test_a_body_that_lies_about_its_length_is_held_to_it(law_service: Any):
    with socket.create_connection(("127.0.0.1", law_service.port)) as raw:
        raw.sendall(
            b"POST /lexical/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 17\r\n\r\n" + b'{"query": "rent"}' + b" " * BODY_LIMIT
        )
        assert raw.recv(12) == b"HTTP/1.1 200"


def test_others_are_answered_while_a_long_body_comes(law_service: Any):
    with socket.create_connection(("127.0.0.1", law_service.port)) as raw:
        raw.sendall(
            b"POST /lexical/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 20000000\r\n\r\n"
        )
        for _ in range(20):
            raw.sendall(b" " * 1_000_000)
            response = law_service.client.post("/lexical/run", json={"query": "rent"})
            assert response.status_code == 200
        assert raw.recv(12) == b"HTTP/1.1 413"


def test_a_body_that_does_not_come_gets_408_and_takes_nobodys_turn(hold: Any, held: Any):
    held.released.set()
    with hold(body_seconds=0.2, at_once=1) as service:
        with socket.create_connection(("127.0.0.1", service.port)) as raw:
            raw.sendall(b"POST /held/run HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
            assert service.client.post("/held/run", json=QUESTION).status_code == 200
            answer = b"".join(iter(lambda: raw.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 408")
        assert b'"error":"slow_body"' in answer


def test_headers_have_a_limit(law_service: Any):
    response = law_service.client.get("/health", headers={"X-Long": "x" * 1_000_000})
    assert response.status_code == 400
    assert law_service.client.get("/health").status_code == 200


def test_so_many_are_answered_at_once_so_many_wait_and_the_next_is_told_to_come_back(
    hold: Any, held: Any, asking: Any, until: Any
):
    with hold(at_once=2, waiting=3) as service:
        clients = asking(service)
        clients.ask(2)
        held.wait_for(2)
        clients.ask(3)
        until(lambda: service.gate.waiting == 3)
        assert service.gate.inside == 2
        refused = service.client.post("/held/run", json=QUESTION)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == str(RETRY_SECONDS)
        assert refused.json()["error"] == "busy"
        assert service.metric("lexarbor_requests_in_flight") == 2
        assert service.metric("lexarbor_requests_waiting") == 3
        assert service.client.get("/health").status_code == 200
        held.released.set()
        assert clients.statuses() == [200] * 5
        until(lambda: service.metric("lexarbor_requests_in_flight") == 0)
        assert service.metric('lexarbor_rejected_total{reason="busy"}') == 1


def test_a_question_over_its_time_gets_504_and_gives_its_place_back(hold: Any, held: Any):
    with hold(at_once=1, waiting=1, seconds=0.5) as service:
        for _ in range(3):
            response = service.client.post("/held/run", json=QUESTION)
            assert response.status_code == 504
            assert "within 0.5 seconds" in response.json()["detail"]
        assert held.ended == 3
        assert (service.gate.inside, service.gate.waiting) == (0, 0)
        held.released.set()
        assert service.client.post("/held/run", json=QUESTION).status_code == 200


def test_waiting_counts_as_time(hold: Any, held: Any, asking: Any):
    with hold(at_once=1, waiting=5, seconds=0.5) as service:
        clients = asking(service)
        clients.ask(3)
        assert clients.statuses() == [504] * 3
        assert (service.gate.inside, service.gate.waiting) == (0, 0)


def test_a_client_that_has_gone_gives_its_place_to_the_next(
    hold: Any, held: Any, asking: Any, until: Any
):
    with hold(at_once=1, waiting=5) as service:
        with socket.create_connection(("127.0.0.1", service.port)) as raw:
            raw.sendall(
                b"POST /held/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 17\r\n\r\n" + b'{"query": "rent"}'
            )
            held.wait_for(1)
        until(lambda: held.ended == 1)
        clients = asking(service)
        clients.ask(1)
        held.wait_for(1)
        held.released.set()
        assert clients.statuses() == [200]
        until(lambda: service.metric('lexarbor_rejected_total{reason="client_gone"}') == 1)


def test_fifty_clients_at_once_are_all_answered(hold: Any, held: Any, asking: Any, until: Any):
    with hold(at_once=2) as service:
        clients = asking(service)
        clients.ask(50)
        until(lambda: service.gate.inside + service.gate.waiting == 50)
        assert service.gate.inside == 2
        held.released.set()
        assert clients.statuses() == [200] * 50


def test_connections_have_a_limit(hold: Any, held: Any, until: Any):
    held.released.set()
    with hold(connections=5) as service:
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(6)]
        assert service.client.get("/health").status_code == 503
        for each in idle:
            each.close()
        until(lambda: service.client.get("/health").status_code == 200)

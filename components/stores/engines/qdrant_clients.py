"""Clients of Qdrant, one an address, and which of their errors may pass."""

from __future__ import annotations

import atexit
import json
import threading
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import httpx
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from components.stores.failures import StoreError

_ADDRESS = ("location", "url", "host", "port", "path", "prefix", "api_key")
# Too long, in conflict with another shard that makes the same collection, too many.
_MAY_PASS = (408, 409, 429)

_clients: WeakValueDictionary[str, QdrantClient] = WeakValueDictionary()
_holders: WeakKeyDictionary[QdrantClient, WeakSet[QdrantDocumentStore]] = WeakKeyDictionary()
_opening = threading.Lock()


def shared_client(store: QdrantDocumentStore) -> QdrantClient:
    """The process's one client of a store's address, held until `let_go`.

    A local folder admits no second.

    Args:
        store: names the address.
    """
    parameters = store._prepare_client_params()
    # The engine's version is checked where it is used, with an error in place of a warning.
    parameters.setdefault("check_compatibility", False)
    key = json.dumps([parameters[name] for name in _ADDRESS])
    with _opening:
        client = _clients.get(key)
        if client is None:
            client = _clients[key] = QdrantClient(**parameters)
        _holders.setdefault(client, WeakSet()).add(store)
        return client


def let_go(client: QdrantClient, store: QdrantDocumentStore) -> None:
    """Close a client, unless other stores hold it, too."""
    with _opening:
        holders = _holders[client]
        holders.discard(store)
        if not holders:
            for key in [key for key, each in _clients.items() if each is client]:
                del _clients[key]
            client.close()


def may_pass(error: Exception) -> bool | None:
    """Whether an error of the client may pass by itself; None for one that is not the client's."""
    if isinstance(error, UnexpectedResponse):
        return error.status_code in _MAY_PASS or (error.status_code or 0) >= 500
    if isinstance(error, ApiException | httpx.TransportError):
        return True
    if type(error).__module__.startswith("grpc"):  # where the file says prefer_grpc
        return True
    if isinstance(error, StoreError):
        return None
    # A local folder that another process holds, a vector of another size.
    return False if isinstance(error, RuntimeError | ValueError) else None


@atexit.register
def _close_clients() -> None:
    # One that is left to the interpreter's end complains that it comes too late.
    for client in list(_clients.values()):
        client.close()

"""Where notifications wait until someone asks for them."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

CAPACITY = 1000
"""How many notifications wait in one inbox at most."""

SESSION_RESET = "session/didReset"
EVERYTHING_ELSE = ""
"""The topic of notifications that belong to no session."""


class Notification(NamedTuple):
    method: str
    params: dict[str, Any]

    @classmethod
    def of(cls, message: dict[str, Any]) -> Notification:
        """The notification in a message that has a method and no id."""
        params = message.get("params")
        return cls(str(message["method"]), params if isinstance(params, dict) else {})

    @property
    def topic(self) -> str:
        """The inbox it goes to: the handle of its session, or `EVERYTHING_ELSE`."""
        session = self.params.get("session")
        return session if isinstance(session, str) else EVERYTHING_ELSE


class Inbox:
    """A bounded queue of the notifications of one topic.

    It holds 1,000; when one more comes, a session's are all dropped and one `didReset` with reason
    `overflow` stands in their place, so that the reader opens the session again, as it would after
    a reset by the daemon; of those that belong to no session the oldest are dropped.
    """

    def __init__(self, topic: str, capacity: int = CAPACITY) -> None:
        self._topic = topic
        self._waiting: deque[Notification] = deque()
        self._capacity = capacity

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, notification: Notification) -> None:
        if len(self._waiting) >= self._capacity:
            if self._topic == EVERYTHING_ELSE:
                self._waiting.popleft()
            else:
                self._waiting.clear()
                reset = {"session": self._topic, "reason": "overflow"}
                self._waiting.append(Notification(SESSION_RESET, reset))
        self._waiting.append(notification)

    def take(self) -> Notification | None:
        """The oldest that waits, or None."""
        return self._waiting.popleft() if self._waiting else None


class Inboxes:
    """All inboxes of one connection, by topic.

    An inbox begins with its first notification, not with its reader: the first delta may come in
    the same read as the answer that says under which handle to look.
    """

    def __init__(self) -> None:
        self._by_topic: dict[str, Inbox] = {}

    def of(self, topic: str) -> Inbox:
        inbox = self._by_topic.get(topic)
        if inbox is None:
            inbox = self._by_topic[topic] = Inbox(topic)
        return inbox

    def put(self, notification: Notification) -> str:
        """Files a notification and says under which topic."""
        self.of(notification.topic).put(notification)
        return notification.topic

    def forget(self, topic: str) -> None:
        self._by_topic.pop(topic, None)

import pytest

from pisessiond.client.inbox import CAPACITY, EVERYTHING_ELSE, Inbox, Notification
from pisessiond.client.update import judge
from tests.client.scripted import changed


@pytest.mark.parametrize(
    ("epoch", "base", "rev", "verdict"),
    [
        ("e1", 41, 42, "apply"),
        ("e1", 41, 57, "apply"),
        ("e1", 40, 41, "ignore"),
        ("e1", 1, 2, "ignore"),
        ("e1", 42, 43, "reopen"),
        ("e1", 40, 43, "reopen"),
        ("e2", 41, 42, "reopen"),
        ("e2", 1, 2, "reopen"),
    ],
)
def test_a_delta_counts_only_from_where_the_client_stands(
    epoch: str, base: int, rev: int, verdict: str
) -> None:
    delta = changed(base, rev, epoch=epoch)["params"]
    assert judge("session/didChange", delta, "e1", 41) == verdict


def test_a_reset_opens_again_and_an_unknown_notification_is_ignored() -> None:
    assert judge("session/didReset", {"session": "s1", "reason": "gone"}, "e1", 41) == "reopen"
    assert judge("session/didPresence", {"session": "s1", "clients": []}, "e1", 41) == "ignore"


def test_a_full_inbox_of_a_session_holds_one_reset_and_what_came_after() -> None:
    inbox = Inbox("s1")
    for rev in range(1, CAPACITY + 2):
        inbox.put(Notification.of(changed(rev, rev + 1)))
    first, second = inbox.take(), inbox.take()
    assert first == ("session/didReset", {"session": "s1", "reason": "overflow"})
    assert second is not None
    assert second.params["rev"] == CAPACITY + 2
    assert inbox.take() is None


def test_a_full_inbox_of_everything_else_drops_the_oldest() -> None:
    inbox = Inbox(EVERYTHING_ELSE)
    for number in range(CAPACITY + 5):
        inbox.put(Notification("$/progress", {"token": number}))
    assert len(inbox) == CAPACITY
    oldest = inbox.take()
    assert oldest is not None
    assert oldest.params == {"token": 5}

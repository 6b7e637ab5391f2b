"""Running pi that have sessions open: who writes then, and how it is asked to.

**One writer.** While no pi has a session open, the daemon writes its file. While one has (*owner*),
that pi alone does: the daemon writes no byte, no anchor, no repair, no migration, and its leaf is
pi's. With two (*contested*) a change names the pi that is to make it. `deciding.py` says which, in
one function over plain facts; the session's queue asks it right before each write.

**Two routes, one place.** Every change is an act that is decided on a draft of the session, checked
against its rules and the caller's `base_leaf`, whoever stores it. Then either the queue writes the
drafted lines, or `calls.py` says what to ask of pi instead, `routing.py` asks it, and what pi wrote
is read from the file and told as the client's act. So handlers, compactions and summaries know of
no routes, and what is refused is refused alike. pi compares the leaf once more, in the same tick
as it acts.

**pi tells, the file says.** A `pi/didChange` names entries whose bytes are in the file already:
it is a reason to read, and says who wrote them. Only what the file lacks is taken from pi: the
leaf, what it is doing, and whole entries of sessions that have no file (`mirrors.py`).

    free --attach--> owned --second attach--> contested
    owned --no answer for 2 s--> stalled --any word--> owned
    owned --detached--> free
    owned --connection lost--> parting --3 s, or its process gone--> free
                               parting --attach--> owned

A change that comes while a pi is attaching or parting waits until that is over. Whoever is silent
still owns: a stopped process goes on where it was.
"""

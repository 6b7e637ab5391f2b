"""Parameters and results of the connection's life and of the daemon itself."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field, RootModel, StrictInt, StrictStr

from pisessiond.protocol.live_models import LivePi
from pisessiond.protocol.pi_models import PiProcess
from pisessiond.protocol.wire import JsonObject, ReadParams, WireModel


class NoParams(ReadParams):
    """Nothing is needed."""


class Nothing(WireModel):
    """An empty object."""


class Null(RootModel[None]):
    """Null, as LSP wants it."""

    def to_wire(self) -> bytes:
        """The JSON text."""
        return b"null"


class ClientInfo(WireModel):
    """Who connects."""

    id: StrictStr = Field(min_length=1, max_length=200)
    """Chosen by the client and kept over reconnects."""
    name: StrictStr = Field(min_length=1, max_length=200)
    """For people: shown to other clients as who did something."""
    version: StrictStr | None = None
    """The client's own version."""


class ClientOptions(WireModel):
    """`initializationOptions.pisessiond`."""

    protocol_versions: list[StrictInt]
    """All versions the client speaks; the highest common one is used."""
    client: ClientInfo
    """Who connects."""
    cwd: StrictStr | None = None
    """Absolute folder of the client; relative paths in its requests start here."""
    agent_dir: StrictStr | None = None
    """pi's agent folder as the client sees it; another daemon's is refused with WrongAgentDir."""
    session_dir: StrictStr | None = None
    """The client's own session folder, before all settings."""
    token: StrictStr | None = None
    """Needed on TCP only."""
    requests: list[StrictStr] = Field(default_factory=list)
    """Requests of the daemon that this client answers; unknown names mean nothing."""
    pi: PiProcess | None = None
    """The client is the bridge inside a running pi."""


class InitializationOptions(WireModel):
    """LSP's `initializationOptions`, of which one member is ours."""

    model_config = ConfigDict(extra="allow")

    pisessiond: ClientOptions | None = None
    """Absent for a plain LSP client: it gets a passing id and the newest version."""


class InitializeParams(ReadParams):
    """LSP's InitializeParams; only the members named here are looked at before the LSP half."""

    model_config = ConfigDict(extra="allow")

    capabilities: JsonObject = Field(default_factory=dict)
    """LSP's client capabilities."""
    client_info: JsonObject | None = None
    """LSP's name and version of the client."""
    initialization_options: InitializationOptions | None = None
    """Holds `pisessiond`."""


class ShutdownParams(ReadParams):
    """Parameters of daemon/shutdown."""

    if_idle: bool = False
    """Only if no other client is connected and no session has entries that are not on disk yet;
    else refused with Busy, and nothing ends. A newer client replaces an older daemon so."""


class Limits(WireModel):
    """What a client should not exceed."""

    message: int
    """Bytes of one message's body."""
    header: int
    """Bytes of one message's header block."""
    in_flight: int
    """Requests of one client at work at once. Beyond it the daemon reads no further, except for
    the client's answers to its own requests."""
    clients: int
    """Clients served at once; the next one's `initialize` gets Overloaded."""
    answer: int
    """Bytes of entry bodies in one answer."""
    tree_nodes: int
    """Nodes in one answer of session/tree."""


class Announcement(WireModel):
    """`capabilities.experimental.pisessiond` in the answer to `initialize`."""

    protocol_version: int
    """The version both will use."""
    build: str
    """The daemon's version."""
    limits: Limits
    """What a client should not exceed."""
    methods: list[str]
    """Every method this daemon answers beside LSP's own."""


class InitializeResult(WireModel):
    """LSP's InitializeResult."""

    capabilities: dict[str, Any]
    """LSP's server capabilities; `experimental.pisessiond` holds the announcement."""
    server_info: dict[str, str]
    """Name and version."""


class CancelParams(ReadParams):
    """Which request to cancel."""

    id: StrictStr | StrictInt
    """Id of the request. It is answered with -32800, unless its work was already done."""


class ConnectedClient(WireModel):
    """One connection."""

    name: str
    """For people; `unknown` before initialize."""
    id: str | None
    """Null before initialize."""
    transport: str
    """unix, tcp or stdio."""
    initialized: bool
    """Whether `initialize` was answered."""
    sessions: list[str]
    """Handles of the sessions it is subscribed to."""
    running: int
    """Requests at work."""
    queued: int
    """Messages that wait to be sent to it."""
    queued_bytes: int
    """Waiting to be sent to it, in bytes."""


class ServedSession(WireModel):
    """One session in memory."""

    session: str
    """Its handle."""
    path: str | None
    """Real path; null for a session in memory only."""
    epoch: str
    """Names this loading of the session."""
    rev: int
    """Its revision."""
    subscribers: int
    """How many listen to it."""


class ConnectedPi(LivePi):
    """One running pi with the bridge in it."""

    session: str | None
    """Handle of the session it has open; null between two."""
    file: str | None
    """Its file; null where it is in memory only, or not known."""


class Memory(WireModel):
    """What the process holds."""

    rss: int
    """Resident set in bytes; 0 where the system does not say."""


class WatchStatus(WireModel):
    """How the daemon notices what other programs write to open sessions."""

    how: str
    """`inotify` or `fsevents`; `polling` where the system tells nothing of at least one file."""
    reason: str | None
    """Why it is polling; null when it is not."""


class StatusResult(WireModel):
    """What the daemon is doing."""

    pid: int
    """Process id."""
    version: str
    """The daemon's version."""
    protocol_version: int
    """The newest protocol version it speaks."""
    started: str
    """ISO time."""
    uptime: float
    """Seconds since it started."""
    clients: list[ConnectedClient]
    """Every connection, this one included."""
    sessions: list[ServedSession]
    """Every session in memory."""
    watch: WatchStatus | None
    """How changes by other programs are noticed; null: they are when something is asked."""
    pis: list[ConnectedPi] = Field(default_factory=list)
    """Running pi that are connected; absent: none."""
    memory: Memory
    """What the process holds."""
    log: str | None
    """Path of the log; null when it goes to standard error."""
    agent_dir: str | None
    """pi's agent folder that it serves."""
    address: str | None
    """Path of its socket; null on stdio."""
    tcp: str | None
    """Host and port on loopback; null while it does not listen there."""
    idle: float
    """Seconds without clients and work after which it ends; 0: never."""

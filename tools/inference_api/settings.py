"""What the environment sets, read once at the start, with every mistake named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .reader import Reader, SettingsError

__all__ = ["Settings", "SettingsError", "load"]

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Names in the environment are the same in capitals; times are seconds, sizes bytes.

    Attributes:
        backend_url: where requests go, up to and with `/v1`, without a slash at the end.
        backend_api_key_file: file whose text is sent to the backend as bearer token.
        model: for requests that name none.
        system_prompt: for conversations that have none (SYSTEM_PROMPT, or SYSTEM_PROMPT_FILE).
        temperature: for requests that give none.
        api_keys_file, api_keys_dir: keys that clients must show: one a line, or one a file (a mounted Secret).
        host, port: where to listen.
        connect_timeout_seconds: for the backend to accept a connection.
        first_byte_timeout_seconds: for the backend's first byte of an answer's body.
        between_bytes_timeout_seconds: for each next one.
        request_timeout_seconds: for the whole of it.
        client_timeout_seconds: for a client to send its request, and to take each piece of the answer.
        ready_timeout_seconds, ready_cache_seconds: for the backend to say that it is there; how long that holds.
        max_body_bytes: of one request.
        max_bodies_bytes: of all requests that are being read or sent on, together.
        max_connections: requests at the backend at one time; more get 503.
        drain_seconds: from the signal to stop until no more requests are taken, for a Service to look elsewhere.
        stop_timeout_seconds: from then on, for requests to end.
        forward_authorization: pass the client's own Authorization on.
        forward_headers: more of the client's headers to pass on, in lower case.
        log_level: debug, info, warning or error.
    """

    backend_url: str
    backend_api_key_file: Path | None = None
    model: str | None = None
    system_prompt: str | None = None
    temperature: float | None = None
    api_keys_file: Path | None = None
    api_keys_dir: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    connect_timeout_seconds: float = 5
    first_byte_timeout_seconds: float = 300
    between_bytes_timeout_seconds: float = 120
    request_timeout_seconds: float = 900
    client_timeout_seconds: float = 30
    ready_timeout_seconds: float = 2
    ready_cache_seconds: float = 2
    max_body_bytes: int = 8 * MIB
    max_bodies_bytes: int = 64 * MIB
    max_connections: int = 512
    drain_seconds: float = 3
    stop_timeout_seconds: float = 25
    forward_authorization: bool = False
    forward_headers: tuple[str, ...] = ()
    log_level: str = "info"


def load(environ: Mapping[str, str]) -> Settings:
    """Read the settings; a variable that is empty counts as not set.

    Raises:
        SettingsError: lists each variable that is wrong: what was given (unless it may be a secret), what is allowed.
    """
    read = Reader(environ)

    def seconds(name: str) -> float:
        return read.seconds(name, float(getattr(_DEFAULTS, name.lower())))

    settings = Settings(
        backend_url=read.url("BACKEND_URL"),
        backend_api_key_file=read.path("BACKEND_API_KEY_FILE", folder=False),
        model=read.text("MODEL", longest=256),
        system_prompt=read.text_or_file("SYSTEM_PROMPT"),
        temperature=read.number("TEMPERATURE", None, 0, 2),
        api_keys_file=read.path("API_KEYS_FILE", folder=False),
        api_keys_dir=read.path("API_KEYS_DIR", folder=True),
        host=read.text("HOST", longest=255) or _DEFAULTS.host,
        port=read.whole("PORT", _DEFAULTS.port, 0, 65535),
        connect_timeout_seconds=seconds("CONNECT_TIMEOUT_SECONDS"),
        first_byte_timeout_seconds=seconds("FIRST_BYTE_TIMEOUT_SECONDS"),
        between_bytes_timeout_seconds=seconds("BETWEEN_BYTES_TIMEOUT_SECONDS"),
        request_timeout_seconds=seconds("REQUEST_TIMEOUT_SECONDS"),
        client_timeout_seconds=seconds("CLIENT_TIMEOUT_SECONDS"),
        ready_timeout_seconds=seconds("READY_TIMEOUT_SECONDS"),
        ready_cache_seconds=seconds("READY_CACHE_SECONDS"),
        max_body_bytes=read.whole("MAX_BODY_BYTES", _DEFAULTS.max_body_bytes, 1024, 1024 * MIB),
        max_bodies_bytes=read.whole("MAX_BODIES_BYTES", _DEFAULTS.max_bodies_bytes, 1024, 64 * 1024 * MIB),
        max_connections=read.whole("MAX_CONNECTIONS", _DEFAULTS.max_connections, 1, 100_000),
        drain_seconds=seconds("DRAIN_SECONDS"),
        stop_timeout_seconds=seconds("STOP_TIMEOUT_SECONDS"),
        forward_authorization=read.flag("FORWARD_AUTHORIZATION"),
        forward_headers=read.header_names("FORWARD_HEADERS"),
        log_level=read.one_of("LOG_LEVEL", _DEFAULTS.log_level, ("debug", "info", "warning", "error")),
    )
    read.exclusive("API_KEYS_FILE", "API_KEYS_DIR")
    read.exclusive("SYSTEM_PROMPT", "SYSTEM_PROMPT_FILE")
    read.exclusive("FORWARD_AUTHORIZATION", "BACKEND_API_KEY_FILE")
    read.not_above("MAX_BODY_BYTES", settings.max_body_bytes, "MAX_BODIES_BYTES", settings.max_bodies_bytes)
    read.finish()
    return settings


_DEFAULTS = Settings(backend_url="")

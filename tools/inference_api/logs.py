"""Logs: a JSON object a line on standard output. A prompt or a key never gets here: nobody hands one over."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
"""Attributes that every record has; what else is there was given as `extra`."""


class JsonLines(logging.Formatter):
    """Writes a record with what was given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().strip(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _OWN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(level: str) -> None:
    """Send all logs of the process to standard output.

    The libraries tell at "info" what our own lines tell, in more words.
    """
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "uvicorn.error", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").disabled = True

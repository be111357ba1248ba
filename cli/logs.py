"""Logs of the processes: structlog on standard error, JSON where that is not a terminal."""

from __future__ import annotations

import logging
import sys

import structlog

# What they say matters only when something is wrong, and our own errors already say that.
_QUIET = {"aiokafka": logging.ERROR, "faust": logging.INFO, "stamina": logging.ERROR}


def configure(level: str, *, as_json: bool | None = None) -> None:
    """Send the logs of this process, our own and the libraries', to standard error in one shape.

    `as_json` None decides by the terminal. Call it once, at the start of a command.
    """
    plain = sys.stderr.isatty() if as_json is None else not as_json
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last = structlog.dev.ConsoleRenderer() if plain else structlog.processors.JSONRenderer()
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            last,
        ],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(least, logging.getLevelName(level.upper())))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )

"""Flags that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Write one JSON object; errors become problem objects.")]
Bootstrap = Annotated[
    str | None, typer.Option("--bootstrap", metavar="HOST:PORT", help="Address of the broker, several with commas.")
]
Annotate = Annotated[
    bool, typer.Option("--annotate", help="Give events without a pad the pleasure of their English text, if any.")
]

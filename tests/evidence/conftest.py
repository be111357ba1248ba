"""A chat log to measure: three people, of whom two answer each other."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
TEXTS = ("that is great, thanks", "this is terrible", "which kernel", "it hangs again, sadly", "works for me, nice")


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = []
    for at in range(240):
        author = ("ann", "bob", "cid")[0 if at % 7 == 0 else 1 + at % 2]
        sent = BEGIN + timedelta(minutes=(at * 37) % 11 + at * 19)
        reply = [f"m{at - 1}"] if at % 3 else []
        text = f"{TEXTS[at % 5]} number {at % 13}"
        lines.append({"id": f"m{at}", "sent_at": sent.isoformat(), "author": author, "text": text, "reply_to": reply})
    path = tmp_path_factory.mktemp("log") / "chat.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path

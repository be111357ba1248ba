"""What the command `moodstream audit` does, apart from its flags."""

from __future__ import annotations

from collections.abc import Callable

from moodstream.cli.audit import screen
from moodstream.cli.audit.live import LiveDeployment
from moodstream.cli.audit.report import Report
from moodstream.cli.audit.run import audit, planned
from moodstream.cli.output import messages, write_json
from moodstream.cli.output import screen as results
from moodstream.cli.progress import bar
from moodstream.cli.settings import Settings
from moodstream.state.reader import StateReader
from moodstream.streams.broker import reported
from moodstream.streams.topics import check


async def run(settings: Settings, *, as_json: bool, shown: int) -> int:
    """Audit the deployment of these settings, write what was found, and give the exit code."""
    report = Report(shown=shown)
    await check(settings.streams)
    reader = StateReader(settings.state)
    try:
        async with reported(settings.streams):
            await _audit(settings, LiveDeployment(settings.streams, reader, settings.fold), report)
    finally:
        await reader.close()
    if as_json:
        _write_lines(report)
    else:
        screen.show(results(), report)
    return report.exit_code


async def _audit(settings: Settings, deployment: LiveDeployment, report: Report) -> None:
    with bar(messages(), "audit", await planned(deployment)) as show:
        await audit(deployment, settings.streams.limits, report, _summed(show))


def _summed(show: Callable[[int], None]) -> Callable[[int], None]:
    """From "so many more" to "so many so far"."""
    done = 0

    def advance(records: int) -> None:
        nonlocal done
        done += records
        show(done)

    return advance


def _write_lines(report: Report) -> None:
    """One object per fault that is shown, and the numbers last."""
    for line in screen.as_lines(report):
        write_json(line)
    write_json(report.as_json())

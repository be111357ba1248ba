"""All rounds of a run: on servers that are started when they are first needed, and end with it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from drill.brokers import Kafka
from drill.options import Options
from drill.plan import TRIO, Plan, plan_of
from drill.results import Result
from drill.round import Round

Progress = Callable[[Result], None]


class Run:
    """Runs rounds one after the other."""

    def __init__(self, options: Options, folder: Path, say: Callable[[str], None]) -> None:
        self.options = options
        self._folder = folder
        self._say = say
        self._kafka: dict[int, Kafka] = {}
        """By number of brokers."""

    async def play(self, number: int) -> Result:
        """Play one round; the logs of one that fails are kept."""
        options = self.options
        plan = plan_of(options.seed, number, options.faults)
        folder = self._folder / f"round-{number}"
        folder.mkdir()
        (folder / "plan.json").write_text(json.dumps(plan.as_json(), indent=2))
        kafka = await self._brokers(plan)
        result = await Round(plan, kafka, folder, worker_command(options.plant), options.workers, options.rate).run()
        if not result.ok:
            self._keep(plan, result, folder, kafka)
        shutil.rmtree(folder, ignore_errors=True)
        return result

    async def stop(self) -> None:
        """End the brokers."""
        for kafka in self._kafka.values():
            await kafka.stop()

    async def _brokers(self, plan: Plan) -> Kafka:
        nodes = 3 if plan.setup == TRIO else 1
        if nodes not in self._kafka:
            self._kafka[nodes] = await Kafka.started(self._folder / f"kafka-{nodes}", nodes)
        return self._kafka[nodes]

    def _keep(self, plan: Plan, result: Result, folder: Path, kafka: Kafka) -> None:
        """Save the logs, and say how to see it again."""
        place = fresh_folder(self.options.keep, f"seed-{plan.seed}-round-{plan.number}")
        for path in (*folder.glob("*.log"), *folder.glob("*.txt"), *folder.glob("*.json")):
            shutil.copy(path, place)
        for path in folder.glob("*/redis.log"):
            shutil.copy(path, place / f"{path.parent.name}.log")
        for number, broker in enumerate(kafka.brokers):
            shutil.copy(broker.server.log, place / f"broker-{number}.log")
        (place / "result.json").write_text(json.dumps(result.as_json(), indent=2))
        self._say(f"round {plan.number} failed ({', '.join(plan.kinds)}); logs in {place}")
        for problem in result.problems[:5]:
            self._say(f"  {problem}")
        self._say(f"  again: {self.options.repeat(plan.number)}")


def worker_command(plant: str | None) -> Sequence[str]:
    """What starts a worker, after the interpreter."""
    return ["-m", "drill.planted", plant, "worker"] if plant else ["-m", "moodstream", "worker"]


def fresh_folder(parent: Path, name: str) -> Path:
    """Make a folder of this name, with a number behind it where there is one already."""
    for number in count():
        place = parent / (name if number == 0 else f"{name}-{number + 1}")
        if not place.exists():
            place.mkdir(parents=True)
            return place
    raise AssertionError  # count is endless


@asynccontextmanager
async def running(options: Options, say: Callable[[str], None]) -> AsyncIterator[Run]:
    """Give a run, and end its servers afterwards."""
    with tempfile.TemporaryDirectory(prefix="moodstream-drill-") as name:
        run = Run(options, Path(name), say)
        try:
            yield run
        finally:
            await run.stop()

"""Report what an agent did, and how its message landed. Run `scripts/up` first: the defaults are its addresses."""

import asyncio

from moodstream.streams.bus import Bus


async def report(bus: Bus) -> None:
    """Fire two events of one agent; each call returns when the broker has the event."""
    agent = bus.agent("acme", "support-1")
    await agent.outcome("success", "closed ticket 4711", importance=0.8)
    await agent.engagement("customer-7", "turn-12", responded=True, response_time_ms=8_500, sentiment_shift=0.4)


async def main() -> None:
    """Connect, report, and leave when everything has been answered."""
    async with Bus() as bus:
        await report(bus)


if __name__ == "__main__":
    asyncio.run(main())

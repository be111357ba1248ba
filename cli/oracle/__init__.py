"""The oracle: an agent's log folded the slow, obvious way, into the bytes that docs/rows.md asks for.

It shares no code with the folds that it checks. What it takes from the rest of moodstream is the event models and
their converter to memories.
"""

from moodstream.cli.oracle.agent import OracleAgent, Verdict
from moodstream.cli.oracle.profile import OracleFold

__all__ = ["OracleAgent", "OracleFold", "Verdict"]

"""What the trends, moods and recalls of moodstream are worth, measured: `scripts/evidence` writes docs/evidence.md."""

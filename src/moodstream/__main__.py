"""`python -m moodstream` is the command `moodstream`."""

from moodstream.cli.main import main

main()

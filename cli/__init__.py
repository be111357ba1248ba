"""The command line `moodstream`."""

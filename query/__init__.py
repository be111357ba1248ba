"""The query service: answers from the state alone, without Faust or a broker."""

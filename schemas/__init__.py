"""Events, converters and wire formats: what everybody agrees on. No I/O."""

"""The drill: break everything that can break under load, then compare every row with what the log says."""

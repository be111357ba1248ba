"""Helpers of the tests: servers to run against, deployments on them, and waiting without sleeping."""

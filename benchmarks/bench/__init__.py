"""Parts of the benchmarks: the workload, the subjects that are measured, and the measuring."""

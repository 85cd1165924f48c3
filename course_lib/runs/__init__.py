"""Training runs: what `course train`, `evaluate`, `sample` and `publish` do."""

"""The subcommands of `course`: the `run` of each module. None imports torch before it is called."""

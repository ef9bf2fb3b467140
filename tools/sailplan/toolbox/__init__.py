"""The only doors to other programs: `proc` runs them, `cue` and `vela` know their words and their noise."""

"""Tests of definitions/: each renders through the real `vela`, its status through the real `cue`."""

"""Models and checkpoints as files."""

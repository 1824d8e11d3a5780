"""The commands, a module each; importing one registers it."""

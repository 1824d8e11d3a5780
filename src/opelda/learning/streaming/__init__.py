"""Learning from streams: the window, its sweeps, forgetting, new topics, events."""

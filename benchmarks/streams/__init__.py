"""One pass over streams: opelda beside word frequencies and other systems."""

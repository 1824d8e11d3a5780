"""The CPU engine and its private parts."""

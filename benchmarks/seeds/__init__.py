"""Seed words: what topics become of them, over strengths, corpora and systems."""

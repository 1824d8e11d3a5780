"""Seed words: the resulting topics, over strengths, corpora and systems."""

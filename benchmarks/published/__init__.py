"""Coherence, diversity and agreement with labels, on the collections that papers print them for."""

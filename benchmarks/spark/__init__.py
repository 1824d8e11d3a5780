"""Measurements of `opelda.spark`: beside MLlib, and what a larger cluster would take."""

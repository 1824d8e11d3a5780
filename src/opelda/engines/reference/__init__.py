"""The reference engine: plain NumPy in double precision, the oracle of the tests."""

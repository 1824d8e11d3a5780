"""Table 1's measurements: times, memory and quality of the twelve inference methods."""

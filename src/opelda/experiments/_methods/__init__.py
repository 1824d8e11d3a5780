"""What Table 1 is measured with: times, memory and quality of the twelve inference methods."""

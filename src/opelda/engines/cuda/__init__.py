"""The CUDA engine: its Python, and its kernels (``*.cu``)."""

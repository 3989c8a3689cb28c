"""A simulated CUDA device."""

"""Speed, as ratios against PyTorch measured in the same run. `python -m benchmarks` prints them all."""

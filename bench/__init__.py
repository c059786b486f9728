"""Side-by-side measurements: ratios within one run, because the machine is shared and noisy."""

"""The score: one table that says whether the product got better. `make score` runs it (scripts/score.py)."""

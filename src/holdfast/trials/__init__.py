"""Runs paired tasks with memory and without, in real agent clients: `holdfast backtest --ab`."""

"""Exercises of chapter 01, the bottleneck."""

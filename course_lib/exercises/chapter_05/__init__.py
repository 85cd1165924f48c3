"""Exercises of chapter 05, scaling and masking."""

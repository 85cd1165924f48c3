"""Exercises of chapter 08, the block."""

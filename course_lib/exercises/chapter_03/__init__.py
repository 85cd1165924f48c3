"""Exercises of chapter 03, self-attention without parameters."""

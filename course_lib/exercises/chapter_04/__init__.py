"""Exercises of chapter 04, queries, keys, values."""

"""Exercises of chapter 06, many heads."""

"""Exercises of chapter 07, positions."""

"""Exercises of chapter 10, classifying sequences."""

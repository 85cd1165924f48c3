"""Exercises of chapter 14, looking inside."""

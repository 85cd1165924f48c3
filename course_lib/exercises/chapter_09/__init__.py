"""Exercises of chapter 09, encoder and decoder."""

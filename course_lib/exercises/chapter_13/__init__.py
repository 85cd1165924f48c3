"""Exercises of chapter 13, doing it cheaply."""

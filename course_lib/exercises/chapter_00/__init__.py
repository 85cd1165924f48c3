"""Exercises of chapter 00, shapes and the soft argmax."""

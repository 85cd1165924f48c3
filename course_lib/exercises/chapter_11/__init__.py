"""Exercises of chapter 11, generating text."""

"""Exercises of chapter 02, attention in image captioning."""

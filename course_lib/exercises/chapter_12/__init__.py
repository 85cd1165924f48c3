"""Exercises of chapter 12, BERT, GPT-2, ViT."""

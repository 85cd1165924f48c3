"""Data that needs no download: seeded, split, and each set able to describe itself."""

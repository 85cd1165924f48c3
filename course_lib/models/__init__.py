"""Whole models, assembled from the floors below."""

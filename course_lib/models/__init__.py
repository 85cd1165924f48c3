"""Whole models, assembled from the layers below."""

"""Data for the chapters, which needs no download, and loaders of larger sets and of files of one's own."""

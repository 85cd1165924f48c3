"""Figures that answer to the reader's hand: data of a chapter, handed to a few lines of script in book/_static.

A chapter imports an explorer from its own module: the package itself imports none, so a new explorer leaves the pages
of the others as they are.
"""

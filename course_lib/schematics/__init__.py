"""The drawn mechanisms of the book, each a function: all numbers in them are computed from small examples.

A chapter imports a drawing from its own module: the package itself imports none, so a new drawing leaves the pages of
the others as they are.
"""

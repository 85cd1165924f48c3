"""Exercises of chapter 16, from 2017 to today."""

"""The companion package of the course: every chapter's code, small enough to read in one sitting."""

__version__ = "0.1.0"

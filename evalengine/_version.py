"""The version of the distribution, and nothing else: the build reads it without importing the package."""

__version__ = "0.1.0"

"""The version of this package, which is that of the command inside it."""

__version__ = "0.1.0"

"""The engine: a pure scheduler, and the shells that perform what it decides."""

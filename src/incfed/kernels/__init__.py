"""The maths, compiled. Nothing here knows about rounds, money or files."""

"""The maths, compiled with numba. Independent of rounds, money and files."""

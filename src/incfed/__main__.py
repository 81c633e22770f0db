"""`python -m incfed`."""

from .cli import main

main()

"""`python -m incfed.cli`."""

from . import main

main()

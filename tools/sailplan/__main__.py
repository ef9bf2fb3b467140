"""`python -m sailplan`: the command line."""

from sailplan.cli import main

main()

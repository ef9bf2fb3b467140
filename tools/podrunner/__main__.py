"""`python -m podrunner`."""

from podrunner.cli import main

raise SystemExit(main())

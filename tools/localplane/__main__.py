"""`python -m localplane`: see `cli`."""

import sys

from localplane.cli import main

sys.exit(main())

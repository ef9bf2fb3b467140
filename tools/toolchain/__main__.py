"""`python3 -m toolchain`: see `cli`. Speaks plainly to a Python that is too old to read the rest."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (this file is what an older Python gets to see)
    sys.exit("sailplan needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.12 ..." % sys.version_info[:2])  # noqa: UP031

from toolchain.cli import main

sys.exit(main())

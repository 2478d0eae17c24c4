"""`--help` of benchmarks that are run as modules and take no options."""

import sys


def answer_help(doc):
    """Print a module's docstring and exit if the command line asks for help."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(doc.strip())
        raise SystemExit

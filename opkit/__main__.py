"""`python -m opkit` is the `opkit` command."""

from opkit.cli.main import main

main()

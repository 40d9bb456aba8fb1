"""`python -m fairway.cli` is the `fairway` command."""

from fairway.cli.main import main

main()

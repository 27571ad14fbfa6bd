"""``python -m cpsched``: the command line, whether or not its script is on the path."""

from cpsched.cli.program import main

if __name__ == "__main__":
    main()

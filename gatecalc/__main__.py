"""``python -m gatecalc``."""

from gatecalc.cli import main

if __name__ == "__main__":
    main()

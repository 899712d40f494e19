"""python -m understudy_mock ARGUMENTS: the command `understudy`."""

from ._binary import main

main()

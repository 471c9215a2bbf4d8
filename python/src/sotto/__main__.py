"""``python -m sotto``: the program."""

import os
import subprocess
import sys

from ._program import find

if __name__ == "__main__":
    if os.name == "nt":
        sys.exit(subprocess.call([find(), *sys.argv[1:]]))
    os.execv(find(), ["sotto", *sys.argv[1:]])

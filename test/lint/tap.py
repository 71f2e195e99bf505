"""What the checks of this folder share: TAP output, the files of the tree, C without its comments."""

import os
import re

# Made by builds and tests, not part of the project.
NOT_OURS = {".git", "results", "output_iso", "tmp_check", "tmp_check_iso", "build", "log", "__pycache__"}
BUILT = re.compile(r"\.(o|bc|so|pyc)$|^regression\.|^pg_noisyneighbor--[0-9.]+\.sql$")


def top():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def tree_files():
    """Every file of the project, by its path below the top."""
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(f for f in folders if f not in NOT_OURS)
        for name in sorted(names):
            if not BUILT.search(name):
                yield os.path.relpath(os.path.join(folder, name), ".")


def c_files(folder):
    return [path for path in tree_files() if path.startswith(folder + "/") and path.endswith((".c", ".h"))]


def strip_c(text, keep_strings=True):
    """C code with comments (and, if asked, the contents of strings) blanked out; lines stay where they are."""
    def blank(match):
        token = match.group()
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        return token if keep_strings else token[0] + " " * (len(token) - 2) + token[-1]
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


class Tap:
    def __init__(self):
        self.number = 0
        self.failed = 0

    def check(self, name, faults):
        """One test: it fails when there are faults, which are printed."""
        self.number += 1
        self.failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {self.number} - {name}")
        for fault in faults:
            print(f"#   {fault}")

    def skip(self, name, reason):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP {reason}")

    def end(self):
        print(f"1..{self.number}")
        return 1 if self.failed else 0

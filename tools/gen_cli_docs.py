#!/usr/bin/env python3
"""Writes man pages and shell completions from the program's own option tables.

    gen_cli_docs.py <opscope> <out>     -> <out>/man/*.1, <out>/completions/{opscope.bash,_opscope,opscope.fish}

The program prints them: `opscope help --man [command]` and `opscope help --completion bash|zsh|fish`.
The commands are the files src/cli/cmd_<name>.c, one a command.
"""
import subprocess
import sys
from pathlib import Path

COMMANDS = Path(__file__).resolve().parent.parent / "src/cli"

SHELLS = {"bash": "opscope.bash", "zsh": "_opscope", "fish": "opscope.fish"}


def ask(program, *arguments):
    """Output of `program help <arguments>`; a command without one stops the build."""
    return subprocess.run([program, "help", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, timeout=30, check=True).stdout


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    program, out = sys.argv[1], Path(sys.argv[2])
    write(out / "man/opscope.1", ask(program, "--man", "opscope"))
    for source in sorted(COMMANDS.glob("cmd_*.c")):
        name = source.stem[len("cmd_"):].replace("_", "-")
        write(out / f"man/opscope-{name}.1", ask(program, "--man", name))
    for shell, file in SHELLS.items():
        write(out / "completions" / file, ask(program, "--completion", shell))
    return 0


if __name__ == "__main__":
    sys.exit(main())

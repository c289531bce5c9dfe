#!/usr/bin/env python3
"""What a fuzz target does wrong is told, with the command that repeats it; the corpus is written.

    driver_test.py BROKEN      BROKEN: fuzz_broken of the build folder
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    return done.returncode, done.stdout + done.stderr


def repeat(output):
    found = re.search(r"^to repeat it: (.*)$", output, re.MULTILINE)
    assert found, f"no command that repeats it: {output}"
    return found[1]


def check_seeds(broken):
    """Other seeds find other inputs, and each is found again by what is printed."""
    commands = []
    for seed in "1", "2":
        code, output = run(broken, "--seed", seed)
        assert code != 0 and "no input has a 0" in output, output
        commands.append(repeat(output))
        again, said = run(*commands[-1].split())
        assert again == code and repeat(said) == commands[-1], said
    assert commands[0] != commands[1], commands


def check_files(broken, folder):
    for name, options, said in (("recursion", [], ""), ("memory", ["--memory", "128"], "no input takes much memory"),
                                ("time", ["--each", "1"], "one input takes more than --each seconds"),
                                ("refusal", [], r"a refusal of 8 bytes: red\x1b[31m")):
        file = folder / name
        file.write_text(name)
        code, output = run(broken, *options, file)
        assert code != 0 and said in output and repeat(output) == f"{broken} {file}", (name, code, output)
    (folder / "other").write_text("other")
    assert run(broken, folder / "other") == (0, f"{folder / 'other'}: refused\n")
    assert run(broken, folder / "none")[0] == 2


def main():
    broken = sys.argv[1]
    check_seeds(broken)
    assert run(broken, "--inputs", "0")[0] == 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_files(broken, folder)
        assert run(broken, "--corpus", folder / "corpus")[0] == 0
        assert [f.read_text() for f in (folder / "corpus").iterdir()] == ["sound"]
    print("ok")


main()

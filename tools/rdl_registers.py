"""Compiles a SystemRDL file and prints its registers as JSON, for whoever compares them with something.

    rdl_registers.py FILE

One object a word, arrays unrolled, in the order of addresses:
    {"path": "top.NAME[3]", "address": 0x20c, "fields": [{"name", "lsb", "width", "read", "write", "reset"}]}
`read` is true or false; `write` is null, "whole" or "clear_by_1"; `reset` is a number or null.
What the compiler warns about goes to stderr and ends the run with status 1, as errors do.
"""

import json
import sys

from systemrdl import RDLCompiler, RDLCompileError, RDLWalker
from systemrdl.messages import MessagePrinter, Severity
from systemrdl.node import FieldNode, RegNode
from systemrdl.rdltypes import OnWriteType
from systemrdl.walker import RDLListener


class Strict(MessagePrinter):
    """Counts whatever the compiler has to say."""

    said = 0

    def print_message(self, severity, text, src_ref):
        if severity >= Severity.WARNING:
            Strict.said += 1
        super().print_message(severity, text, src_ref)


class Collector(RDLListener):
    def __init__(self):
        self.words = []

    def enter_Reg(self, node: RegNode):
        fields = [self.field(field) for field in node.fields()]
        word = {"path": node.get_path(), "address": node.absolute_address, "fields": fields}
        self.words.append(word)

    @staticmethod
    def field(node: FieldNode):
        write = None
        if node.is_sw_writable:
            write = {None: "whole", OnWriteType.woclr: "clear_by_1"}[node.get_property("onwrite")]
        return {
            "name": node.inst_name,
            "lsb": node.low,
            "width": node.width,
            "read": node.is_sw_readable,
            "write": write,
            "reset": node.get_property("reset"),
        }


def main(path: str) -> int:
    compiler = RDLCompiler(message_printer=Strict())
    try:
        compiler.compile_file(path)
        root = compiler.elaborate()
    except RDLCompileError:
        return 1
    collector = Collector()
    RDLWalker(unroll=True).walk(root, collector)
    json.dump(sorted(collector.words, key=lambda word: word["address"]), sys.stdout)
    return 1 if Strict.said else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))

#!/usr/bin/env python3
"""What tshark reads in a capture, field by field: the other side of the test of `warpline explain`.

    tools/interop/dissection.py TREE CAPTURE

TREE holds tshark (see packages). It prints a line for each start frame and FPDU: the sender's port, and tshark's names of fields
with their values, in hexadecimal digits where they are octets and in decimal where they are numbers. capture/tests/explain/tshark
holds what it prints for the captures in testbenches/captures, one file each, with the version of tshark in the first line.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

FIRST = {"iwarp_mpa.ulpdulength", "iwarp_mpa.key.req", "iwarp_mpa.key.rep"}
# Headings, and what tshark calculates.
NOT_FIELDS = {"iwarp_mpa.fpdu", "iwarp_mpa.req", "iwarp_mpa.rep", "iwarp_ddp", "iwarp_ddp.control_field", "iwarp_ddp.tagged",
              "iwarp_ddp.untagged", "iwarp_rdma", "iwarp_rdma.control_field", "iwarp_rdma.rr", "iwarp_rdma.terminate",
              "iwarp_rdma.term_ctrl", "iwarp_rdma.term_hdrct"}


def value(field):
    shown = field.get("show")
    if ":" in shown:
        return shown.replace(":", "")
    if shown in ("True", "False"):
        return str(int(shown == "True"))
    if field.get("name") in ("iwarp_mpa.pad", "iwarp_mpa.privatedata"):
        return shown
    return str(int(shown, 0))


def units(packet):
    port = None
    unit = None
    for field in packet.iter("field"):
        name = field.get("name")
        if name == "tcp.srcport":
            port = field.get("show")
        if not name.startswith("iwarp_") or name in NOT_FIELDS:
            continue
        if name in FIRST:
            if unit:
                yield unit
            unit = [port]
        unit.append(f"{name}={value(field)}")
        if name == "iwarp_mpa.crc_check":
            unit.append(f"good={int('(Good CRC32)' in field.get('showname'))}")
    if unit:
        yield unit


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tree, capture = arguments
    tshark = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "tshark.sh"), tree]
    def run(*options):
        done = subprocess.run(tshark + list(options), capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            sys.exit(f"dissection: {capture}: {done.stderr.strip()}")
        return done.stdout

    print("#", run("--version").splitlines()[0])
    for packet in ElementTree.fromstring(run("-r", capture, "-T", "pdml")):
        for unit in units(packet):
            print(*unit)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

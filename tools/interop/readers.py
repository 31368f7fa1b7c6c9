#!/usr/bin/env python3
"""What tshark and `warpline replay` read in the same captures: octets, FPDUs, payload and messages of each stream.

    tools/interop/readers.py TREE WARPLINE CAPTURE...

TREE holds tshark (see packages); WARPLINE is the command. A stream is one direction of a connection, behind its start frame.
The octets are those that the device has accepted, its FPDUs and messages those that it has placed and delivered.

Exit codes:
  0  both read the same
  1  they do not; a line for each stream says where
  2  one of them cannot read a capture, or there is nothing to compare
"""

import collections
import json
import os
import subprocess
import sys

SAME, OTHER, UNUSABLE = range(3)
# DDP's headers, with the octets that belong to RDMAP (RFC 5041 §4.3, §4.4).
HEADER = {"True": 14, "False": 18}
FIELDS = ["ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.len", "iwarp_mpa.pdlength"]
FPDU_FIELDS = ["iwarp_mpa.ulpdulength", "iwarp_ddp.tagged_flag", "iwarp_ddp.last_flag"]

Stream = collections.namedtuple("Stream", "octets fpdus payload messages")


class Unusable(Exception):
    """A capture that one of both cannot read."""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def of_tshark(tree, capture):
    """Streams by sender and receiver, each `address:port`."""
    command = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "tshark.sh"), tree, "-r", capture, "-T", "fields"]
    for field in FIELDS + FPDU_FIELDS:
        command += ["-e", field]
    status, out, errors = run(command)
    if status:
        raise Unusable(f"tshark: {errors.strip()}")
    streams = collections.defaultdict(lambda: Stream(0, 0, 0, 0))
    for line in out.splitlines():
        *ends, length, private, ulpdus, tagged, last = line.split("\t")
        key = (":".join(ends[:2]), ":".join(ends[2:]))
        ulpdus, tagged, last = ([] if text == "" else text.split(",") for text in (ulpdus, tagged, last))
        octets = int(length or 0)
        if private:  # a start frame: 20 octets and the private data
            octets -= 20 + int(private)
        before = streams[key]
        streams[key] = Stream(
            before.octets + octets,
            before.fpdus + len(ulpdus),
            before.payload + sum(int(n) - HEADER[flag] for n, flag in zip(ulpdus, tagged, strict=True)),
            before.messages + last.count("True"),
        )
    return streams


def of_warpline(warpline, capture, *choice):
    """A stream as the device has received it, and the connections of the capture."""
    _, out, errors = run([warpline, "replay", "--width", "512", "--json", capture, *choice])
    try:
        report = json.loads(out)
    except json.JSONDecodeError:
        raise Unusable(f"warpline replay: {errors.strip()}") from None
    stream = Stream(report["octets"], report["fpdus"], report["payload_octets"], len(report["completions"]))
    return stream, report["connections"]


def compare(tree, warpline, capture):
    """Streams compared, and those that differ."""
    seen = of_tshark(tree, capture)
    first, connections = of_warpline(warpline, capture)
    compared, others = 0, 0
    for connection in connections:
        ends = connection["initiator"], connection["responder"]
        for direction, key in [("initiator", ends), ("responder", ends[::-1])]:
            if not connection[f"{direction}_fpdus"]:
                continue
            ours = first
            if connection["replayed"] != direction:
                choice = "--connection", str(connection["number"]), "--direction", direction
                ours, _ = of_warpline(warpline, capture, *choice)
            compared += 1
            if ours != seen[key]:
                others += 1
                print(f"{capture}: {' to '.join(key)}: warpline reads {ours}, tshark {seen[key]}")
    return compared, others


def main(arguments):
    if len(arguments) < 3:
        print(__doc__, file=sys.stderr)
        return UNUSABLE
    tree, warpline, *captures = arguments
    compared, others = 0, 0
    for capture in captures:
        try:
            more = compare(tree, warpline, capture)
        except (OSError, ValueError, subprocess.TimeoutExpired, Unusable) as error:
            print(f"readers: {capture}: {error}", file=sys.stderr)
            return UNUSABLE
        compared, others = compared + more[0], others + more[1]
    if not compared:
        print("readers: no stream to compare", file=sys.stderr)
        return UNUSABLE
    if others:
        return OTHER
    print(f"tshark and warpline read the same from {compared} streams of {len(captures)} captures")
    return SAME


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""What tshark reads in a record of DDP over SCTP, and what it complains about.

    tools/interop/chunks.py TREE RECORD GUEST              a line for each direction, from and to the address GUEST
    tools/interop/chunks.py --planted TREE RECORD GUEST    the same of the front of RECORD, with faults planted, each to be found

TREE holds tshark (see packages); ddp_sctp.lua tells it where in a chunk its own dissector of DDP and RDMAP begins. RECORD is a pcap
file of Ethernet frames. A chunk that was sent again counts once: chunks are told apart by association and TSN. A complaint is a
packet that is malformed, has a wrong checksum or at least a warning; a chunk that may be delivered in order, that is a fragment, that
has another PPID than DDP's, or whose DDP header tshark has not read.

Exit codes:
  0  no complaint; with --planted: each planted fault is found
  1  complaints; or a planted fault is not found
  2  the record cannot be read
"""

import collections
import os
import struct
import subprocess
import sys
import tempfile

GOOD, COMPLAINTS, UNUSABLE = range(3)
SEGMENT, CONTROL = "16", "17"
# Severity of a warning in Wireshark's numbers.
WARNING = 0x600000
FIELDS = ["frame.number", "ip.src", "sctp.verification_tag", "sctp.data_tsn_raw", "sctp.data_payload_proto_id", "sctp.data_u_bit",
          "sctp.data_b_bit", "sctp.data_e_bit", "iwarp_ddp.dv", "ddp_sctp_control.function"]
# Octets of pcap's header and of a packet's; of the headers of Ethernet, IPv4, UDP and SCTP in front of the first chunk.
FILE, PACKET, FIRST_CHUNK = 24, 16, 14 + 20 + 8 + 12
# Packets of the record in which faults are planted.
FRONT = 300

Counts = collections.namedtuple("Counts", "segments control again")


class Unusable(Exception):
    """A record that tshark does not read."""


def tshark(tree, record, *options):
    here = os.path.dirname(os.path.abspath(__file__))
    # tshark runs scripts for nobody who is root, so it runs as somebody else, with the same files.
    command = ["unshare", "--user", os.path.join(here, "tshark.sh"), tree, "-X", "lua_script:" + os.path.join(here, "ddp_sctp.lua"),
               "-o", "sctp.checksum:CRC 32c", "-r", record, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise Unusable(f"tshark: {done.stderr.strip()}")
    return done.stdout


def judge(tree, record, guest):
    """Counts from and to the guest, and complaints."""
    faulty = f"_ws.malformed || _ws.expert.severity >= {WARNING} || (sctp && sctp.checksum.status != 1)"
    numbers = tshark(tree, record, "-Y", faulty, "-T", "fields", "-e", "frame.number").split()
    complaints = [f"packet {number}: malformed, a wrong checksum, or a warning" for number in numbers]
    options = [option for field in FIELDS for option in ("-e", field)]
    seen, again = {}, collections.Counter()
    for line in tshark(tree, record, "-Y", "sctp.chunk_type == 0", "-T", "fields", *options).splitlines():
        number, source, tag, *lists = line.split("\t")
        tsns, ppids, unordered, begins, ends, headers, functions = (text.split(",") if text else [] for text in lists)
        flags = set(unordered) | set(begins) | set(ends)
        if flags - {"1", "True"}:
            complaints.append(f"packet {number}: a chunk in order, or a fragment")
        if set(ppids) - {SEGMENT, CONTROL}:
            complaints.append(f"packet {number}: PPIDs {', '.join(ppids)}")
        new = collections.Counter()
        for tsn, ppid in zip(tsns, ppids, strict=True):
            key = (source == guest, tag, tsn)
            again[key[0]] += key in seen
            new[ppid] += key not in seen
            seen[key] = ppid
        # tshark does not look again into what was sent again.
        if (len(headers), len(functions)) != (new[SEGMENT], new[CONTROL]) or set(headers) - {"1"}:
            complaints.append(f"packet {number}: a header of DDP, or a control message, that was not read")
    counts = {}
    for of_guest in (True, False):
        ppids = collections.Counter(ppid for key, ppid in seen.items() if key[0] == of_guest)
        counts[of_guest] = Counts(ppids[SEGMENT], ppids[CONTROL], again[of_guest])
    return counts, complaints


def packets(record):
    """The file's header, and its packets with theirs."""
    with open(record, "rb") as file:
        octets = file.read()
    found, at = [], FILE
    while at + PACKET <= len(octets) and len(found) < FRONT:
        end = at + PACKET + struct.unpack_from("<I", octets, at + 8)[0]
        found.append(bytearray(octets[at:end]))
        at = end
    return octets[:FILE], found


def planted(tree, record, guest):
    """Faults that are not found."""
    head, front = packets(record)
    # A packet with one chunk of a whole segment, in the middle.
    large = [i for i, packet in enumerate(front) if len(packet) > 1400 and packet[PACKET + FIRST_CHUNK] == 0]
    if not large:
        raise Unusable("no DATA chunk to plant a fault in")
    at, first = large[len(large) // 2], PACKET + FIRST_CHUNK

    def of(change):
        """Counts and complaints with a fault."""
        changed = [bytearray(packet) for packet in front]
        change(changed)
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(head + b"".join(changed))
            file.flush()
            return judge(tree, file.name, guest)

    def invert(place):
        def change(changed):
            changed[at][place] ^= 0xFF
        return change

    clean, complaints = of(lambda changed: None)
    missed = [f"without a fault: {complaint}" for complaint in complaints]
    for name, place in [("payload", first + 200), ("chunk length", first + 2), ("chunk flags", first + 1), ("PPID", first + 15),
                        ("DDP control", first + 18)]:
        if not of(invert(place))[1]:
            missed.append(f"an inverted octet in {name} is not found")
    # Several, since a chunk that is sent again is there twice.
    counts, _ = of(lambda changed: changed.__delitem__(slice(at, at + 8)))
    if counts == clean:
        missed.append("packets that are missing are not found")
    return missed


def main(arguments):
    plants = arguments[:1] == ["--planted"]
    if len(arguments) != 3 + plants:
        print(__doc__, file=sys.stderr)
        return UNUSABLE
    tree, record, guest = arguments[plants:]
    try:
        if plants:
            missed = planted(tree, record, guest)
            print(*missed, sep="\n", end="\n" if missed else "")
            return COMPLAINTS if missed else GOOD
        counts, complaints = judge(tree, record, guest)
    except (OSError, ValueError, struct.error, IndexError, subprocess.TimeoutExpired, Unusable) as error:
        print(f"chunks: {record}: {error}", file=sys.stderr)
        return UNUSABLE
    for of_guest, name in [(True, "from the guest"), (False, "to the guest")]:
        count = counts[of_guest]
        print(f"{name}: {count.segments} segments, {count.control} control messages; sent again: {count.again}")
    print(*complaints[:20], sep="\n", end="\n" if complaints else "")
    print(f"complaints: {len(complaints)}")
    return COMPLAINTS if complaints else GOOD


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

//! What each command's help says below its options: how it behaves, examples, exit codes.
//!
//! Tests hold it to the program: each example is a command line that the program accepts, and each exit code that is listed is
//! one that it returns (`cli/tests/manners`).

pub(crate) const ALL: &str = "Examples:
  warpline demo
  warpline replay testbenches/captures/crc1-rev2-mixed --width 128
  warpline card --socket /tmp/card --network --watch

Exit codes:
  0  done, and every check passed
  1  done, but a check failed
  2  unusable input or options, or output that cannot be written
  3  simulation or card failed, for instance because Verilator is missing

Each command has its own help: warpline card --help";

pub(crate) const REPLAY: &str = "Examples:
  warpline replay testbenches/captures/crc1-rev2-mixed --width 128
  warpline replay testbenches/captures/crc1-rev2-sends --width 64 --segment random --seed 7 --trace wave.fst
  warpline replay any.pcapng --width 64 --connection 2 --direction responder --json

Exit codes:
  0  done; the result equals what the capture directory records
  1  the result differs from what the directory records
  2  unusable input or options, or output that cannot be written
  3  the simulation failed, for instance because Verilator is missing";

pub(crate) const DEMO: &str =
    "The capture is part of the program. The first time it builds two models, which takes minutes.

Examples:
  warpline demo
  warpline demo --json

Exit codes:
  0  done; both results equal what Linux had in memory
  1  a result differs
  2  unusable options, or output that cannot be written
  3  the simulation failed, for instance because Verilator is missing";

pub(crate) const EXPLAIN: &str = "INPUT is a capture (pcap, pcapng, packed with gzip or not, or a capture directory), a file of MPA stream octets, a text file of
hexadecimal octets, the octets themselves, or - for standard input, which may hold any of them. Hexadecimal octets may have
blanks, colons, 0x, and the offsets of xxd, hexdump -C or tcpdump -x.

Of a capture it explains the start frames of one connection and one direction's FPDUs. Other octets begin with a start frame,
which its key shows, or with an FPDU; each FPDU begins where the one before ends. With --sctp the octets are chunks of DDP over
SCTP, or user data of one; each is taken by itself.

It says what octets alone can say. Whether an STag is valid, an MSN is due or a buffer is posted depends on the stream:
`warpline replay` says that. The ULP is taken to be RDMAP. Offsets are stream positions; in a start frame they count from it.

Examples:
  warpline explain 0012414300000000000000000000000100000000587be8c4
  warpline explain testbenches/captures/crc1-rev2-badstag --direction responder
  xxd stream.bin | warpline explain - --markers --offset 492 --json
  warpline explain 00000001686921 --sctp control
  warpline explain sctp.pcap --sctp chunks

Exit codes:
  0  explained; no receiver refuses what was explained
  1  a receiver refuses something, or the octets end inside a frame
  2  unusable input or options, or output that cannot be written";

#[cfg(feature = "wave")]
pub(crate) const WAVE: &str = "With --fpdu it replays the capture on a model that records its signals, and draws the cycles from the first beat that holds
octets of the FPDU to the last thing that it causes: a write response, a completion, a window report. FPDUs are numbered as
`warpline explain` does. Otherwise INPUT is a waveform (FST or VCD), for instance of `warpline replay --trace`.

Cycles are numbered from 0 at the start of the file; the values of a cycle are those just before the clock edge that ends it. Signals
are named in full, or by the part after any dot: place.m_valid. Where no row changes, cycles are left out and counted.

Examples:
  warpline wave testbenches/captures/crc1-rev2-badstag --fpdu 1 -o fpdu.svg
  warpline wave testbenches/captures/crc1-rev2-mixed --fpdu 4 --direction initiator -o fpdu.svg
  warpline wave run.fst --signals s_axis_segment_tvalid,s_axis_segment_tlast --from 300 --to 340 -o segment.svg
  warpline wave run.fst --signals m_axi_awvalid,m_axi_awaddr --when m_axi_awvalid --cycles 20 --when-valid -o write.svg

Exit codes:
  0  drawn; with --fpdu, the result of the replay equals what the capture directory records
  1  drawn, but the result differs from what the directory records
  2  unusable input or options, no such signal, cycle or FPDU, or output that cannot be written
  3  the simulation failed, for instance because Verilator is missing";

#[cfg(feature = "report")]
pub(crate) const REPORT: &str = "Throughput, latency, area, clock, coverage, planted faults, conformance, long runs, cost of the host and tool versions, as the
records below --records hold them. The page is one file without scripts, fonts or anything else that a browser would have to
fetch, for screens and for paper. The same records and the same program give the same page.

A record that is missing, unusable, or of another RTL text than this program writes is said to be so, on the page; the first two
on standard error as well.

Examples:
  warpline report -o report.html
  warpline report --records ../warpline -o - > report.html

Exit codes:
  0  written, and every record was there
  1  written, but a record is missing or unusable; the page says which
  2  no records there, or output that cannot be written
  3  the device cannot be described, or a chart cannot be drawn";

#[cfg(feature = "rtl")]
pub(crate) const RTL: &str =
    "Files of the same names are replaced; other files in the folder are kept.

Examples:
  warpline rtl --width 128 --out rtl
  warpline rtl --width 64 --ring-octets 16384 --transmit --out rtl
  warpline rtl --width 512 --streams 16 --prefix fast --axi-ids 4 --out fast

Exit codes:
  0  written
  2  unusable options, or a folder that cannot be written
  3  the device cannot be described";

#[cfg(feature = "rtl")]
pub(crate) const SYNTH: &str = "The bitstream is DIR/warpline.bit, from the seed with the fastest clock. It holds the device of that width with 4 streams
and 16 KiB rings, and the self-test that constraints/README.md describes. The same text, seeds and starts give the same
bitstream. Start 0 of a seed is nextpnr's placement with that seed, start 1 is its placement with the seed plus 1000, and
so on.

Examples:
  warpline synth --width 64 --seeds 1,2,3 --at-least 156.25
  warpline synth --width 64 --estimate ecp5 --against constraints/reports/ecp5-w64.json --json
  warpline synth --width 64 --board ulx3s-85f --hello

Exit codes:
  0  made
  1  slower than --at-least, or more than 5 % slower, larger or deeper than --against
  2  unusable options, a device too large for the part, or output that cannot be written
  3  a tool is missing or failed";

pub(crate) const BENCH: &str = "Examples:
  warpline bench
  warpline bench --json figures.json --plot figures.svg --host-path host.json

Exit codes:
  0  measured
  2  unusable options, or output that cannot be written
  3  the simulation failed, for instance because Verilator is missing";

pub(crate) const DOCTOR: &str = "Examples:
  warpline doctor
  warpline doctor 0000:01:00.0 --json
  warpline doctor /tmp/card

Exit codes:
  0  nothing keeps a program from the card
  1  something does; advice does not count
  2  unusable address: nothing answers at the socket, or it is not a card
  3  the card at a socket is in use or failed, or the machine's devices cannot be listed";

pub(crate) const STAT: &str = "A simulated card is reset when its host disconnects, so at a socket the counters of earlier programs are lost: a program
reads its own with Context::counters. `warpline card --watch` shows a simulated card while a program uses it.

Examples:
  warpline stat /tmp/card
  warpline stat 0000:01:00.0 --json

Exit codes:
  0  printed
  2  unusable address: nothing answers there, or it is not a card
  3  the card is in use, or failed";

#[cfg(feature = "watch")]
pub(crate) const CARD: &str = "The card serves one host at a time; the next one waits. Traffic starts when the buffers that it needs are posted, or when
the host has posted nothing for a second.

With --watch the terminal shows the card, and nothing that a host sees changes. A stream is free, armed, open (it may send, too),
ended (by the peer's FIN), frozen (by an error) or closing. RECEIVED counts in-order octets since the stream was armed, WINDOW what
its peer may send, RING what waits for the rest of its FPDU, BUFFERS the receive buffers that are posted and not used up, SENDS
the slots of its send ring that are not given back. TX is off, gate (closed until the first FPDU), idle, busy or ended. Keys: q, Esc or
Ctrl-C end the card, p stops the view (not the card), s sorts, arrows and pages scroll.

Examples:
  warpline card --socket /tmp/card --serve-traffic testbenches/captures/crc1-rev2-sends
  warpline card --socket /tmp/card --network --watch --interval 0.5
  warpline card --socket /tmp/card --network --watch --json

Exit codes:
  0  interrupted (SIGINT, SIGTERM), or ended by a key of --watch
  2  unusable input or options, a socket or file that cannot be created, or --watch without a terminal
  3  the simulation failed, for instance because Verilator is missing";

#[cfg(not(feature = "watch"))]
pub(crate) const CARD: &str = "The card serves one host at a time; the next one waits. Traffic starts when the buffers that it needs are posted, or when
the host has posted nothing for a second.

Examples:
  warpline card --socket /tmp/card --serve-traffic testbenches/captures/crc1-rev2-sends
  warpline card --socket /tmp/card --network

Exit codes:
  0  interrupted (SIGINT, SIGTERM)
  2  unusable input or options, or a socket or file that cannot be created
  3  the simulation failed, for instance because Verilator is missing";

pub(crate) const SERVE: &str = "Each connection whose start-up was complete is reported on standard error when it ends; others are refused without a word. The program itself neither sees nor moves the data.
At an address with sctp:// in front DDP runs over SCTP (RFC 5043) in UDP datagrams (RFC 6951), if the program was built with the
feature sctp.

Examples:
  warpline serve --listen 127.0.0.1:7471 --size 1048576 --output after.bin
  warpline put before.bin 127.0.0.1:7471 --verify
  warpline get 127.0.0.1:7471 back.bin
  warpline serve --listen sctp://127.0.0.1:9899 --size 1048576

Exit codes:
  0  --count connections have ended, or interrupted (SIGINT, SIGTERM)
  2  unusable input or options, or output that cannot be written
  3  the simulation or the card failed";

pub(crate) const PUT: &str = "The peer is `warpline serve`. A connection that is lost is replaced --retries times; after that the error says with which
--offset to go on.

Examples:
  warpline put before.bin 127.0.0.1:7471 --verify
  warpline put before.bin 127.0.0.1:7471 --offset 4096 --markers --json

Exit codes:
  0  transferred
  1  --verify: the peer's memory has other octets
  2  unusable input or options, a peer without such a region, or output that cannot be written
  3  the connection, the simulation or the card failed";

pub(crate) const GET: &str = "The peer is `warpline serve`. A connection that is lost is replaced --retries times; after that the error says with which
--offset to go on.

Examples:
  warpline get 127.0.0.1:7471 back.bin
  warpline get 127.0.0.1:7471 back.bin --offset 4096 --length 1000 --json

Exit codes:
  0  transferred
  2  unusable input or options, a peer without such a region, or output that cannot be written
  3  the connection, the simulation or the card failed";

#[cfg(feature = "manual")]
pub(crate) const COMPLETIONS: &str = "Examples:
  warpline completions bash > ~/.local/share/bash-completion/completions/warpline
  warpline completions fish > ~/.config/fish/completions/warpline.fish

Exit codes:
  0  printed
  2  unusable options, or output that cannot be written";

#[cfg(feature = "manual")]
pub(crate) const MAN: &str = "Without --out it prints the page of warpline itself. With it, DIR has warpline.1 and a page of each command, such as
warpline-card.1.

Examples:
  warpline man | man -l -
  warpline man --out ~/.local/share/man/man1

Exit codes:
  0  printed or written
  2  unusable options, or output that cannot be written";

//! What `--help` says behind the options of each command.

pub(super) const EXIT_CODES: &str = "Exit codes:
  0  done, and every check passed
  1  done, but a check failed
  2  unusable input or options, or output that cannot be written
  3  simulation or card failed, for instance because Verilator is missing

Each command has its own help: warpline card --help";

pub(super) const REPLAY_HELP: &str = "Exit codes:
  0  done; the result equals what the capture directory records
  1  the result differs from what the directory records
  2  unusable input or options, or output that cannot be written
  3  the simulation failed, for instance because Verilator is missing";

pub(super) const EXPLAIN_HELP: &str = "INPUT is a capture (pcap, pcapng, packed with gzip or not, or a capture directory), a file of MPA stream octets, a text file of
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
pub(super) const WAVE_HELP: &str = "With --fpdu it replays the capture on a model that records its signals, and draws the cycles from the first beat that holds
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

pub(super) const RTL_HELP: &str =
    "Files of the same names are replaced; other files in the folder are kept.

Exit codes:
  0  written
  2  unusable options, or a folder that cannot be written
  3  the device cannot be described";

pub(super) const SYNTH_HELP: &str = "The bitstream is DIR/warpline.bit, from the seed with the fastest clock. It holds the device of that width with 4 streams
and 16 KiB rings, and the self-test that constraints/README.md describes. The same text, seeds and starts give the same
bitstream. Start 0 of a seed is nextpnr's placement with that seed, start 1 is its placement with the seed plus 1000, and
so on.

Exit codes:
  0  made
  1  slower than --at-least, or more than 5 % slower, larger or deeper than --against
  2  unusable options, a device too large for the part, or output that cannot be written
  3  a tool is missing or failed";

pub(super) const BENCH_HELP: &str = "Exit codes:
  0  measured
  2  unusable options, or output that cannot be written
  3  the simulation failed, for instance because Verilator is missing";

pub(super) const DOCTOR_HELP: &str = "Exit codes:
  0  nothing keeps a program from the card
  1  something does; advice does not count
  2  unusable address: nothing answers at the socket, or it is not a card
  3  the card at a socket is in use or failed, or the machine's devices cannot be listed";

pub(super) const STAT_HELP: &str = "A simulated card is reset when its host disconnects, so at a socket the counters of earlier programs are lost: a program
reads its own with Context::counters.

Exit codes:
  0  printed
  2  unusable address: nothing answers there, or it is not a card
  3  the card is in use, or failed";

pub(super) const CARD_HELP: &str = "The card serves one host at a time; the next one waits. Traffic starts when the buffers that it needs are posted, or when
the host has posted nothing for a second.

Exit codes:
  0  interrupted (SIGINT, SIGTERM)
  2  unusable input or options, or a socket or file that cannot be created
  3  the simulation failed, for instance because Verilator is missing";

pub(super) const SERVE_HELP: &str = "Each connection is reported on standard error when it ends. The program itself neither sees nor moves the data.

Examples:
  warpline serve --listen 127.0.0.1:7471 --size 1048576 --output after.bin
  warpline put before.bin 127.0.0.1:7471 --verify
  warpline get 127.0.0.1:7471 back.bin

Exit codes:
  0  --count connections have ended, or interrupted (SIGINT, SIGTERM)
  2  unusable input or options, or output that cannot be written
  3  the simulation or the card failed";

pub(super) const TRANSFER_HELP: &str = "The peer is `warpline serve`. A connection that is lost is replaced --retries times; after that the error says with which
--offset to go on.

Exit codes:
  0  transferred
  1  --verify: the peer's memory has other octets
  2  unusable input or options, a peer without such a region, or output that cannot be written
  3  the connection, the simulation or the card failed";

#[cfg(feature = "report")]
pub(super) const REPORT_HELP: &str = "Throughput, latency, area, clock, coverage, planted faults, conformance, long runs, cost of the host and tool versions, as the
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

//! The options of the command line.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
#[cfg(feature = "watch")]
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use warpline_capture::Segmentation;
use warpline_capture::explain::SctpForm;
use warpline_capture::replay::{Choice, Role};
use warpline_driver::{Address, Endpoint};
#[cfg(feature = "rtl")]
use warpline_synth::{Family, Prefix};

use crate::{endpoint, help, size};

mod values;

#[cfg(feature = "watch")]
use values::interval;
use values::{address, connection, from_one, position, seed, width};
#[cfg(feature = "rtl")]
use values::{family, megahertz, ring_octets, slot_octets, streams};

/// Longest piece of a random segmentation: two full TCP segments on Ethernet.
const RANDOM_MAX: NonZeroUsize = NonZeroUsize::new(2 * 1460).unwrap();
/// Longest piece of any segmentation: that of a TCP segment.
const PIECE_MAX: NonZeroUsize = NonZeroUsize::new(65535).unwrap();

/// An open iWARP RNIC: its RTL, and its card in simulation.
#[derive(Debug, Parser)]
#[command(version, after_help = help::ALL, arg_required_else_help = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub command: Command,
    /// Log progress to standard error
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the device as SystemVerilog, one file per module, and files for other tools: lists, C header, package, IP-XACT
    #[cfg(feature = "rtl")]
    #[command(after_help = help::RTL)]
    Rtl(Rtl),
    /// Send captured traffic through the simulated card and compare memory with the recording
    #[command(after_help = help::REPLAY)]
    Replay(Replay),
    /// Explain octets of iWARP traffic field by field, and say which check fails and why
    #[command(after_help = help::EXPLAIN)]
    Explain(Explain),
    /// Replay one capture of Linux soft-iWARP at 64 and at 512 bits
    #[command(after_help = help::DEMO)]
    Demo(Demo),
    /// Draw a waveform, or the path of a captured FPDU through the device, as a timing diagram (SVG)
    #[cfg(feature = "wave")]
    #[command(after_help = help::WAVE)]
    Wave(Wave),
    /// Write all recorded figures as one HTML page
    #[cfg(feature = "report")]
    #[command(after_help = help::REPORT)]
    Report(Report),
    /// Measure octets per cycle of the receive path (exact, the same on every run), and the cost of the host's path
    #[command(after_help = help::BENCH)]
    Bench(Bench),
    /// Make a bitstream of the device with yosys and nextpnr, and report its size and speed
    #[cfg(feature = "rtl")]
    #[command(after_help = help::SYNTH)]
    Synth(Synth),
    /// Serve a simulated card at a socket, as a PCI device over vfio-user, until interrupted
    #[command(after_help = help::CARD)]
    Card(Card),
    /// Offer memory to reads and writes of iWARP peers, over a simulated card and this machine's TCP
    #[command(after_help = help::SERVE)]
    Serve(Serve),
    /// Write a file into served memory by RDMA Write
    #[command(after_help = help::PUT)]
    Put(Put),
    /// Read served memory into a file by RDMA Read
    #[command(after_help = help::GET)]
    Get(Get),
    /// List what a PCI card or the machine lacks for a program to use the card; exit code 1 if it cannot be used
    #[command(after_help = help::DOCTOR)]
    Doctor(Doctor),
    /// Print the identity and counters of a device; reads registers only, and waits at most 3 s while another program has it
    #[command(after_help = help::STAT)]
    Stat(Stat),
    /// Print completions of commands and options for a shell
    #[cfg(feature = "manual")]
    #[command(after_help = help::COMPLETIONS)]
    Completions(Completions),
    /// Print the manual page, or write the pages of all commands
    #[cfg(feature = "manual")]
    #[command(after_help = help::MAN)]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Print both results as one JSON array, as `warpline replay --json` prints each
    #[arg(long)]
    pub json: bool,
}

#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page of each command to this folder, which is created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
pub(crate) struct Rtl {
    /// Bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width, allow_negative_numbers = true)]
    pub width: usize,
    /// Streams: 4 or 16
    #[arg(long, value_name = "S", value_parser = streams)]
    #[arg(allow_negative_numbers = true, default_value = "4")]
    pub streams: usize,
    /// Octets of each stream's ring and of the commit buffer, a power of two from 4096 to 131072. They limit the TCP window
    /// and the FPDU. Any legal FPDU fits into 131072; bitstreams and estimates of `warpline synth` have 16384
    #[arg(long, value_name = "OCTETS", value_parser = ring_octets)]
    #[arg(allow_negative_numbers = true, default_value = "131072")]
    pub ring_octets: usize,
    /// The device sends, too: send queues, transmit rings of `--ring-octets`, and three ports for TCP
    #[arg(long)]
    pub transmit: bool,
    /// The device takes DDP over SCTP, too: two ports for SCTP, and slots for chunks in the rings of its streams. With --transmit it sends
    /// chunks through the ports for TCP
    #[arg(long)]
    pub sctp: bool,
    /// With --sctp: octets of a slot, which holds the user data of one chunk; a power of two from 512 to a quarter of the ring
    #[arg(long, value_name = "OCTETS", value_parser = slot_octets, requires = "sctp")]
    #[arg(allow_negative_numbers = true, default_value = "2048")]
    pub sctp_slot_octets: usize,
    /// With --sctp: DDP-SSNs from the next one on that are accepted, 1 to 32767
    #[arg(long, value_name = "N", requires = "sctp")]
    #[arg(allow_negative_numbers = true, default_value = "32767")]
    pub sctp_window: usize,
    /// Bits of constant AXI ID signals, 0 to 32, for an interconnect or a checker that demands them: AWID and ARID are zero, BID
    /// and RID are ignored; 0 leaves them out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=32))]
    #[arg(allow_negative_numbers = true, default_value = "0")]
    pub axi_ids: u8,
    /// Begin the names of all modules, packages, macros and files with NAME and an underscore: the top module is NAME_warpline.
    /// So several configurations fit into one design; give each its own NAME and folder. Macros have it in upper case
    #[arg(long, value_name = "NAME")]
    pub prefix: Option<Prefix>,
    /// Folder for the files; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
pub(crate) struct Synth {
    /// Part: lfe5um5g-85f (pins of Lattice's ECP5 Evaluation Board), lfe5um5g-45f or lfe5um5g-25f (pins unassigned)
    #[arg(long, value_name = "PART", default_value = "lfe5um5g-85f")]
    pub part: String,
    /// Board, in place of a part: ecp5-evn, ecpix5, ulx3s-85f or colorlight-i9; its pins, clock and UART
    #[arg(long, value_name = "BOARD", conflicts_with = "part")]
    pub board: Option<String>,
    /// Only a small design that shows that the board's clock, pins and UART work
    #[arg(long, requires = "board", conflicts_with_all = ["seeds", "starts", "jobs", "at_least", "against", "transmit"])]
    pub hello: bool,
    /// Bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width, allow_negative_numbers = true)]
    pub width: usize,
    /// Seeds of placement; the report gives the slowest clock of all
    #[arg(long, value_name = "S,S,…", value_delimiter = ',', value_parser = seed::<u32>)]
    #[arg(allow_negative_numbers = true, default_value = "1")]
    pub seeds: Vec<u32>,
    /// Starts of each seed, 1 to 9: each is placed and routed, and the fastest counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9), allow_negative_numbers = true)]
    #[arg(default_value = "1")]
    pub starts: u32,
    /// Placements at a time, 1 to 64; each takes a processor and 1.5 GB [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), allow_negative_numbers = true)]
    pub jobs: Option<u8>,
    /// Folder for the bitstream, all intermediate files, and the tools' logs
    #[arg(long, value_name = "DIR", default_value = "target/synth")]
    pub out: PathBuf,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Also write the report to this file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Compare with an earlier report of the same device
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Clock that every seed must reach
    #[arg(long, value_name = "MHZ", value_parser = megahertz, allow_hyphen_values = true)]
    pub at_least: Option<f64>,
    /// Only count cells and LUTs in a row, by yosys without placement: ecp5, or xcup for UltraScale+
    #[arg(long, value_name = "FAMILY", value_parser = family, conflicts_with_all = ["part", "board", "hello", "seeds", "starts", "jobs", "at_least"])]
    pub estimate: Option<Family>,
    /// The device that sends, too
    #[arg(long)]
    pub transmit: bool,
    /// With --estimate: the device that takes DDP over SCTP, too
    #[arg(long, requires = "estimate")]
    pub sctp: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Folder with wire.pcap and, each optional, regions.json, memory.bin.gz, receive-buffers.bin.gz, completions.jsonl and
    /// terminate.txt; or a single pcap file
    #[arg(value_name = "CAPTURE_DIR")]
    pub capture: PathBuf,
    /// Bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width, allow_negative_numbers = true)]
    pub width: usize,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Record all signals to an FST file; runs on a separate, slower model
    #[arg(long, value_name = "FILE.fst")]
    pub trace: Option<PathBuf>,
    /// Cut the stream into TCP segments of N octets (at most 65535), of random lengths (random), or of maximum length
    /// (whole) [default: as captured]
    #[arg(long, value_name = "N|random|whole", value_parser = segment, allow_negative_numbers = true)]
    pub segment: Option<SegmentLength>,
    /// Seed of --segment random [default: 1]
    #[arg(long, value_name = "S", value_parser = seed::<u64>, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Replay connection N, counted from 1 among those on which MPA start-up succeeded [default: the first that carries FPDUs]
    #[arg(long, value_name = "N", value_parser = connection, allow_negative_numbers = true)]
    pub connection: Option<usize>,
    /// Whose stream to replay [default: the Initiator's, or the Responder's if the Initiator sent no FPDU]
    #[arg(long, value_name = "ROLE")]
    pub direction: Option<Direction>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Capture, file of octets, hexadecimal octets, or - for standard input
    #[arg(value_name = "INPUT", required = true)]
    pub input: Vec<OsString>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print all octets of payload and private data, not only the first ones
    #[arg(long)]
    pub payload: bool,
    /// Explain FPDU N only, counted from 1; no start frames
    #[arg(long, value_name = "N", value_parser = from_one, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["from", "count"])]
    pub fpdu: Option<u64>,
    /// Begin with FPDU N, counted from 1; no start frames
    #[arg(long, value_name = "N", value_parser = from_one, allow_negative_numbers = true)]
    pub from: Option<u64>,
    /// Explain at most N FPDUs
    #[arg(long, value_name = "N", value_parser = from_one, allow_negative_numbers = true)]
    pub count: Option<u64>,
    /// Of a capture: connection N, counted from 1 among those on which MPA start-up succeeded [default: as replay chooses]
    #[arg(long, value_name = "N", value_parser = connection, allow_negative_numbers = true)]
    pub connection: Option<usize>,
    /// Of a capture: whose FPDUs to explain [default: as replay chooses]
    #[arg(long, value_name = "ROLE")]
    pub direction: Option<Direction>,
    /// Of other octets: the stream carries markers
    #[arg(long)]
    pub markers: bool,
    /// Of other octets: CRCs are not in use, and not checked
    #[arg(long)]
    pub no_crc: bool,
    /// Of other octets: stream position of the first one, a multiple of 4; behind a start frame it is 0 [default: 0]
    #[arg(long, value_name = "STREAM_POSITION", value_parser = position, allow_negative_numbers = true)]
    pub offset: Option<u32>,
    /// DDP over SCTP: what the octets are; of a capture `chunks`
    #[arg(long, value_name = "FORM")]
    #[arg(conflicts_with_all = ["fpdu", "from", "count", "connection", "direction", "markers", "no_crc", "offset"])]
    pub sctp: Option<Sctp>,
}

#[cfg(feature = "wave")]
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("picture").required(true).multiple(true).args(["fpdu", "signals"])))]
pub(crate) struct Wave {
    /// Capture (a folder as for replay, or a pcap file) with --fpdu; a waveform with --signals
    #[arg(value_name = "CAPTURE_DIR|FILE.fst")]
    pub input: PathBuf,
    /// Draw the life of FPDU N, counted from 1
    #[arg(long, value_name = "N", value_parser = from_one, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["signals", "from", "to", "cycles", "when", "before", "when_valid", "whole", "clock", "title"])]
    pub fpdu: Option<u64>,
    /// Draw these signals, in this order
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',', value_parser = clap::builder::NonEmptyStringValueParser::new())]
    #[arg(conflicts_with_all = ["width", "connection", "direction"])]
    pub signals: Vec<String>,
    /// File for the picture
    #[arg(short, long, value_name = "FILE.svg")]
    pub out: PathBuf,
    /// With --fpdu, bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width, allow_negative_numbers = true)]
    #[arg(default_value = "64")]
    pub width: usize,
    /// With --fpdu, connection N, counted from 1 [default: as replay chooses]
    #[arg(long, value_name = "N", value_parser = connection, allow_negative_numbers = true)]
    pub connection: Option<usize>,
    /// With --fpdu, whose FPDU [default: as replay chooses]
    #[arg(long, value_name = "ROLE")]
    pub direction: Option<Direction>,
    /// First cycle [default: 0]
    #[arg(long, value_name = "CYCLE", allow_negative_numbers = true)]
    pub from: Option<u64>,
    /// Last cycle [default: the last one of the file]
    #[arg(long, value_name = "CYCLE", allow_negative_numbers = true)]
    pub to: Option<u64>,
    /// Number of cycles, instead of --to
    #[arg(long, value_name = "N", value_parser = from_one, allow_negative_numbers = true)]
    #[arg(conflicts_with = "to")]
    pub cycles: Option<u64>,
    /// Begin before the first cycle, from --from on, in which this signal is not zero
    #[arg(long, value_name = "NAME")]
    pub when: Option<String>,
    /// Cycles in front of the one that --when finds
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true, default_value = "2")]
    pub before: u64,
    /// Draw payload signals of AXI channels only in cycles in which VALID of the channel is 1
    #[arg(long)]
    pub when_valid: bool,
    /// Draw all cycles, also those in which no row changes
    #[arg(long)]
    pub whole: bool,
    /// Clock whose rising edges end cycles [default: aclk, clock or clk]
    #[arg(long, value_name = "NAME")]
    pub clock: Option<String>,
    /// Heading of the picture [default: file and cycles]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

#[cfg(feature = "report")]
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Root of a checkout of warpline, whose records are in docs and constraints/reports
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub records: PathBuf,
    /// File for the page, or - for standard output
    #[arg(short, long, value_name = "FILE.html")]
    pub out: PathBuf,
}

/// What octets of SCTP are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sctp {
    /// User data of a DATA chunk with PPID 16: a DDP segment
    Segment,
    /// User data of a DATA chunk with PPID 17: session control
    Control,
    /// Chunks, one behind another; of a capture all its DATA chunks
    Chunks,
}

impl Sctp {
    /// The same for the explanation.
    pub fn form(self) -> SctpForm {
        match self {
            Self::Segment => SctpForm::Segment,
            Self::Control => SctpForm::Control,
            Self::Chunks => SctpForm::Chunks,
        }
    }
}

/// Whose stream `--direction` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    /// The end that sent the Request frame
    Initiator,
    /// The end that sent the Reply frame
    Responder,
}

#[derive(Debug, Args)]
pub(crate) struct Card {
    /// Socket that hosts connect to; it is created when the card is ready, and removed when it ends
    #[arg(long, value_name = "PATH")]
    pub socket: PathBuf,
    /// Bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width)]
    #[arg(allow_negative_numbers = true, default_value = "64")]
    pub width: usize,
    /// Play the captured stream into every stream that a host arms; of several captures, the one that begins at the sequence
    /// number with which the stream is armed
    #[arg(long, value_name = "CAPTURE_DIR", num_args = 1..)]
    pub serve_traffic: Vec<PathBuf>,
    /// Let hosts listen and connect: start the card's control program, over this machine's TCP
    #[arg(long, conflicts_with = "serve_traffic")]
    pub network: bool,
    /// With --network, run the control program as its image on a soft processor
    #[arg(long, requires = "network")]
    pub soft_processor: bool,
    /// Record all signals to an FST file; runs on a separate, slower model, and fills a disk
    #[arg(long, value_name = "FILE.fst")]
    pub trace: Option<PathBuf>,
    /// Show a live view of the card on this terminal: speed, streams, queues, errors, connections
    #[cfg(feature = "watch")]
    #[arg(long)]
    pub watch: bool,
    /// With --watch: seconds between two looks at the card, 0.1 to 3600
    #[cfg(feature = "watch")]
    #[arg(long, value_name = "SECONDS", requires = "watch", value_parser = interval)]
    #[arg(allow_hyphen_values = true, default_value = "1")]
    pub interval: Duration,
    /// With --watch: print one JSON object a line for each look, instead of the view
    #[cfg(feature = "watch")]
    #[arg(long, requires = "watch")]
    pub json: bool,
}

/// The simulated card of `serve`, `put` and `get`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Peer {
    /// Bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width)]
    #[arg(allow_negative_numbers = true, default_value = "64")]
    pub width: usize,
    /// Ask the peer for MPA markers
    #[arg(long)]
    pub markers: bool,
    /// Cut, reorder, duplicate and lose segments between TCP and card, drawn by this seed
    #[arg(long, value_name = "SEED", value_parser = seed::<u64>, allow_negative_numbers = true)]
    pub rough: Option<u64>,
    /// Record what passes as pcapng: segments of TCP, or packets of SCTP
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address to listen at; port 0 takes any. With sctp:// in front it is one of SCTP in UDP
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = endpoint::parse)]
    pub listen: Endpoint,
    /// Octets of the memory, which begins as zeros; K, M and G count 1024 each: 64K is 65536
    #[arg(long, value_name = "OCTETS", value_parser = size::memory)]
    #[arg(
        allow_negative_numbers = true,
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    pub size: Option<u64>,
    /// The memory begins with, and has the size of, this file
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Write the memory to this file at the end
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// End after so many connections [default: when interrupted]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub count: Option<u32>,
    /// Print address and size as one JSON object, and each connection that has ended as one more, a line each
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub peer: Peer,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    /// File to write
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The server; with sctp:// in front at its address of SCTP
    #[arg(value_name = "ADDRESS:PORT", value_parser = endpoint::of_peer)]
    pub address: Endpoint,
    /// Read it back and compare
    #[arg(long)]
    pub verify: bool,
    #[command(flatten)]
    pub transfer: Transfer,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The server; with sctp:// in front at its address of SCTP
    #[arg(value_name = "ADDRESS:PORT", value_parser = endpoint::of_peer)]
    pub address: Endpoint,
    /// File for the octets
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Octets to read, as 1000 or 64K [default: to the end of the memory]
    #[arg(long, value_name = "OCTETS", value_parser = size::memory, allow_negative_numbers = true)]
    pub length: Option<u64>,
    #[command(flatten)]
    pub transfer: Transfer,
}

/// What `put` and `get` share.
#[derive(Debug, Args)]
pub(crate) struct Transfer {
    /// Offset in the served memory, as 1000 or 64K
    #[arg(
        long,
        value_name = "OCTETS",
        value_parser = size::octets,
        default_value = "0",
        allow_negative_numbers = true
    )]
    pub offset: u64,
    /// Connections that replace lost ones
    #[arg(
        long,
        value_name = "N",
        default_value = "3",
        allow_negative_numbers = true
    )]
    pub retries: u32,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub peer: Peer,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// PCI address of a card, or path of a card's socket [default: all cards on the PCI bus]
    #[arg(value_name = "ADDRESS", value_parser = address())]
    pub address: Option<Address>,
    /// Print the findings as one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// PCI address of the card, or path of its socket
    #[arg(value_name = "ADDRESS", value_parser = address())]
    pub address: Address,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the figures, and write the picture (SVG) to this file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Also write the latency of a single FPDU to this file
    #[arg(long, value_name = "FILE")]
    pub latency: Option<PathBuf>,
    /// Also measure TCP segments that arrive in reverse, 64 KiB at a time, and write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub reversed: Option<PathBuf>,
    /// Also measure the cost of register accesses and completions through driver and vfio-user, and write it to this file
    #[arg(long, value_name = "FILE")]
    pub host_path: Option<PathBuf>,
}

/// Length of the TCP segments that `--segment` requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentLength {
    Random,
    Every(NonZeroUsize),
}

impl Direction {
    fn role(self) -> Role {
        match self {
            Self::Initiator => Role::Initiator,
            Self::Responder => Role::Responder,
        }
    }
}

/// The stream of a capture that two options name.
fn stream_of(connection: Option<usize>, direction: Option<Direction>) -> Choice {
    Choice {
        connection,
        direction: direction.map(Direction::role),
    }
}

impl Explain {
    /// The stream of a capture.
    pub fn choice(&self) -> Choice {
        stream_of(self.connection, self.direction)
    }
}

#[cfg(feature = "wave")]
impl Wave {
    /// The stream of a capture.
    pub fn choice(&self) -> Choice {
        stream_of(self.connection, self.direction)
    }
}

impl Replay {
    /// The stream to replay.
    pub fn choice(&self) -> Choice {
        stream_of(self.connection, self.direction)
    }

    /// The requested segmentation; the error names options that exclude each other.
    pub fn segmentation(&self) -> Result<Segmentation, String> {
        match (self.segment, self.seed) {
            (Some(SegmentLength::Random), seed) => Ok(Segmentation::Random {
                seed: seed.unwrap_or(1),
                max: RANDOM_MAX,
            }),
            (_, Some(_)) => Err("--seed needs --segment random".into()),
            (Some(SegmentLength::Every(length)), None) => Ok(Segmentation::Every(length)),
            (None, None) => Ok(Segmentation::AsCaptured),
        }
    }
}

fn segment(text: &str) -> Result<SegmentLength, &'static str> {
    match text {
        "random" => Ok(SegmentLength::Random),
        "whole" => Ok(SegmentLength::Every(PIECE_MAX)),
        _ => match text.parse() {
            Ok(length) if length <= PIECE_MAX => Ok(SegmentLength::Every(length)),
            _ => Err("give 1 to 65535 octets, random or whole"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn options_are_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn numbers_out_of_their_range_are_named_with_it() {
        let said = |arguments: &[&str]| {
            let all = ["warpline"].iter().chain(arguments);
            Options::try_parse_from(all).unwrap_err().to_string()
        };
        for wrong in ["nan", "inf", "-inf", "-5", "0", "fast"] {
            let said = said(&["synth", "--width", "64", "--at-least", wrong]);
            assert!(said.contains(wrong) && said.contains("above 0"), "{said}");
        }
        let said_of_width = said(&["synth", "--width", "-64"]);
        assert!(said_of_width.contains("'-64'") && said_of_width.contains("128"));
        for wrong in ["-1", "4294967296", ""] {
            let said = said(&["synth", "--width", "64", "--seeds", wrong]);
            assert!(said.contains("below 2^32"), "{said}");
        }
    }

    #[cfg(feature = "rtl")]
    #[test]
    fn a_board_is_in_place_of_a_part_and_a_small_design_is_for_a_board() {
        let parsed = |arguments: &[&str]| {
            let synth = ["warpline", "synth", "--width", "64"];
            Options::try_parse_from(synth.iter().chain(arguments))
        };
        let board = ["--board", "ecpix5"];
        assert!(parsed(&board).is_ok());
        assert!(parsed(&[&board[..], &["--hello"]].concat()).is_ok());
        for wrong in [
            &["--part", "lfe5um5g-45f"][..],
            &["--estimate", "ecp5"],
            &["--hello", "--transmit"],
            &["--hello", "--seeds", "1,2"],
        ] {
            let said = parsed(&[&board, wrong].concat()).unwrap_err().to_string();
            assert!(said.contains("cannot be used with"), "{said}");
        }
        assert!(parsed(&["--hello"]).is_err());
    }

    fn segmentation(arguments: &[&str]) -> Option<Segmentation> {
        let replay = ["warpline", "replay", "dir", "--width", "64"];
        let options = Options::try_parse_from(replay.iter().chain(arguments)).ok()?;
        match options.command {
            Command::Replay(replay) => replay.segmentation().ok(),
            _ => None,
        }
    }

    #[test]
    fn segments_are_numbers_or_names() {
        let every = |n| NonZeroUsize::new(n).map(Segmentation::Every);
        let random = |seed| {
            Some(Segmentation::Random {
                seed,
                max: RANDOM_MAX,
            })
        };
        assert_eq!(segmentation(&[]), Some(Segmentation::AsCaptured));
        assert_eq!(segmentation(&["--segment", "1"]), every(1));
        assert_eq!(segmentation(&["--segment", "65535"]), every(65535));
        assert_eq!(segmentation(&["--segment", "whole"]), every(65535));
        assert_eq!(segmentation(&["--segment", "random"]), random(1));
        let seeded = ["--segment", "random", "--seed", "7"];
        assert_eq!(segmentation(&seeded), random(7));
        for wrong in [
            &["--segment", "0"][..],
            &["--segment", "65536"],
            &["--segment", "-1"],
            &["--segment", "all"],
            &["--seed", "7"],
            &["--segment", "5", "--seed", "7"],
            &["--segment", "random", "--seed", "-7"],
        ] {
            assert_eq!(segmentation(wrong), None, "{wrong:?}");
        }
    }
}

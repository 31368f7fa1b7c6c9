//! What can be asked for on the command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use warpline_capture::Segmentation;
use warpline_driver::Address;
use warpline_hdl::{Config, STREAMS};
use warpline_synth::Family;

/// Longest piece of a random segmentation: two segments of an Ethernet with 1500 octets.
const RANDOM_MAX: NonZeroUsize = NonZeroUsize::new(2 * 1460).unwrap();
/// Longest piece there is; a TCP segment cannot be longer.
const PIECE_MAX: NonZeroUsize = NonZeroUsize::new(65535).unwrap();

const EXIT_CODES: &str = "Exit codes:
  0  done; what was looked at is as it should be
  1  it is not
  2  unusable input or options, or output that cannot be written
  3  simulation or card failed, for instance because Verilator is missing

The help of each command says more: warpline card --help";

const REPLAY_HELP: &str = "Exit codes:
  0  done; all that the capture directory records holds
  1  the card did something else than the directory records
  2  unusable input or options, or output that cannot be written
  3  the simulation failed, for instance because Verilator is missing";

const RTL_HELP: &str = "Files of the same names are replaced, others in the folder are left alone.

Exit codes:
  0  written
  2  unusable options, or a folder that cannot be written
  3  the device cannot be described";

const SYNTH_HELP: &str = "The bitstream is DIR/warpline.bit, of the seed with the fastest clock; it holds the device of that width with 4 streams
and 16 KiB rings, and the self-test that constraints/README.md tells of. The same text, seeds and starts give the same
bitstream. Start 0 of a seed is nextpnr's placement with it, start 1 that with a seed 1000 above, and so on.

Exit codes:
  0  made
  1  slower than --at-least, or more than 5 % slower, larger or deeper than --against
  2  unusable options, a device too large for the part, or output that cannot be written
  3  a tool is missing or failed";

const BENCH_HELP: &str = "Exit codes:
  0  measured
  2  unusable options, or output that cannot be written
  3  the simulation failed, for instance because Verilator is missing";

const DOCTOR_HELP: &str = "Exit codes:
  0  nothing keeps a program from the card
  1  something does; what is only advice does not count
  2  unusable address: at a socket nobody answers, or no card
  3  the card at a socket is in use or failed, or the machine does not say what it has";

const STAT_HELP: &str = "A simulated card is as after power-up whenever its host leaves, so at a socket the counters of earlier programs are gone:
a program reads its own with Context::counters.

Exit codes:
  0  printed
  2  unusable address: nobody answers there, or no card
  3  the card is in use, or failed";

const CARD_HELP: &str = "One host at a time is served, the next one waits. Traffic starts when the buffers that it needs are posted, or when the
host has posted nothing for a second.

Exit codes:
  0  interrupted (SIGINT, SIGTERM)
  2  unusable input or options, or a socket or file that cannot be made
  3  the simulation failed, for instance because Verilator is missing";

/// An open iWARP receive offload: its RTL, and its card in simulation.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub command: Command,
    /// Say on standard error what is going on
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the device as SystemVerilog, one file per module, and a list of the files
    #[command(after_help = RTL_HELP)]
    Rtl(Rtl),
    /// Send captured traffic through the simulated card and compare memory with what was recorded
    #[command(after_help = REPLAY_HELP)]
    Replay(Replay),
    /// Replay one capture of Linux soft-iWARP at 64 and at 512 bits
    #[command(after_help = REPLAY_HELP)]
    Demo,
    /// Measure octets per cycle of the receive path (exact, the same on every run), and what the host's path costs
    #[command(after_help = BENCH_HELP)]
    Bench(Bench),
    /// Make a bitstream of the device with yosys and nextpnr, and say how large and how fast it is
    #[command(after_help = SYNTH_HELP)]
    Synth(Synth),
    /// Serve a simulated card at a socket, as a PCI device over vfio-user, until it is interrupted
    #[command(after_help = CARD_HELP)]
    Card(Card),
    /// Say what a PCI card, or the machine, still lacks for a program to use it; exit code 1 when it cannot be used
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Doctor),
    /// Print what a device is and has counted; reads registers only, and takes its turn like any other program
    #[command(after_help = STAT_HELP)]
    Stat(Stat),
}

#[derive(Debug, Args)]
pub(crate) struct Rtl {
    /// Bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width, allow_negative_numbers = true)]
    pub width: usize,
    /// Streams: 4 or 16
    #[arg(long, value_name = "S", value_parser = streams)]
    #[arg(allow_negative_numbers = true, default_value = "4")]
    pub streams: usize,
    /// Octets of each stream's ring and of the commit buffer, a power of two from 4096 to 131072: no larger TCP window, and no
    /// larger FPDU. Any legal FPDU fits into 131072; bitstreams and estimates of `warpline synth` have 16384
    #[arg(long, value_name = "OCTETS", value_parser = ring_octets)]
    #[arg(allow_negative_numbers = true, default_value = "131072")]
    pub ring_octets: usize,
    /// Folder for the files; made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Synth {
    /// Part: lfe5um5g-85f (pins of Lattice's ECP5 Evaluation Board), lfe5um5g-45f or lfe5um5g-25f (pins left open)
    #[arg(long, value_name = "PART", default_value = "lfe5um5g-85f")]
    pub part: String,
    /// Bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width, allow_negative_numbers = true)]
    pub width: usize,
    /// Seeds of placement; the report gives the slowest clock of all
    #[arg(long, value_name = "S,S,…", value_delimiter = ',', value_parser = seed::<u32>)]
    #[arg(allow_negative_numbers = true, default_value = "1")]
    pub seeds: Vec<u32>,
    /// How often each seed is placed and routed, 1 to 9; its fastest start counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9), allow_negative_numbers = true)]
    #[arg(default_value = "1")]
    pub starts: u32,
    /// How many placements at a time, 1 to 64; one takes a processor and 1.5 GB [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), allow_negative_numbers = true)]
    pub jobs: Option<u8>,
    /// Folder for the bitstream, everything on the way to it, and the tools' logs
    #[arg(long, value_name = "DIR", default_value = "target/synth")]
    pub out: PathBuf,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write the report into this file as well
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Compare with an earlier report of the same device
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Clock that every seed has to reach
    #[arg(long, value_name = "MHZ", value_parser = megahertz, allow_hyphen_values = true)]
    pub at_least: Option<f64>,
    /// Only count cells and LUTs in a row, by yosys without placement: ecp5, or xcup for UltraScale+
    #[arg(long, value_name = "FAMILY", value_parser = family, conflicts_with_all = ["part", "seeds", "starts", "jobs", "at_least"])]
    pub estimate: Option<Family>,
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
    /// Record all signals into an FST file; runs on a slower model of its own
    #[arg(long, value_name = "FILE.fst")]
    pub trace: Option<PathBuf>,
    /// Cut the stream into segments of N octets (at most 65535), of random lengths (random), or as long as can be (whole)
    /// [default: as captured]
    #[arg(long, value_name = "N|random|whole", value_parser = segment, allow_negative_numbers = true)]
    pub segment: Option<SegmentLength>,
    /// Seed of --segment random [default: 1]
    #[arg(long, value_name = "S", value_parser = seed::<u64>, allow_negative_numbers = true)]
    pub seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Card {
    /// Socket that hosts connect to; it appears when the card is ready, and goes with it
    #[arg(long, value_name = "PATH")]
    pub socket: PathBuf,
    /// Bits of the data path: 64, 128, 256 or 512
    #[arg(long, value_name = "W", value_parser = width)]
    #[arg(allow_negative_numbers = true, default_value = "64")]
    pub width: usize,
    /// Play the captured stream into every stream that a host arms; of several captures, given one after the other, the one
    /// that begins at the sequence number that the stream is armed with
    #[arg(long, value_name = "CAPTURE_DIR", num_args = 1..)]
    pub serve_traffic: Vec<PathBuf>,
    /// Record all signals into an FST file; runs on a slower model of its own, and fills a disk
    #[arg(long, value_name = "FILE.fst")]
    pub trace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// PCI address of a card, or path of a card's socket [default: all cards on the PCI bus]
    #[arg(value_name = "ADDRESS", value_parser = address())]
    pub address: Option<Address>,
}

#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// PCI address of the card, or path of its socket
    #[arg(value_name = "ADDRESS", value_parser = address())]
    pub address: Address,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Write the figures into this file as well
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw them, and write the picture (SVG) into this file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write how long a single FPDU is under way into this file as well
    #[arg(long, value_name = "FILE")]
    pub latency: Option<PathBuf>,
    /// Also measure segments that come in reverse, 64 KiB at a time, and write that into this file
    #[arg(long, value_name = "FILE")]
    pub reversed: Option<PathBuf>,
    /// Also measure what register accesses and completions cost through driver and vfio-user, and write that into this file
    #[arg(long, value_name = "FILE")]
    pub host_path: Option<PathBuf>,
}

/// Where `--segment` cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentLength {
    Random,
    Every(NonZeroUsize),
}

impl Replay {
    /// The segmentation that is asked for; the error says which options do not go together.
    pub fn segmentation(&self) -> Result<Segmentation, String> {
        match (self.segment, self.seed) {
            (Some(SegmentLength::Random), seed) => Ok(Segmentation::Random {
                seed: seed.unwrap_or(1),
                max: RANDOM_MAX,
            }),
            (_, Some(_)) => Err("--seed goes with --segment random only".into()),
            (Some(SegmentLength::Every(length)), None) => {
                Ok(Segmentation::Every(length.min(PIECE_MAX)))
            }
            (None, None) => Ok(Segmentation::AsCaptured),
        }
    }
}

fn width(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(width @ (64 | 128 | 256 | 512)) => Ok(width),
        _ => Err("choose 64, 128, 256 or 512"),
    }
}

fn megahertz(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(clock) if clock.is_finite() && clock > 0.0 => Ok(clock),
        _ => Err("give a clock above 0, in MHz"),
    }
}

fn seed<T: FromStr>(text: &str) -> Result<T, String> {
    let most = 8 * size_of::<T>();
    text.parse()
        .map_err(|_| format!("give a whole number below 2^{most}"))
}

fn family(text: &str) -> Result<Family, &'static str> {
    Family::of_name(text).ok_or("choose ecp5 or xcup")
}

fn streams(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(streams) if STREAMS.contains(&streams) => Ok(streams),
        _ => Err("choose 4 or 16"),
    }
}

fn ring_octets(text: &str) -> Result<usize, String> {
    let ring_octets = text
        .parse()
        .map_err(|_| "give a power of two from 4096 to 131072")?;
    let config = Config {
        ring_octets,
        commit_octets: ring_octets,
        ..Config::simulated(64)
    };
    match config.validate() {
        Ok(()) => Ok(ring_octets),
        Err(error) => Err(error.to_string()),
    }
}

/// A path need not be Unicode.
fn address() -> impl TypedValueParser<Value = Address> {
    OsStringValueParser::new().try_map(|text| Address::try_from(text.as_os_str()))
}

fn segment(text: &str) -> Result<SegmentLength, &'static str> {
    match text {
        "random" => Ok(SegmentLength::Random),
        "whole" => Ok(SegmentLength::Every(PIECE_MAX)),
        _ => match text.parse() {
            Ok(length) => Ok(SegmentLength::Every(length)),
            Err(_) => Err("give a positive number of octets, random or whole"),
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
        assert_eq!(segmentation(&["--segment", "65536"]), every(65535));
        assert_eq!(segmentation(&["--segment", "whole"]), every(65535));
        assert_eq!(segmentation(&["--segment", "random"]), random(1));
        let seeded = ["--segment", "random", "--seed", "7"];
        assert_eq!(segmentation(&seeded), random(7));
        for wrong in [
            &["--segment", "0"][..],
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

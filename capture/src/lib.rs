//! Reads captured iWARP traffic: what was on the wire, and what it did to the target's memory.
//!
//! A *capture directory* holds `wire.pcap` and, each optional, the ground truth of that run:
//!
//! ```text
//! wire.pcap ─► pcap ─► packet ─► connection ────► mpa ──────────► Flow
//!              records  TCP       both directions  Request/Reply,   (sequence number, octets),
//!                       segments  (tcp)            SeqStart         ready for a receiver
//!
//! regions.json             buffer addresses and STags      ─► Regions
//! memory.bin.gz            target region after the run     ─► Vec<u8>
//! receive-buffers.bin.gz   receive buffers after the run   ─► Vec<u8>
//! completions.jsonl        work completions of the target  ─► Vec<Completion>
//! terminate.txt            kernel log                      ─► String
//! ```
//!
//! This crate checks no FPDUs: it returns what TCP carried, and a receiver checks it. [`replay`] says what a receiver must
//! register and post first, and what memory must hold afterwards. [`explain`] says what octets are, field by field.
//! No input makes it panic; each error is typed and prints as one line.
//!
//! ```no_run
//! let capture = warpline_capture::Capture::open("testbenches/captures/crc1-rev2-writes")?;
//! let flow = capture.target_flow();
//! for (seq, octets) in &flow.segments {
//!     println!("{seq:#010x} {} octets", octets.len());
//! }
//! # Ok::<(), warpline_capture::Error>(())
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod connection;
mod error;
pub mod explain;
mod folder;
mod mpa;
mod packet;
mod pcap;
pub mod replay;
mod segmentation;
mod skipped;
mod tcp;
mod traffic;
mod truth;

use std::io::Read;
use std::path::{Path, PathBuf};

pub use connection::Connection;
pub use error::{Error, MpaError, TrafficError};
pub use mpa::{Flow, Mpa, StartFrame};
pub use segmentation::{Piece, Segmentation, reorder, resegment};
pub use skipped::Skipped;
pub use tcp::{Direction, Gap, Side, Stream, TcpFlags, TcpSegment};
pub use traffic::Traffic;
pub use truth::{Completion, Regions, Terminate};

/// Files of a capture directory: the traffic and its ground truth.
const FILES: [&str; 6] = [
    "wire.pcap",
    "regions.json",
    "memory.bin.gz",
    "receive-buffers.bin.gz",
    "completions.jsonl",
    "terminate.txt",
];

/// One run: its traffic, and the ground truth that was recorded with it.
#[derive(Debug, Clone)]
pub struct Capture {
    /// TCP connections in the order of their first packet; at least one of them speaks MPA.
    pub connections: Vec<Connection>,
    /// Packets of `wire.pcap` that cannot be read, by reason.
    pub skipped: Vec<Skipped>,
    /// Why `wire.pcap` could not be read to its end.
    pub stopped: Option<TrafficError>,
    /// `regions.json`: where the target's buffers were.
    pub regions: Option<Regions>,
    /// `memory.bin.gz`: the target region after the run; it was filled with 0xEE before.
    pub memory: Option<Vec<u8>>,
    /// `receive-buffers.bin.gz`: all receive buffers after the run; they were filled with 0xDD before.
    pub receive_buffers: Option<Vec<u8>>,
    /// `completions.jsonl`: the target's work completions, in polling order.
    pub completions: Option<Vec<Completion>>,
    /// `terminate.txt`: kernel log lines of the run; invalid UTF-8 is replaced.
    pub kernel_log: Option<String>,
}

impl Capture {
    /// Reads a capture directory, or a single pcap or pcapng file, plain or packed with gzip (then there is no ground truth).
    ///
    /// # Errors
    /// `wire.pcap` is missing, unreadable or carries no MPA connection, or a ground-truth file is malformed or has the
    /// wrong size.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if path.is_dir() {
            Self::open_directory(path)
        } else {
            Ok(Self::of(open_traffic(path)?))
        }
    }

    /// The files that [`open`](Self::open) reads if they exist.
    pub fn files(path: impl AsRef<Path>) -> Vec<PathBuf> {
        let path = path.as_ref();
        match path.is_dir() {
            true => FILES.map(|name| path.join(name)).into(),
            false => vec![path.into()],
        }
    }

    /// Traffic without ground truth.
    fn of(traffic: Traffic) -> Self {
        Self {
            connections: traffic.connections,
            skipped: traffic.skipped,
            stopped: traffic.stopped,
            regions: None,
            memory: None,
            receive_buffers: None,
            completions: None,
            kernel_log: None,
        }
    }

    fn open_directory(dir: &Path) -> Result<Self, Error> {
        let [
            wire,
            regions,
            memory,
            receive_buffers,
            completions,
            kernel_log,
        ] = FILES.map(|name| dir.join(name));
        let traffic = open_traffic(&wire)?;
        let regions = folder::optional(&regions, truth::regions)?;
        let regions_len = regions.as_ref().map(|r| r.len);
        let buffers_len = regions.as_ref().map(Regions::receive_buffers_len);
        Ok(Self {
            connections: traffic.connections,
            skipped: traffic.skipped,
            stopped: traffic.stopped,
            memory: folder::optional(&memory, |path, file| truth::image(path, file, regions_len))?,
            receive_buffers: folder::optional(&receive_buffers, |path, file| {
                truth::image(path, file, buffers_len)
            })?,
            completions: folder::optional(&completions, truth::completions)?,
            kernel_log: folder::optional(&kernel_log, truth::kernel_log)?,
            regions,
        })
    }

    /// The connections on which MPA start-up succeeded, in capture order. Never empty after [`open`](Self::open).
    pub fn mpa_connections(&self) -> impl Iterator<Item = (&Connection, &Mpa)> {
        self.connections
            .iter()
            .filter_map(|c| c.mpa.as_ref().ok().map(|mpa| (c, mpa)))
    }

    /// What the target received: the flow from Initiator to Responder of the first MPA connection.
    ///
    /// The recorded memory, buffers and completions belong to this flow. It is empty only if a caller emptied
    /// [`connections`](Self::connections).
    pub fn target_flow(&self) -> Flow {
        self.mpa_connections()
            .next()
            .map(|(connection, mpa)| {
                mpa::flow(connection.sent_by(mpa.initiator), mpa, mpa.initiator)
            })
            .unwrap_or_default()
    }

    /// The last Terminate that the recorded kernel log reports, if any.
    pub fn terminate(&self) -> Option<Terminate> {
        truth::terminate(self.kernel_log.as_deref()?).ok()?
    }
}

/// The TCP connections of a capture file held in memory: those of [`Traffic::read`].
///
/// # Errors
/// As [`Traffic::read`].
pub fn read_traffic(octets: &[u8]) -> Result<Vec<Connection>, TrafficError> {
    Ok(Traffic::read(octets)?.connections)
}

/// Reads a file, but no pipe, and not more than this crate holds in memory; of a directory its `wire.pcap`.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn read_file(path: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
    let path = path.as_ref();
    let [wire, ..] = FILES;
    let path = match path.is_dir() {
        true => path.join(wire),
        false => path.into(),
    };
    let file = folder::open(&path).map_err(|source| Error::read(&path, source))?;
    folder::read_all(&path, file)
}

/// Reads all octets of an input that is called `name`, but not more than this crate holds in memory.
///
/// # Errors
/// The input cannot be read, or is too large.
pub fn read_input(name: impl AsRef<Path>, input: impl Read) -> Result<Vec<u8>, Error> {
    folder::read_all(name.as_ref(), input)
}

fn open_traffic(path: &Path) -> Result<Traffic, Error> {
    let octets = read_file(path)?;
    Traffic::read(&octets).map_err(|source| Error::Traffic {
        path: path.into(),
        source,
    })
}

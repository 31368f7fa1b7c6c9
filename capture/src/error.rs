//! Errors of captures. Each prints as one line that names the file and the fault.

use std::io;
use std::path::{Path, PathBuf};

use warpline_wire::start::Kind;

/// A capture directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("{path}: cannot read: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is larger than this crate holds in memory, or has no end.
    #[error("{path}: more than {limit} octets, which is more than this program holds in memory", path = path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// Most octets accepted.
        limit: u64,
    },
    /// The packet capture is unusable.
    #[error("{path}: {source}", path = path.display())]
    Traffic {
        /// The capture file.
        path: PathBuf,
        /// What is wrong with it.
        source: TrafficError,
    },
    /// A JSON file does not have the expected form.
    #[error("{path}: {source}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The parser's reason, with line and column.
        source: serde_json::Error,
    },
    /// The kernel's log reports a Terminate, but not its layer, type and code.
    #[error("{path}: no layer, type and code of the Terminate: {line:?}", path = path.display())]
    Terminate {
        /// The log.
        path: PathBuf,
        /// The line.
        line: String,
    },
    /// A memory image is not whole gzip data.
    #[error("{path}: not a whole gzip file: {source}", path = path.display())]
    Gzip {
        /// The image file.
        path: PathBuf,
        /// The decompressor's reason.
        source: io::Error,
    },
    /// A memory image does not have the size that `regions.json` states.
    #[error("{path}: unpacks to {found} octets, regions.json says {expected}", path = path.display())]
    ImageSize {
        /// The image file.
        path: PathBuf,
        /// Octets in the image; counting stops one past `expected`.
        found: u64,
        /// Octets according to `regions.json`.
        expected: u64,
    },
    /// A memory image is larger than this crate holds in memory.
    #[error("{path}: image of {octets} octets or more, the limit is {limit}", path = path.display())]
    ImageTooLarge {
        /// The image file.
        path: PathBuf,
        /// Octets stated or found.
        octets: u64,
        /// Most octets accepted.
        limit: u64,
    },
}

impl Error {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read {
            path: path.into(),
            source,
        }
    }

    pub(crate) fn json(path: &Path, source: serde_json::Error) -> Self {
        Self::Json {
            path: path.into(),
            source,
        }
    }
}

/// A packet capture cannot be used. Packets count from 1, as capture tools show them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// Neither classic pcap nor pcapng.
    #[error("not a pcap or pcapng file")]
    NotACapture,
    /// A packed file is damaged, or ends early.
    #[error("the gzip data is damaged or ends early ({reason}); what comes before counts")]
    Gzip {
        /// The decompressor's reason.
        reason: String,
    },
    /// A packed file is larger than this crate holds in memory.
    #[error("unpacks to more than {limit} octets, which is more than this program holds in memory")]
    TooLarge {
        /// Most octets accepted.
        limit: u64,
    },
    /// A variant of the file format that this crate does not read.
    #[error("capture format variant {0} is not supported; convert it with editcap -F pcap")]
    Variant(&'static str),
    /// The file ends inside a record.
    #[error("the file ends inside the record after packet {after}: the capture was truncated")]
    Truncated {
        /// Packets read completely.
        after: u64,
    },
    /// A pcapng block contradicts itself.
    #[error("damaged pcapng block after packet {after}")]
    Block {
        /// Packets read completely.
        after: u64,
    },
    /// The capture tool kept only the first octets of a packet.
    #[error(
        "packet {packet} was cut to {captured} of {length} octets; capture again with a full snap length"
    )]
    Cut {
        /// Number of the packet.
        packet: u64,
        /// Octets kept.
        captured: u32,
        /// Octets on the wire.
        length: u32,
    },
    /// The packets have a link header that this crate does not read.
    #[error(
        "packet {packet}: link type {link_type} is not supported (Ethernet, Linux cooked, null and raw IP are)"
    )]
    LinkType {
        /// Number of the packet.
        packet: u64,
        /// The number from the tcpdump link-type registry.
        link_type: i32,
    },
    /// Link, IP or TCP header is malformed.
    #[error("packet {packet}: {reason}")]
    Packet {
        /// Number of the packet.
        packet: u64,
        /// What is wrong.
        reason: String,
    },
    /// TCP inside an IP fragment.
    #[error("packet {packet} is an IP fragment of a TCP segment; fragments are not reassembled")]
    Fragment {
        /// Number of the packet.
        packet: u64,
    },
    /// No TCP segment in the whole capture.
    #[error("no TCP connection in this capture")]
    NoTcp,
    /// No DATA chunk of SCTP in the whole capture.
    #[error("no DATA chunk of SCTP in this capture")]
    NoSctp,
    /// TCP, but no MPA start-up.
    #[error("no MPA traffic in {connections} TCP connection(s); the first one: {reason}")]
    NoMpa {
        /// TCP connections in the capture.
        connections: usize,
        /// Why the first one is not MPA.
        reason: MpaError,
    },
}

/// A TCP connection carries no complete MPA start-up (RFC 5044 §7.1).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MpaError {
    /// No Request key in either direction.
    #[error("no MPA Request frame")]
    NoRequest,
    /// A Request, but no Reply key in the opposite direction.
    #[error("an MPA Request frame, but no Reply frame")]
    NoReply,
    /// The stream ends, or has a gap, inside a start frame.
    #[error(
        "the {kind:?} frame at sequence number {seq} needs {needed} octets, only {found} were captured in order"
    )]
    Incomplete {
        /// Request or Reply.
        kind: Kind,
        /// Sequence number of its first octet.
        seq: u32,
        /// Octets of the frame, as far as they are known.
        needed: usize,
        /// Octets present.
        found: usize,
    },
    /// A start frame is malformed.
    #[error("the {kind:?} frame at sequence number {seq}: {source}")]
    Frame {
        /// Request or Reply.
        kind: Kind,
        /// Sequence number of its first octet.
        seq: u32,
        /// What is wrong with it.
        source: warpline_wire::start::StartError,
    },
    /// The Reply rejects the connection (R = 1): full operation never begins.
    #[error("the Reply frame rejects the connection (R = 1)")]
    Rejected,
}

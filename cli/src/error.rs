//! Errors of the commands. Each prints as one line, with its remedy.

use std::io;
use std::path::PathBuf;

use crate::transfer::TransferError;

/// A command failed before it had a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The capture cannot be used.
    #[error(transparent)]
    Capture(#[from] warpline_capture::Error),
    /// The capture cannot be replayed.
    #[error(transparent)]
    Replay(#[from] warpline_capture::replay::ReplayError),
    /// One of several captures cannot be replayed.
    #[error("{}: {source}", capture.display())]
    CannotReplay {
        /// The capture.
        capture: PathBuf,
        /// The reason.
        source: warpline_capture::replay::ReplayError,
    },
    /// A region cannot be registered.
    #[error("the region of STag {stag:#010x} cannot be registered: {source}")]
    Region {
        /// Its STag.
        stag: u32,
        /// The driver's reason.
        source: warpline_driver::Error,
    },
    /// More messages are open at a time than their queue can hold buffers.
    #[error(
        "more than {slots} messages of queue {queue} are open at a time: the card holds {slots} buffers of a queue"
    )]
    Open {
        /// The untagged queue.
        queue: u8,
        /// Buffers it can hold.
        slots: usize,
    },
    /// A file or folder cannot be written.
    #[error("{path}: cannot write: {source}", path = path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{path}: cannot read: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A capture has nothing to explain.
    #[error("{input}: {source}")]
    Conversation {
        /// The capture, as it was given.
        input: String,
        /// The reason.
        source: warpline_capture::explain::ConversationError,
    },
    /// Text that should be hexadecimal octets is not.
    #[error("{input}: no hexadecimal octets: {source}")]
    Hex {
        /// The text, or its file.
        input: String,
        /// The reason.
        source: warpline_capture::explain::HexError,
    },
    /// Neither a file nor octets.
    #[error("{input}: no such file, and no hexadecimal octets: {source}")]
    NoInput {
        /// As it was given.
        input: String,
        /// Why it is not octets.
        source: warpline_capture::explain::HexError,
    },
    /// An input without octets.
    #[error("{input}: no octets: give a capture, a file of octets, or hexadecimal octets")]
    NoOctets {
        /// The input.
        input: String,
    },
    /// Chunks of SCTP, of which none is a DATA chunk.
    #[error("{input}: no DATA chunk of SCTP: give octets that begin with the header of a chunk")]
    NoChunk {
        /// The input.
        input: String,
    },
    /// An option that does not go with the input.
    #[error("{input}: {option} is for {other}")]
    WrongOption {
        /// The input.
        input: String,
        /// The option.
        option: &'static str,
        /// What it is for, and what the input says of it.
        other: &'static str,
    },
    /// This program has no SCTP.
    #[error(
        "{endpoint}: this program is built without SCTP: build it with `cargo build -p warpline --features sctp`, which needs libusrsctp"
    )]
    NoSctp {
        /// The address given.
        endpoint: warpline_driver::Endpoint,
    },
    /// The stream has not so many FPDUs.
    #[error("{input}: there is no FPDU {number}: the last one is {last}")]
    NoFpdu {
        /// The input.
        input: String,
        /// The number given.
        number: u64,
        /// FPDUs of the stream.
        last: u64,
    },
    /// No octet of an FPDU reaches the card.
    #[error("{input}: no octet of FPDU {number} reaches the card")]
    NoLife {
        /// The input.
        input: String,
        /// The FPDU.
        number: u64,
    },
    /// A waveform cannot be drawn.
    #[cfg(feature = "wave")]
    #[error(transparent)]
    Wave(#[from] warpline_wave::Error),
    /// A signal is zero in all cycles.
    #[error("{}: {signal} is zero from cycle {from} on", path.display())]
    Never {
        /// The waveform.
        path: PathBuf,
        /// The signal.
        signal: String,
        /// The first cycle looked at.
        from: u64,
    },
    /// Too many cycles for a diagram.
    #[error(
        "{cycles} cycles are too many for a diagram: choose at most {most} by --from, --to and --cycles"
    )]
    Wide {
        /// The cycles asked for.
        cycles: u64,
        /// The most.
        most: u64,
    },
    /// What is to be transferred is no regular file.
    #[error("{}: is a folder, pipe or device: give a regular file", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// A file to transfer has no octets.
    #[error("{}: is empty: give a file with at least one octet", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A file to transfer has more octets than a region may have.
    #[error("{}: has {octets} octets, and a region at most {most}: transfer it in parts", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its octets.
        octets: u64,
        /// The most.
        most: u64,
    },
    /// A seed of placement is given twice.
    #[cfg(feature = "rtl")]
    #[error(
        "seed {seed} is given twice: the same seed gives the same placement; --starts places a seed several times"
    )]
    RepeatedSeed {
        /// The seed.
        seed: u32,
    },
    /// A transfer failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The network side of the simulated card failed.
    #[error(transparent)]
    Network(warpline_sim::NetworkError),
    /// The command also reads the file that it would write, or writes it for another purpose.
    #[error("{}: is a file of the capture, the socket, the report to compare with, written twice, or made by the tools: choose another file to write to", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// The socket cannot be used.
    #[error(transparent)]
    Listen(#[from] warpline_sim::ListenError),
    /// The system refuses a signal handler.
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
    /// A view needs a terminal.
    #[cfg(feature = "watch")]
    #[error(
        "--watch: {stream} is no terminal: add --json for one JSON object a line, or leave --watch out"
    )]
    NoTerminal {
        /// Standard input or output.
        stream: &'static str,
    },
    /// The terminal of a view failed, or a thread of the card did.
    #[cfg(feature = "watch")]
    #[error("the view has ended: {0}")]
    View(io::Error),
    /// A card at a socket does not answer.
    #[error(
        "{}: no answer: another program uses the card, which serves one host at a time; try again when that program has ended",
        path.display()
    )]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// The machine's devices cannot be listed.
    #[error("cannot scan the PCI bus: {0}")]
    Machine(io::Error),
    /// The result has no JSON form.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The device cannot be written as SystemVerilog.
    #[error(transparent)]
    Design(#[from] warpline_design::DesignError),
    /// Synthesis failed.
    #[cfg(feature = "rtl")]
    #[error(transparent)]
    Synth(#[from] warpline_synth::Error),
    /// An earlier report cannot be used.
    #[error("{}: no report to compare with: {reason}", path.display())]
    Against {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The simulated card failed.
    #[error(transparent)]
    Card(#[from] warpline_sim::Error),
    /// The driver failed.
    #[error(transparent)]
    Driver(#[from] warpline_driver::Error),
    /// The bench did not find in memory what it sent.
    #[error("the bench of {ulpdu}-octet ULPDUs at {width} bits went wrong: {reason}")]
    Bench {
        /// Width of the data path in bits.
        width: usize,
        /// Octets of each ULPDU.
        ulpdu: usize,
        /// What is wrong.
        reason: String,
    },
    /// Nothing can listen at an address.
    #[error("{endpoint}: cannot listen: {source}; give an address of this machine and a free port")]
    Address {
        /// The address.
        endpoint: warpline_driver::Endpoint,
        /// The system's reason.
        source: io::Error,
    },
    /// A folder has no record of warpline.
    #[error(
        "{}: no records of warpline here: give the root of a checkout with --records",
        folder.display()
    )]
    NoRecords {
        /// The folder.
        folder: PathBuf,
    },
    /// A chart of the report could not be drawn.
    #[error("{chart}: cannot draw: {reason}")]
    Chart {
        /// The chart.
        chart: String,
        /// What is wrong.
        reason: String,
    },
    /// The figures could not be drawn.
    #[error("{path}: cannot draw: {reason}")]
    Plot {
        /// The file of the picture.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl Error {
    /// Exit code of the command: 2 for wrong input, 3 for a failure of simulation, tools or device.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            // No device there, or another one: the address is wrong.
            Self::Driver(
                warpline_driver::Error::Open(_) | warpline_driver::Error::NotWarpline { .. },
            ) => 2,
            #[cfg(feature = "rtl")]
            Self::Synth(error) => match error.is_request() {
                true => 2,
                false => 3,
            },
            #[cfg(feature = "watch")]
            Self::View(_) => 3,
            Self::Design(warpline_design::DesignError::Config(_)) => 2,
            // A waveform that cannot be written: its path is wrong.
            Self::Card(error) if error.is_output() => 2,
            Self::Transfer(
                TransferError::Ended { .. }
                | TransferError::Silent(_)
                | TransferError::Thread(_)
                | TransferError::GaveUp { .. }
                | TransferError::Driver(_),
            )
            | Self::Json(_)
            | Self::Design(_)
            | Self::Card(_)
            | Self::Driver(_)
            | Self::Signals(_)
            | Self::Machine(_)
            | Self::InUse { .. }
            | Self::Bench { .. }
            | Self::Chart { .. }
            | Self::Plot { .. } => 3,
            _ => 2,
        }
    }

    /// Whether the error includes the output of a compiler or Verilator, which has several lines.
    pub(crate) fn has_lines(&self) -> bool {
        matches!(self, Self::Card(error) if error.is_of_build())
    }

    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Write { path, source }
    }
}

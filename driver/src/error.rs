//! Errors, with the offending value and the remedy.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use warpline_regmap::mailbox::{CloseReason, FailureCause, ListenFailure, MessageError, Refusal};
use warpline_regmap::transmit::SlotError;

use crate::device::BackendError;
use crate::open_error::OpenError;
use crate::words::{hex, meaning};

/// What the driver reports instead of a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The backend failed.
    #[error("{action} failed: {source}")]
    Device {
        /// What the driver asked for.
        action: &'static str,
        /// The backend's reason.
        source: BackendError,
    },
    /// The identity register holds something else.
    #[error("this is no warpline device: IDENTITY reads {found:#010x}; check the address")]
    NotWarpline {
        /// What was read.
        found: u32,
    },
    /// The device has a register map of another major version.
    #[error(
        "the device has register map {found:#010x}, this driver knows major version {known}: use a matching pair"
    )]
    Version {
        /// What `VERSION` reads.
        found: u32,
        /// Major version of this driver.
        known: u32,
    },
    /// A register that describes the device holds a value that no device has.
    #[error("register {register} reads {value:#010x}, which no device has: reset the device")]
    Shape {
        /// Name of the register.
        register: &'static str,
        /// What was read.
        value: u32,
    },
    /// A completion queue of that size is not possible.
    #[error("{entries} completion entries: use a power of two from 1 to 65536")]
    CompletionEntries {
        /// Entries asked for.
        entries: u32,
    },
    /// The device does not accept the completion queue.
    #[error(
        "the device refused a completion queue of {entries} entries at bus address {iova:#x}, COMPLETION_ENTRIES reads \
{found}: use a driver and a device that match"
    )]
    CompletionQueueRefused {
        /// Entries asked for.
        entries: u32,
        /// Bus address of the queue.
        iova: u64,
        /// What `COMPLETION_ENTRIES` reads.
        found: u32,
    },
    /// A receive ring of that size is not possible.
    #[error("{entries} entries of a receive ring: use a power of two from 16 to 32768")]
    ReceiveEntries {
        /// Entries asked for.
        entries: u32,
    },
    /// A send ring of that size is not possible.
    #[error("{entries} slots of a send ring: use a power of two from 4 to 4096")]
    SendEntries {
        /// Slots asked for.
        entries: u32,
    },
    /// The device does not send.
    #[error("the device has no send queues: use one that has them, or leave sending out")]
    NoTransmit,
    /// The stream has no send queue.
    #[error("stream {stream} has no send queue: attach one first")]
    NoSendQueue {
        /// The stream.
        stream: u8,
    },
    /// The stream has a send queue already.
    #[error("stream {stream} has a send queue: a stream has one")]
    SendQueueAttached {
        /// The stream.
        stream: u8,
    },
    /// The send queue is full.
    #[error(
        "the send queue of stream {stream} is full with {slots} requests: wait for a completion"
    )]
    SendQueueFull {
        /// The stream.
        stream: u8,
        /// Requests that it can hold.
        slots: u32,
    },
    /// The request is not valid.
    #[error("send request: {0}")]
    SendRequest(#[from] SlotError),
    /// The queue pair takes no more requests.
    #[error("the queue pair of stream {stream} has ended or is about to: connect again")]
    PairEnded {
        /// Its stream.
        stream: u8,
    },
    /// The queue pair has no connection that could be ended gracefully.
    #[error("the queue pair of stream {stream} was not made by a connection: close it")]
    NoConnection {
        /// Its stream.
        stream: u8,
    },
    /// The peer takes no Reads.
    #[error("RDMA Reads of stream {stream}: ORD is 0, ask for more when connecting")]
    NoReads {
        /// Its stream.
        stream: u8,
    },
    /// A Read Response could not be placed.
    #[error("STag {stag:#010x} is the sink of an RDMA Read: register it with remote_write")]
    ReadSink {
        /// STag of the sink.
        stag: u32,
    },
    /// The device does not connect.
    #[error(
        "the device has no control program, or no interrupt of it reaches the driver: it cannot listen or connect"
    )]
    NoMailbox,
    /// All numbers are in use.
    #[error("all numbers of listeners or connections are in use: drop some")]
    NoConnectionNumber,
    /// The card's control program wrote a malformed message.
    #[error("message {head:#010x} of the card: {source}; reset the device")]
    CardMessage {
        /// Its first word.
        head: u32,
        /// What is wrong with it.
        source: MessageError,
    },
    /// The card's control program writes messages without end.
    #[error("the card has passed {count} messages without a pause: reset the device")]
    CardMessages {
        /// Messages that were taken.
        count: usize,
    },
    /// The private data is too long.
    #[error("private data: {0}")]
    PrivateData(#[from] MessageError),
    /// The card's control program did not carry a message out.
    #[error("the card refuses a message of kind {kind}: {}", meaning(Refusal::VALUES, *reason as u8))]
    MessageRefused {
        /// Kind of the message: see `warpline_regmap::mailbox::HostKind`.
        kind: u8,
        /// Why.
        reason: Refusal,
    },
    /// The card cannot listen there.
    #[error("listening at {address}: {}; use an address of the card and a free port", meaning(ListenFailure::VALUES, *reason as u8))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        reason: ListenFailure,
    },
    /// The card did not open the listener in time.
    #[error("listening at {address}: the card did not answer in time")]
    ListenTimeout {
        /// The address.
        address: SocketAddr,
    },
    /// The card did not confirm settings in time.
    #[error("the card did not confirm its settings in time")]
    ConfigureTimeout,
    /// The peer rejected the connection.
    #[error("the peer rejected the connection, with {} octets of private data", private_data.len())]
    Rejected {
        /// What it said.
        private_data: Vec<u8>,
    },
    /// Start-up failed.
    #[error("start-up failed: {}", meaning(FailureCause::VALUES, *cause as u8))]
    StartUp {
        /// Why.
        cause: FailureCause,
    },
    /// The connection ended during start-up.
    #[error("the connection ended during start-up: {}", meaning(CloseReason::VALUES, *reason as u8))]
    ConnectionClosed {
        /// How.
        reason: CloseReason,
    },
    /// Start-up was not complete in time.
    #[error(
        "connection {connection:#06x} was not established in time: allow more, or check the peer"
    )]
    ConnectionTimeout {
        /// Its number.
        connection: u16,
    },
    /// The interrupt holdoff is too long.
    #[error("an interrupt holdoff of {cycles} cycles: use less than 2^24")]
    Holdoff {
        /// Cycles asked for.
        cycles: u32,
    },
    /// No such stream.
    #[error("the device has {streams} streams, stream {stream} does not exist: use 0 to {}", streams - 1)]
    NoStream {
        /// Stream asked for.
        stream: u8,
        /// Streams of the device.
        streams: u8,
    },
    /// The stream is in use.
    #[error("stream {stream} is armed: close it first")]
    StreamArmed {
        /// The stream.
        stream: u8,
    },
    /// Memory regions that were registered for the stream before it was closed still exist.
    #[error(
        "STag {stag:#010x} was registered for the closed stream {stream}: revoke it before the stream is armed again"
    )]
    StreamRegions {
        /// The stream.
        stream: u8,
        /// An STag of it.
        stag: u32,
    },
    /// A region for one stream that is armed in another protection domain could never be used (AMB-59).
    #[error(
        "stream {stream} is armed in protection domain {domain}: register the region for it in that domain"
    )]
    StreamDomain {
        /// The stream.
        stream: u8,
        /// Its protection domain.
        domain: u16,
    },
    /// A region for the stream is of another protection domain and could never be used (AMB-59).
    #[error(
        "STag {stag:#010x} was registered for stream {stream} in protection domain {domain}: arm the stream there, or revoke it"
    )]
    RegionDomain {
        /// The stream.
        stream: u8,
        /// The STag.
        stag: u32,
        /// Its protection domain.
        domain: u16,
    },
    /// The stream met an error and accepts no more buffers.
    #[error("stream {stream} has met an error: close it; its error record has the details")]
    StreamFailed {
        /// The stream.
        stream: u8,
    },
    /// Queue bits that the device does not have.
    #[error(
        "queue mask {mask:#04x}: the device has {queues} untagged queues a stream, leave the bits above clear"
    )]
    QueueMask {
        /// Bits asked for.
        mask: u8,
        /// Queues of each stream.
        queues: u8,
    },
    /// The stream was armed without that queue.
    #[error("stream {stream} was armed without queue {queue}: set its bit in the stream's queues")]
    NoQueue {
        /// The stream.
        stream: u8,
        /// Queue asked for.
        queue: u8,
    },
    /// The queue is full.
    #[error("queue {queue} of stream {stream} is full with {slots} buffers: wait for a completion")]
    QueueFull {
        /// The stream.
        stream: u8,
        /// The queue.
        queue: u8,
        /// Buffers that a queue can hold.
        slots: u32,
    },
    /// All protection domain numbers are in use.
    #[error("all 65536 protection domains are in use: drop one")]
    NoDomain,
    /// All slots of the STag table are in use.
    #[error("all {slots} slots of the STag table are in use: revoke a memory region")]
    NoStagSlot {
        /// Slots of the table.
        slots: u32,
    },
    /// The slot that an STag belongs to is in use.
    #[error(
        "STag {stag:#010x} needs slot {slot}, which STag {holder:#010x} uses: revoke that one first"
    )]
    StagSlotTaken {
        /// STag asked for.
        stag: u32,
        /// Its slot.
        slot: u32,
        /// STag in that slot.
        holder: u32,
    },
    /// A range that leaves its memory.
    #[error("octets {offset} to {offset} + {length} lie outside a memory of {size} octets")]
    Range {
        /// First octet.
        offset: usize,
        /// Octets.
        length: usize,
        /// Octets of the memory.
        size: usize,
    },
    /// Tagged Offsets that pass 2^64.
    #[error("{length} octets from Tagged Offset {base:#018x} on pass 2^64: use a smaller base")]
    TaggedOffsets {
        /// Tagged Offset of the first octet.
        base: u64,
        /// Octets.
        length: usize,
    },
    /// Memory of that size is not possible.
    #[error("{length} octets of memory: use 1 to 2^47")]
    MemorySize {
        /// Octets asked for.
        length: usize,
    },
    /// The kernel gave no memory.
    #[error("{length} octets of DMA memory: {source}")]
    Memory {
        /// Octets asked for.
        length: usize,
        /// The kernel's reason.
        source: io::Error,
    },
    /// No bus addresses are left.
    #[error("no {length} bus addresses in a row are free: revoke memory regions or drop buffers")]
    NoBusAddress {
        /// Octets asked for.
        length: u64,
    },
    /// The operating system gave no random octets for an STag's key.
    #[error("no random octets for an STag: {0}")]
    Random(getrandom::Error),
    /// The device refused a command that the driver considers legal.
    #[error(
        "the device refused {command} with the words {}: reset the device, its state is not the one that the driver expects",
        hex(arguments)
    )]
    Refused {
        /// Name of the command.
        command: &'static str,
        /// Its arguments.
        arguments: Vec<u32>,
    },
    /// The device did not finish a command in time.
    #[error(
        "{command} did not finish within {timeout:?}: the driver gives the device up; memory it may still write to is kept"
    )]
    CommandTimeout {
        /// Name of the command.
        command: &'static str,
        /// Time given.
        timeout: Duration,
    },
    /// `COMMAND` does not show the command that was given.
    #[error("COMMAND reads {found:#010x} after {command}: is another driver using the device?")]
    CommandLost {
        /// Name of the command.
        command: &'static str,
        /// What was read.
        found: u32,
    },
    /// The device no longer answers, or an earlier command did not finish.
    #[error("the device is gone: open it again; memory it may still write to is kept")]
    Gone,
    /// The bus refused a completion that the device wrote: completions are lost, and memory that was posted or registered
    /// cannot be returned.
    #[error(
        "the bus refused a completion entry of the device: open it again; memory it may still write to is kept"
    )]
    CompletionFault,
    /// The device wrote a malformed completion.
    #[error(
        "completion {index} with the words {}: {reason}; reset the device",
        hex(words)
    )]
    Completion {
        /// Number of the entry since the queue was started, modulo 2^32.
        index: u32,
        /// The entry.
        words: [u32; 8],
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A stream's error record is malformed.
    #[error(
        "error record of stream {stream} with the words {}: {reason}; reset the device",
        hex(words)
    )]
    Record {
        /// The stream.
        stream: u8,
        /// The record.
        words: [u32; 12],
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl Error {
    /// `map_err` argument for what the backend was asked to do.
    pub(crate) fn device(action: &'static str) -> impl FnOnce(BackendError) -> Self {
        move |source| Self::Device { action, source }
    }
}

/// An error, and the item that was passed to the failed call.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Returned<T: std::fmt::Debug> {
    /// The error.
    pub error: Error,
    /// The item, or of several the first one that was not taken, with those after it; `None` when the device may still access it, or when
    /// its memory could not be mapped.
    pub item: Option<T>,
}

impl<T: std::fmt::Debug> From<Returned<T>> for Error {
    fn from(returned: Returned<T>) -> Self {
        returned.error
    }
}

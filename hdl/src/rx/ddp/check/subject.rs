//! What `check` works on: an FPDU, or something between two of them.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;

/// Commands of `control`. The arguments are those of the host's command of the same name.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CheckCommand {
    /// Write an entry of the STag table: `stag_entry`. Refused when the region runs beyond 2^64.
    WriteStag,
    /// Clear the entry that holds the STag, if one does: `revoke`. Never refused; a `Fence` must follow.
    RevokeStag,
    /// Start a stream: `stream_context`. Clears frozen bit, error record and queues. Refused when there is no such
    /// stream; bits of queues that the device does not have are ignored.
    Arm,
    /// Freeze a stream silently: `close`. Refused when there is no such stream.
    Freeze,
    /// Append a buffer to a queue: `receive_buffer`, or the descriptor from `receive_rings`. Refused when the stream does not
    /// exist or was not armed with that queue, or when the queue is full.
    PostReceive,
    /// Send a `Delivery` of action 2 to `deliver`, behind all earlier decisions; the low 8 argument bits become its stream.
    Fence,
}

/// Subject of the work.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Subject {
    /// An FPDU.
    Fpdu,
    /// A command.
    Command,
    /// A fault of the bus.
    Fault,
    /// The message that has become the first one of its queue.
    Next,
}

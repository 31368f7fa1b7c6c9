//! RDMAP (RFC 5040): what a DDP message is for. RDMAP adds no framing of its own; it uses the bits
//! that DDP keeps for its ULP, and a header in front of the payload of two kinds of message.
//!
//! ```text
//!   RsvdULP, tagged     ├ control ┤                         control  0 1   2 3   4 5 6 7
//!   RsvdULP, untagged   ├ control ┼ Invalidate STag ─┤              ├ RV ┼ Rsv ┼ opcode ┤
//!
//!   payload of a Read Request, 28 octets
//!   0          4                12     16            20              28
//!   ├ SinkSTag ┼ SinkTO ────────┼ size ┼ SourceSTag ─┼ SourceTO ─────┤
//!
//!   payload of a Terminate, 4 to 52 octets: see [`Terminate`]
//! ```
//!
//! | opcode | message | DDP | event at the receiver |
//! |---|---|---|---|
//! | 0 | RDMA Write | tagged | none: DDP has placed it |
//! | 1 | RDMA Read Request | untagged, QN 1 | queued; answered in order |
//! | 2 | RDMA Read Response | tagged | completes the oldest outstanding read |
//! | 3, 4, 5, 6 | Send; with Invalidate; with Solicited Event; with both | untagged, QN 0 | delivered |
//! | 7 | Terminate | untagged, QN 2 | the stream ends |
//!
//! The device delivers whole DDP messages, so the input of this layer is a [`Delivered`] message, not
//! a segment. [`Message`] is its meaning, [`Stream`] checks what depends on earlier messages:
//!
//! ```text
//!   ULP ── write, send, read ──► ┌────────┐ ──► Outgoing: Address + RDMAP header ──► DDP
//!       ◄── Event ────────────── │ Stream │ ◄── Delivered ◄───────────────────────── DDP
//!                                └────────┘ ──► Outgoing: Terminate, once
//! ```
//!
//! ```
//! use warpline_wire::rdmap::{Delivered, Event, ReadRequest, Stream, Version, queue};
//!
//! // Room for one read in each direction: IRD = ORD = 1.
//! let mut sink = Stream::new(Version::Ietf, [Default::default(); 1], [Default::default(); 1]);
//! let request = ReadRequest { sink_stag: 0x100, sink_to: 0, size: 5, source_stag: 0x200, source_to: 64 };
//! let outgoing = sink.read(request, 42)?;
//! assert_eq!(outgoing.header().len(), 28);
//!
//! let response = Delivered::Tagged { rsvd_ulp: 0x42, stag: 0x100, to: 0, len: 5 };
//! assert_eq!(sink.deliver(&response)?, Event::ReadDone { id: 42, request });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cause;
mod delivered;
mod header;
mod message;
mod stream;
mod terminate;

pub use cause::{Cause, Layer, RdmaError};
pub use delivered::{Address, Delivered};
pub use header::{
    Control, Error, MAX_HEADER_LEN, MAX_TERMINATE_LEN, Opcode, READ_REQUEST_LEN, ReadRequest,
    ReadRequestView, SourceRegion, Version, control, field, queue,
};
pub use message::Message;
pub use stream::{
    Event, InboundRead, OutboundRead, Outgoing, Refused, Rejected, Stream, Violation,
};
pub use terminate::{
    BitOrder, CONTROL_LEN as TERMINATE_CONTROL_LEN, Terminate, TerminateView, hdr_ct,
};

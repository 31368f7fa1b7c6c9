//! DDP over SCTP (RFC 5043): the chunks, the sessions of an association, and the reference receiver.
//!
//! ```text
//!   ULP ── initiate, accept, reject, terminate ─► ┌─────────────┐ ─► output(): control messages ─► SCTP
//!       ◄─ Event ──────────────────────────────── │ Association │ ◄─ receive(): chunks ─────────── SCTP
//!   DDP ── send(): segments ────────────────────► │  Stream …   │ ─► chunks with DDP-SSN ────────► SCTP
//!       ◄─ Event::Segment, InOrder ────────────── └─────────────┘ ◄─ established, acknowledged, end, time
//! ```
//!
//! The machine does no input or output of its own: chunks, decisions and time go in, chunks and
//! [`Event`]s come out. SCTP itself, like TCP, is somebody else's; the [`Association`] needs of it what
//! sockets offer. Streams lie in storage of the caller; nothing is allocated, and nothing panics.
//!
//! A session lies on one pair of SCTP streams with the same identifier. Its states, at each end:
//!
//! ```text
//!                initiate()                                 Initiate
//!            ┌─────────────────────────── Idle ────────────────────────────┐   more than `backlog`:
//!            ▼                             ▲                               ▼   refused, to Ending
//!       Initiating                         │ both halves ended,         Pending
//!        │   │ Accept                      │ all acknowledged:   accept() │  │ reject(), time-out,
//!        │   └───────────────► Open ◄──────┼── Free ──────────────────────┘  │ peer's Terminate
//!        │ Reject, Terminate,   │          │                                 │
//!        │ time-out,            │ terminate(), or an error                   │
//!        │ Initiate (both)      ▼          │                                 │
//!        └──────────────────► Ending ──────┘ ◄───────────────────────────────┘
//! ```
//!
//! - **Order is DDP-SSN order** (RFC 5043 §6.1). Chunks are unordered; [`Order`] says which are new, and
//!   up to which all have arrived. Segments are reported on arrival, to be placed; what they complete may
//!   be delivered up to [`Event::InOrder`].
//! - **Errors end their session, and no other.** A chunk that fits no legal pattern, a DDP-SSN outside
//!   the window, or a time-out is reported once, and answered with Terminate; later chunks of that session
//!   are dropped. Reject is sent only when the ULP says so.
//! - **A control message never overtakes the one before it** (§6.6): Terminate waits until SCTP has
//!   acknowledged this end's Accept, or until the peer has answered this end's Initiate. Segments wait for
//!   the Accept, too: a Reject that crosses them would fit no legal pattern.
//! - **A stream is used again** when both ends' last chunks are known to have arrived ([`Event::Free`]).
//!   So this end always ends with Terminate, also behind the peer's.
//! - **Memory is bounded**: a stream has one message to be sent, a bitmap, and nothing that grows.
//!
//! ```
//! use warpline_wire::sctp::{Association, Event, Indication, Ip, Path, Peer, Received, Settings, Stream};
//!
//! type Ends = Association<[Stream<1>; 4], 1>; // four streams, a bitmap for 32 chunks each
//! let settings = Settings { window: 32, ..Settings::default() };
//! let mut active = Ends::new(settings, Default::default())?;
//! let mut passive = Ends::new(settings, Default::default())?;
//! let peer = Peer {
//!     indication: Some(Indication::DDP),
//!     outbound: 4,
//!     inbound: 4,
//!     path: Path::new(Ip::V4, 1500),
//! };
//! let mut quiet = |_: Event<'_>| {};
//! assert_eq!(active.established(&peer, &mut quiet)?, 4);
//! passive.established(&peer, &mut quiet)?;
//!
//! active.initiate(2, b"user 7", 0)?;
//! let sent = active.output().expect("an Initiate");
//! let chunk = Received { stream: sent.stream, ppid: sent.ppid, user_data: sent.user_data };
//! let _ = passive.receive(&chunk, 1, &mut |event: Event<'_>| {
//!     assert_eq!(event, Event::Requested { stream: 2, private_data: b"user 7" });
//! });
//! active.sent(2, &mut quiet);
//! passive.accept(2, b"")?;
//! assert!(passive.is_open(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// The machine runs in firmware, on chunks of any peer: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod association;
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "offsets are constants, or checked in the lines above"
)]
mod chunk;
mod event;
#[allow(
    clippy::arithmetic_side_effects,
    reason = "divisors and shifts are constants"
)]
mod order;
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "offsets are constants, or checked in the lines above"
)]
mod packet;
#[cfg(feature = "alloc")]
pub mod receive;
mod sender;
mod settings;
#[allow(clippy::arithmetic_side_effects, reason = "sums of constants")]
mod size;
mod ssn;
mod stream;

pub use association::{Association, CallError, Output, Peer, Received, Refusal};
pub use chunk::{
    CONTROL_HEADER_LEN, Chunk, ChunkError, Control, ControlChunk, Function, MAX_CONTROL_LEN,
    MAX_PRIVATE_DATA, SSN_LEN, Segment, SegmentChunk, field, ppid,
};
pub use event::{Cause, Ending, Event, Sink};
pub use order::{FULL_WINDOW_WORDS, InvalidSsn, Order, WindowError};
pub use packet::{
    ALIGN, COMMON_HEADER_LEN, DATA, DATA_HEADER_LEN, Data, DataChunk, Indication, PacketError,
    data_field, data_flag, parameter_field,
};
pub use sender::{SendError, Sender};
pub use settings::{Settings, Timeouts};
pub use size::{Ip, MIN_MAX_SEGMENT, Path, SACK_LEN};
pub use ssn::{MAX_IN_FLIGHT, Ssn};
pub use stream::{Receipt, Stream};

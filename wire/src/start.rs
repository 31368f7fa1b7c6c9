//! MPA start-up: the frames that both ends send before full operation, and the two machines that
//! exchange them (RFC 5044 §7.1, RFC 6581).
//!
//! ```text
//!              Initiator                                          Responder
//!  new() ─► Request in output()      ── Request ──►      input() ─► Event::Requested
//!                                                           │ peer(): the ULP decides
//!  input() ─► Event::Replied         ◄── Reply ───       accept(): Parameters, Reply in output()
//!     │ peer(): the ULP decides                          reject(): Reply with R = 1 in output()
//!  proceed(): Parameters
//!  first FPDU                        ── FPDU ───►        Gate::fpdu_validated() opens the sender
//! ```
//!
//! The machines do no input or output of their own. The caller hands in octets ([`Initiator::input`])
//! and time ([`Initiator::poll`]), sends [`Initiator::output`] and acts on [`Event`]s. A machine is one
//! struct with a buffer for the longest frame; it neither allocates nor panics.
//!
//! Each machine stops at the last octet of the peer's frame. `input` returns how many octets it took;
//! the caller keeps the others, and after a success the first of them is stream position 0 of full
//! operation (AMB-16). [`Parameters`] is what the caller needs to arm a stream.
//!
//! The Responder's ULP must not speak first: until the first valid FPDU of the Initiator arrives, its
//! [`Gate`] is closed (MPA-START-10, AMB-29). The peer-to-peer model of RFC 6581 lifts this for the
//! ULP: the Initiator's side sends an RTR indication of its own accord ([`Rtr`]).
//!
//! ```
//! use warpline_wire::start::{Answer, Event, Initiator, Responder, Settings};
//!
//! let settings = Settings::default();
//! let mut initiator = Initiator::new(settings, None, b"user 7", 0, 0)?;
//! let mut responder = Responder::new(settings, 0);
//!
//! let taken = responder.input(initiator.output());
//! initiator.sent(taken);
//! assert_eq!(responder.poll(1), Some(Event::Requested));
//! assert_eq!(responder.peer().map(|request| request.private_data), Some(&b"user 7"[..]));
//! let theirs = responder.accept(b"", &Answer::default())?; // arm the stream, then send the Reply
//!
//! let taken = initiator.input(responder.output());
//! responder.sent(taken);
//! assert_eq!(initiator.poll(2), Some(Event::Replied));
//! let ours = initiator.proceed()?;
//! assert!(ours.crc && ours.gate().is_open());
//! assert!(theirs.crc && !theirs.gate().is_open());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// The machines run in firmware, on octets of any peer: nothing in them may panic.
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

mod buffer;
mod cause;
mod event;
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "offsets are constants, or checked in the lines above"
)]
mod frame;
mod initiator;
mod negotiate;
mod parameters;
mod profile;
mod responder;
mod rtr;
mod settings;

pub use cause::{CallError, Cause};
pub use event::{Closing, Event, Failure, TERMINATE_LAYER, TERMINATE_TYPE, Terminate};
pub use frame::{
    DraftKey, Frame, HEADER_LEN, KEY_LEN, Kind, MAX_FRAME_LEN, MAX_PRIVATE_DATA, MAX_REVISION,
    NEGOTIATION_LEN, NO_NEGOTIATION, Negotiation, Progress, StartError, field, flag,
    negotiation_bit,
};
pub use initiator::Initiator;
pub use negotiate::{Agreement, Answer, Depth, Enhanced};
pub use parameters::{Gate, Parameters, Role};
pub use profile::Profile;
pub use responder::Responder;
pub use rtr::Rtr;
pub use settings::{Settings, Timeouts};

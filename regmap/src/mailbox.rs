//! The mailbox between the host and the card's control program, which listens, connects, runs MPA start-up and arms streams.
//! A device that sends has it; on one that only receives [`CAPABILITY_MAILBOX`](crate::transmit::CAPABILITY_MAILBOX) reads 0, and
//! so do the registers below.
//!
//! ```text
//!   host                      device                        control program
//!   MAILBOX write ──────────► host's message, 1 KiB ──────► MAILBOX read
//!   HOST_MESSAGE.PENDING = 1 ─────────────────────────────► HOST_MESSAGE.PENDING, cleared when the message is taken
//!   MAILBOX read ◄─────────── card's message, 1 KiB ◄────── MAILBOX write
//!   CARD_MESSAGE.PENDING ◄──── interrupt ◄───────────────── CARD_MESSAGE.PENDING = 1
//! ```
//!
//! One message is under way in each direction. Its writer fills the window, then sets `PENDING`; its reader reads the window,
//! then clears `PENDING` by writing 1. Until then the writer must not write the window again. The control program has a register
//! port of its own, with the same addresses: there `HOST_MESSAGE` is cleared and `CARD_MESSAGE` is set by writing 1, `MAILBOX`
//! reads the host's message and writes the card's, and `ARGUMENT` and `COMMAND` are a pair of its own, whose commands the device
//! carries out in turn with those of the host.
//!
//! A reset of the device, power-up included, sets `HOST_MESSAGE.RESET` at that port. Until the control program has cleared it,
//! `HOST_MESSAGE.PENDING` reads 0 there, its commands have failed, and what else it writes does nothing: a message that the host
//! passes after the reset meets a control program that has noticed the reset, and nothing from before it reaches the device.
//!
//! # Messages
//!
//! [`HostMessage`] and [`CardMessage`] are what the windows hold; [`records`] has their bits. A connection has a number of 16 bits:
//! the host chooses one from [`HOST_CONNECTIONS`] for a connection that it makes, the card one below for a connection that it
//! accepts. A message that cannot be carried out is answered by `REFUSED` and changes nothing. `LISTENING`, `LISTEN_FAILED`,
//! `CONFIGURED` and `REFUSED` are answers: the card takes no further message before the host has read the answer to the last.
//!
//! ```text
//!  Responder   host                card      Initiator   host                    card
//!              LISTEN ───────────────►                   CONNECT ──────────────────►  TCP, Request
//!              ◄───────────── LISTENING                                               Reply, stream is armed
//!              ◄───────────── REQUESTED  Request         ◄───────────────────── ARMED
//!              ACCEPT ───────────────►  stream is armed  rings, buffers
//!              ◄───────────────── ARMED                  PROCEED ──────────────────►
//!              rings, buffers                            ◄─────────────── ESTABLISHED
//!              PROCEED ──────────────►  Reply
//!              ◄─────────── ESTABLISHED                  HALF_CLOSED, CLOSED; DISCONNECT, ABORT, RELEASE as at the Responder
//! ```
//!
//! Before `ARMED`, a connection ends by one of `REJECTED`, `FAILED` and `CLOSED`, or by the host's `REJECT`, and its number means
//! nothing from then on. From `ARMED` on it ends by `CLOSED`, and the host owns the stream until it sends `RELEASE`.

use crate::register::field;
use crate::{Access, Field, Register};
use core::ops::RangeInclusive;

mod card_message;
mod codes;
mod error;
mod host_message;
mod parts;
pub mod records;

pub use card_message::{Armed, CardMessage, Requested};
pub use codes::{CardKind, CloseReason, FailureCause, HostKind, ListenFailure, Refusal, Transport};
pub use error::MessageError;
pub use host_message::{Accept, Connect, HostMessage, Listen, Reject, Settings};
pub use parts::{Block, Depth, Offer, PrivateData, Rtr, StreamOptions, Words};

/// `HOST_MESSAGE`: pending.
pub const HOST_MESSAGE_PENDING: Field = field(
    "PENDING",
    0,
    1,
    "the host's message is complete and has not been taken; the host sets it by writing 1",
);
/// `HOST_MESSAGE`, at the control program's port: the device was reset.
pub const HOST_MESSAGE_RESET: Field = field(
    "RESET",
    1,
    1,
    "the device was reset, and the control program has not cleared this by writing 1: until then its other writes do nothing, and it reads `FAILED` in `COMMAND`. The host reads 0",
);
/// `CARD_MESSAGE`: pending.
pub const CARD_MESSAGE_PENDING: Field = field(
    "PENDING",
    0,
    1,
    "a message of the card is in `MAILBOX`; the host writes 1 when it has read it",
);
/// `INTERRUPT_*`: vector 2, see [`INTERRUPT`].
pub const INTERRUPT_MAILBOX: Field = field(
    "MAILBOX",
    INTERRUPT,
    1,
    "a message of the card is pending, or the host's message was taken",
);

registers! {
    /// The host passes the message that it has written to `MAILBOX`.
    HOST_MESSAGE: 0x0e4 [1 x 4] ReadWrite &[HOST_MESSAGE_PENDING, HOST_MESSAGE_RESET];
    /// The card has passed a message, which `MAILBOX` reads.
    CARD_MESSAGE: 0x0e8 [1 x 4] WriteOneToClear &[CARD_MESSAGE_PENDING];
    /// Messages: the host writes its own and reads the card's.
    MAILBOX: 0xc00 [256 x 4] ReadWrite &[], reset None;
}

/// Interrupt vector of the mailbox.
pub const INTERRUPT: usize = crate::register::interrupt::COUNT;
/// Words of a message.
pub const MESSAGE_WORDS: usize = MAILBOX.count as usize;
const _: () = assert!(MESSAGE_WORDS == records::message::WORDS);

/// Numbers of the connections that the host makes; the card uses those below.
pub const HOST_CONNECTIONS: RangeInclusive<u16> = 0x8000..=0xffff;

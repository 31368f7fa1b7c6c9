//! What a former run of the program has left in the device. It may have stopped at any access of a register, without a reset.
//!
//! ```text
//!  COMMAND.BUSY: wait ─► the last command was about a stream that the host was not told of? ─► CLOSE_STREAM ─► nothing is left
//!                                                                                          └─────────────────► nothing is left
//! ```
//!
//! `COMMAND` and `ARGUMENT` of the program's port tell what it was at. From `ARM_STREAM` until the host is told of the stream, all
//! commands are about that stream, and so are the arguments of the next one. Behind `ARMED` follows a command of a number that no
//! command has: what lies in the registers then is about no stream. So at most one stream is found here, and closed.
//!
//! Streams that the host was told of are the host's to close, and their connections are lost: the network side ends what a program
//! leaves. A stop between the write that passes `ARMED` and the next one closes a stream that the host was told of; the host
//! notices when its rings are refused.

use crate::bus::Bus;
use crate::port::{Outcome, Port};
use crate::registers::close_stream;
use warpline_regmap::layout::stream_context;
use warpline_regmap::register::command::{ARM_STREAM, CLOSE_STREAM};
use warpline_regmap::transmit::{ARM_TRANSMIT, transmit_context};

/// How much is known of what it has left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormerRun {
    /// Nobody has looked.
    Unknown,
    /// A stream is being closed.
    Closing,
    /// Nothing is left.
    Nothing,
}

impl FormerRun {
    /// Goes on with it. Returns whether nothing is left; otherwise a command runs.
    pub fn clear(&mut self, bus: &mut impl Bus, streams: u8) -> bool {
        if *self == Self::Nothing {
            return true;
        }
        let outcome = Port::outcome(bus);
        if outcome == Outcome::Busy {
            return false;
        }
        if *self == Self::Unknown
            && let Some(stream) = half_armed(bus, outcome).filter(|stream| *stream < streams)
        {
            Port::start(bus, CLOSE_STREAM, &close_stream(stream));
            *self = Self::Closing;
            return false;
        }
        *self = Self::Nothing;
        true
    }
}

/// The stream that the last command has left armed without the host's knowledge.
fn half_armed(bus: &mut impl Bus, outcome: Outcome) -> Option<u8> {
    let done = outcome == Outcome::Done;
    match Port::last_command(bus) {
        // A stream that could not be armed is somebody else's.
        ARM_STREAM if done => Some(stream_context::STREAM.get(&[Port::argument(bus)]) as u8),
        ARM_TRANSMIT => Some(transmit_context::STREAM.get(&[Port::argument(bus)]) as u8),
        _ => None,
    }
}

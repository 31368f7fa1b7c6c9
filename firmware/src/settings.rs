//! The administrator's settings as `wire::start` takes them. Programs have no part in them (MPA-CRC-02, MPA-CRC-06).
//! What they are until somebody sets them: [`Settings::DEFAULT`].

use warpline_regmap::mailbox::{Refusal, Rtr, Settings};
use warpline_wire::start::{self, CallError, NO_NEGOTIATION, Profile, Timeouts};

/// Largest depth that a start frame can carry as a number.
const MAX_DEPTH: u16 = NO_NEGOTIATION - 1;

/// Whether the settings may be put in force.
pub(crate) fn check(settings: &Settings) -> Result<(), Refusal> {
    if settings.max_ird > MAX_DEPTH {
        return Err(Refusal::Depth);
    }
    Ok(())
}

/// The settings of a machine; `decision` is what the start frames are waited for at this end.
fn machine(settings: &Settings, start_frames: u32) -> start::Settings {
    start::Settings {
        profile: Profile::Rfc,
        markers: settings.markers,
        crc_off: settings.crc_off,
        force_crc: settings.force_crc,
        enhanced: settings.enhanced,
        max_ird: settings.max_ird,
        timeouts: Timeouts {
            start_frames: limit(start_frames),
            responder_wait: limit(settings.peer_time),
        },
    }
}

/// For an Initiator: the peer has its time from `CONNECT` to the complete Reply.
pub(crate) fn initiator(settings: &Settings) -> start::Settings {
    machine(settings, settings.peer_time)
}

/// For a Responder: the peer has its time for the Request, the host then for its decision.
pub(crate) fn responder(settings: &Settings) -> start::Settings {
    machine(settings, settings.host_time)
}

/// A time-out of the settings: 0 is none, which 49 days stand for.
const fn limit(milliseconds: u32) -> u32 {
    match milliseconds {
        0 => u32::MAX,
        some => some,
    }
}

/// When `milliseconds` from `now` are over; `None` if there is no limit.
pub(crate) fn deadline(now: u64, milliseconds: u32) -> Option<u64> {
    (milliseconds != 0).then(|| now.saturating_add(milliseconds.into()))
}

/// RTR indications as `wire::start` has them.
pub(crate) fn rtr(kinds: Rtr) -> start::Rtr {
    let mut set = start::Rtr::empty();
    set.set(start::Rtr::SEND, kinds.send);
    set.set(start::Rtr::WRITE, kinds.write);
    set.set(start::Rtr::READ, kinds.read);
    set
}

/// RTR indications as messages have them.
pub(crate) fn kinds(set: start::Rtr) -> Rtr {
    Rtr {
        send: set.contains(start::Rtr::SEND),
        write: set.contains(start::Rtr::WRITE),
        read: set.contains(start::Rtr::READ),
    }
}

/// Why a machine does not do what the host asks for.
pub(crate) const fn refusal(error: CallError) -> Refusal {
    match error {
        CallError::Frame(_) | CallError::DraftKey | CallError::LastMessage { .. } => {
            Refusal::Private
        }
        CallError::Depth { .. } => Refusal::Depth,
        CallError::NoRtr => Refusal::Rtr,
        CallError::NotEnabled => Refusal::Enhanced,
        CallError::Unread { .. } | CallError::NotDue => Refusal::State,
    }
}

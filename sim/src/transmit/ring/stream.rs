//! What TCP knows of a stream's ring, and which command it gives next.
//!
//! ```text
//!  sequence numbers:   told ── accepted ──────────── asked ──────────── edge
//!                      acknowledged  └ the connection has ┘ SENDs     └ as reported
//! ```
//!
//! Up to an EMSS in front of the edge are one segment. Of more, MEASURE finds the last FPDU boundary within an EMSS, so that a
//! segment carries whole FPDUs (RFC 5044 §5). An FPDU that is longer, since the EMSS has shrunk behind it, is cut.

use fastrand::Rng;

use super::command::{Command, Kind};
use crate::transmit::outgoing::Outgoing;

/// A stream.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Counts the stream's owners: commands of former ones may be under way.
    pub owner: u32,
    pub state: Option<Armed>,
    /// Octets that the connection has not accepted.
    pub outgoing: Outgoing,
}

/// A stream whose transmit side is armed.
#[derive(Debug)]
pub(crate) struct Armed {
    pub emss: u16,
    /// Sequence number behind the last octet that can be sent, once a report behind the arming has told it.
    pub edge: Option<u32>,
    /// Behind the last octet that was asked for.
    asked: u32,
    /// Behind the last octet that the connection has accepted.
    accepted: u32,
    /// Up to which octets are acknowledged, and what reports show of it.
    told: u32,
    shown: u32,
    measure: Measure,
    probe: Probe,
    /// Octets are to be sent again.
    pub again: bool,
}

/// The FPDU boundary behind `asked`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Unknown,
    Asked,
    /// So many octets on; none: it is not within an EMSS.
    Known(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    None,
    Due,
    Asked,
}

/// `a` - `b` as sequence numbers, if `a` is not behind `b` by more than half of all.
fn ahead(a: u32, b: u32) -> Option<u32> {
    let ahead = a.wrapping_sub(b);
    (ahead < 1 << 31).then_some(ahead)
}

impl Armed {
    /// Position 0 has the number `sequence`. An older report of the edge may be on its way, so it is asked for.
    pub fn new(sequence: u32, emss: u16) -> Self {
        Self {
            emss,
            edge: None,
            asked: sequence,
            accepted: sequence,
            told: sequence,
            shown: sequence,
            measure: Measure::Unknown,
            probe: Probe::Due,
            again: false,
        }
    }

    /// The edge is asked for anew.
    pub fn probe(&mut self) {
        if self.probe == Probe::None {
            self.probe = Probe::Due;
        }
    }

    /// The edge is being asked for.
    pub fn is_probing(&self) -> bool {
        self.probe != Probe::None
    }

    /// A probe was answered.
    pub fn probed(&mut self) {
        self.probe = Probe::None;
    }

    /// A MEASURE was answered: so many octets.
    pub fn measured(&mut self, octets: u16) {
        self.measure = Measure::Known(octets);
    }

    /// The connection has accepted `count` more octets.
    pub fn accept(&mut self, count: usize) {
        self.accepted = self.accepted.wrapping_add(count as u32);
    }

    /// The connection has accepted all octets that can be sent.
    pub fn is_drained(&self) -> bool {
        self.edge == Some(self.accepted)
    }

    /// A report: the edge, and free octets of `ring`. False if it cannot be.
    pub fn report(&mut self, edge: u32, free: u32, ring: u32) -> bool {
        let acknowledged = edge.wrapping_add(free).wrapping_sub(ring);
        let before = self.edge.unwrap_or(self.asked);
        let good = free <= ring
            && ahead(edge, before).is_some()
            && ahead(acknowledged, self.shown).is_some()
            && ahead(self.told, acknowledged).is_some();
        (self.edge, self.shown) = (Some(edge), acknowledged);
        good
    }
}

impl Stream {
    /// Whether a command is to be given, or answered.
    pub fn is_busy(&self) -> bool {
        let busy = |armed: &Armed| {
            armed.told != armed.accepted
                || armed.is_probing()
                || armed.again
                || armed.edge.is_some_and(|edge| edge != armed.asked)
        };
        self.state.as_ref().is_some_and(busy)
    }

    /// The next command; `can_send`: it may be one that brings octets.
    pub fn next(&mut self, number: u8, can_send: bool, rng: &mut Rng) -> Option<Command> {
        let armed = self.state.as_mut()?;
        let (kind, sequence, octets) = if armed.probe == Probe::Due {
            armed.probe = Probe::Asked;
            (Kind::Probe, armed.accepted, 0)
        } else if armed.told != armed.accepted {
            armed.told = armed.accepted;
            (Kind::Acknowledge, armed.accepted, 0)
        } else if !can_send {
            return None;
        } else if std::mem::take(&mut armed.again) && self.outgoing.octets() > 0 {
            let all = self.outgoing.octets();
            let skip = rng.usize(..all);
            let count = rng.usize(1..=(all - skip).min(armed.emss.into()));
            let octets = self.outgoing.copy(skip, count);
            let sequence = armed.accepted.wrapping_add(skip as u32);
            (Kind::Again(octets), sequence, count as u16)
        } else {
            let left = ahead(armed.edge?, armed.asked).filter(|left| *left > 0)?;
            let most = armed.emss;
            match armed.measure {
                Measure::Unknown if left > u32::from(most) => {
                    armed.measure = Measure::Asked;
                    (Kind::Measure, armed.asked, most)
                }
                Measure::Asked => return None,
                measure => {
                    let octets = match measure {
                        Measure::Known(0) => left.min(most.into()),
                        Measure::Known(octets) => octets.into(),
                        _ => left,
                    };
                    let sequence = armed.asked;
                    armed.asked = sequence.wrapping_add(octets);
                    armed.measure = Measure::Unknown;
                    (Kind::Send, sequence, octets as u16)
                }
            }
        };
        Some(Command {
            kind,
            stream: number,
            owner: self.owner,
            sequence,
            octets,
        })
    }
}

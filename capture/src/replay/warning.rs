//! What a replay leaves out or guesses, in one line each.

use std::fmt;
use std::net::SocketAddr;

use super::choice::{Candidate, Role};
use super::plan::{Doubts, Plan};
use super::survey::Survey;
use crate::{Capture, Flow, MpaError, TrafficError};

/// Something that a replay leaves out or guesses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The file could not be read to its end.
    Stopped(TrafficError),
    /// Some TCP connections carry no complete MPA start-up.
    NoMpa {
        /// How many.
        connections: usize,
        /// Why the first one is not replayed.
        reason: MpaError,
    },
    /// A stream is not replayed.
    NotReplayed {
        /// Number of its connection, from 1.
        connection: usize,
        /// Its sender.
        role: Role,
        /// The sender's address.
        from: SocketAddr,
        /// FPDUs that MPA accepts.
        fpdus: u64,
        /// Its octets.
        octets: u64,
    },
    /// A connection ends after start-up.
    Empty {
        /// Its number, from 1.
        connection: usize,
        /// The Initiator's address.
        initiator: SocketAddr,
    },
    /// The stream is replayed up to the first octet that was not captured.
    Gap {
        /// Position of that octet.
        position: u64,
        /// Octets missing there.
        missing: u64,
        /// Captured octets behind them.
        left: u64,
    },
    /// Octets came again with another value.
    Differing {
        /// How many.
        octets: u64,
    },
    /// Some TCP segments cannot belong to the stream.
    Stray {
        /// How many.
        segments: u64,
    },
    /// The capture ends inside an FPDU.
    EndsInFpdu {
        /// Octets of it.
        octets: u64,
    },
    /// The capture ends inside messages.
    EndsInMessage {
        /// Their queue.
        queue: usize,
        /// How many.
        messages: usize,
    },
    /// A segment lies farther out in its message than is believed.
    Offset {
        /// The queue.
        queue: usize,
        /// Where the segment ends in its message.
        end: u64,
        /// Octets of the buffers.
        length: u32,
    },
    /// Some writes to an STag lie too far apart for one region.
    Apart {
        /// The STag.
        stag: u32,
        /// Tagged Offset of the first one that is left out.
        to: u64,
        /// How many ranges are left out.
        ranges: usize,
    },
    /// Regions and buffers are guessed.
    Learnt {
        /// How many regions.
        regions: usize,
    },
    /// Ground truth is not compared.
    TruthUnused {
        /// Why.
        reason: &'static str,
    },
}

impl Warning {
    /// Whether it says what is registered, posted and compared, not what is sent.
    #[must_use]
    pub fn is_of_plan(&self) -> bool {
        use Warning::{Apart, Learnt, Offset, TruthUnused};
        matches!(
            self,
            Offset { .. } | Apart { .. } | Learnt { .. } | TruthUnused { .. }
        )
    }
}

/// A count with its noun.
struct Counted(u64, &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

/// The verb for a count in the past tense.
fn was(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(reason) => reason.fmt(f),
            Self::NoMpa {
                connections,
                reason,
            } => {
                let counted = Counted(*connections as u64, "TCP connection");
                write!(
                    f,
                    "{counted} without MPA not replayed; the first one: {reason}"
                )
            }
            Self::NotReplayed {
                connection,
                role,
                from,
                fpdus,
                octets,
            } => write!(
                f,
                "connection {connection}: {} of the {role} {from} ({}) {} not replayed: choose --connection {connection} --direction {}",
                Counted(*fpdus, "FPDU"),
                Counted(*octets, "octet"),
                was(*fpdus),
                role.to_string().to_lowercase(),
            ),
            Self::Empty {
                connection,
                initiator,
            } => write!(
                f,
                "connection {connection} of the Initiator {initiator} carries no FPDU: not replayed"
            ),
            Self::Gap {
                position,
                missing,
                left,
            } => write!(
                f,
                "{} from stream position {position} on {} not captured: replayed up to there, {} behind them left out",
                Counted(*missing, "octet"),
                was(*missing),
                Counted(*left, "octet"),
            ),
            Self::Differing { octets } => write!(
                f,
                "{} came again with another value: the first copy counts",
                Counted(*octets, "octet")
            ),
            Self::Stray { segments } => write!(
                f,
                "{} that cannot belong to the stream left out: behind its FIN, or farther ahead than any window",
                Counted(*segments, "TCP segment")
            ),
            Self::EndsInFpdu { octets } => write!(
                f,
                "the capture ends inside an FPDU, after {} of it",
                Counted(*octets, "octet")
            ),
            Self::EndsInMessage { queue, messages } => write!(
                f,
                "{} of queue {queue} not complete: the capture ends before the last segment",
                Counted(*messages as u64, "message")
            ),
            Self::Offset { queue, end, length } => write!(
                f,
                "a segment of queue {queue} ends at octet {end} of its message, which its octets do not bear out: buffers of {} are posted",
                Counted((*length).into(), "octet")
            ),
            Self::Apart { stag, to, ranges } => write!(
                f,
                "{} of writes to STag {stag:#010x} left out of its region, the first one at Tagged Offset {to:#018x}: too far from the others",
                Counted(*ranges as u64, "range")
            ),
            Self::Learnt { regions } => write!(
                f,
                "no regions.json: {} and receive buffers derived from the headers, memory compared with the reference receiver",
                Counted(*regions as u64, "region")
            ),
            Self::TruthUnused { reason } => write!(
                f,
                "the recorded memory, receive buffers and completions are not compared: {reason}"
            ),
        }
    }
}

/// The connections and streams of `capture` that are not replayed.
pub(super) fn not_chosen(capture: &Capture, candidates: &[Candidate]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut reasons = capture
        .connections
        .iter()
        .filter_map(|c| c.mpa.as_ref().err());
    if let Some(reason) = reasons.next() {
        warnings.push(Warning::NoMpa {
            connections: 1 + reasons.count(),
            reason: reason.clone(),
        });
    }
    for candidate in candidates {
        let (connection, mut some) = (candidate.number, candidate.replayed.is_some());
        for role in Role::ALL {
            let sent = candidate.sent(role);
            if candidate.replayed == Some(role) || !sent.is_some() {
                continue;
            }
            some = true;
            warnings.push(Warning::NotReplayed {
                connection,
                role,
                from: match role {
                    Role::Initiator => candidate.initiator,
                    Role::Responder => candidate.responder,
                },
                fpdus: sent.fpdus,
                octets: sent.octets + sent.behind_gap,
            });
        }
        if !some {
            let initiator = candidate.initiator;
            warnings.push(Warning::Empty {
                connection,
                initiator,
            });
        }
    }
    warnings
}

/// What is left out or guessed of the stream that is replayed.
pub(super) fn of_stream(
    flow: &Flow,
    survey: &Survey,
    plan: &Plan,
    doubts: &Doubts,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if flow.differing > 0 {
        let octets = flow.differing;
        warnings.push(Warning::Differing { octets });
    }
    if flow.stray > 0 {
        let segments = flow.stray;
        warnings.push(Warning::Stray { segments });
    }
    for (queue, of) in plan.queues.iter().enumerate() {
        let messages = of.messages.starts.len() - of.messages.complete;
        if messages > 0 && !flow.fin {
            warnings.push(Warning::EndsInMessage { queue, messages });
        }
        let (end, length) = (of.messages.farthest, of.length);
        let learnt = plan.learnt || queue > 0;
        if learnt && end > length.into() {
            warnings.push(Warning::Offset { queue, end, length });
        }
    }
    if survey.rest > 0 && !flow.fin {
        let octets = survey.rest;
        warnings.push(Warning::EndsInFpdu { octets });
    }
    for &(stag, to, ranges) in &doubts.apart {
        warnings.push(Warning::Apart { stag, to, ranges });
    }
    if plan.learnt {
        let regions = plan.regions.len();
        warnings.push(Warning::Learnt { regions });
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::plan::Queue;
    use crate::replay::survey::Messages;

    /// Buffers of queue 0 are recorded with regions, those of the other queues are guessed in any case: a message that is not
    /// believed is said where its buffer is guessed.
    #[test]
    fn a_message_farther_out_than_a_guessed_buffer_is_said() {
        let flow = Flow {
            seq_start: 0,
            markers: false,
            crc: true,
            segments: Vec::new(),
            fin: true,
            missing_before_fin: 0,
            differing: 0,
            stray: 0,
        };
        let far = Queue {
            count: 1,
            length: 10,
            messages: Messages {
                farthest: 11,
                ..Messages::default()
            },
        };
        let mut plan = Plan {
            regions: Vec::new(),
            queues: [far.clone(), far.clone(), far],
            learnt: false,
        };
        let said = |plan: &Plan| -> Vec<usize> {
            let warnings = of_stream(&flow, &Survey::default(), plan, &Doubts::default());
            let queues = warnings.iter().filter_map(|warning| match warning {
                Warning::Offset { queue, end, length } => {
                    assert_eq!((*end, *length), (11, 10));
                    Some(*queue)
                }
                _ => None,
            });
            queues.collect()
        };
        assert_eq!(said(&plan), [1, 2]);
        plan.learnt = true;
        assert_eq!(said(&plan), [0, 1, 2]);
    }
}

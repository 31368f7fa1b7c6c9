//! A session's way into the device and out of it.

use std::collections::VecDeque;

use warpline_wire::sctp::{ControlChunk, Function};

use crate::network::inlets::Token;
use crate::network::sctp::chunks::Chunk;

/// What a pair of streams has here, beside the session machine.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Stream of the device.
    pub attached: Option<Token>,
    /// Chunks for the device, until the session is attached.
    kept: VecDeque<Chunk>,
    /// DDP segments in front of the ULP's decision, for the session machine.
    pub early: Vec<Vec<u8>>,
    /// Octets of both.
    octets: usize,
    /// A chunk that has a number, and that SCTP had no room for.
    pub pending: Option<Vec<u8>>,
    /// The device has ended the session, which is said once.
    pub failed: bool,
    /// Chunks that may still be passed before it is looked again whether the device follows.
    pub room: usize,
}

impl Session {
    /// Keeps a chunk until the session is attached; false: more octets would wait than may.
    pub fn keep(&mut self, chunk: Chunk, most: usize) -> bool {
        if self.octets + chunk.octets.len() > most {
            return false;
        }
        self.octets += chunk.octets.len();
        self.kept.push_back(chunk);
        true
    }

    /// Keeps a segment that came in front of the decision.
    pub fn keep_early(&mut self, user_data: Vec<u8>, most: usize) -> bool {
        if self.octets + user_data.len() > most {
            return false;
        }
        self.octets += user_data.len();
        self.early.push(user_data);
        true
    }

    /// What was kept for the device.
    pub fn take_kept(&mut self) -> VecDeque<Chunk> {
        std::mem::take(&mut self.kept)
    }

    /// What was kept for the session machine.
    pub fn take_early(&mut self) -> Vec<Vec<u8>> {
        let early = std::mem::take(&mut self.early);
        let octets: usize = early.iter().map(Vec::len).sum();
        self.octets = self.octets.saturating_sub(octets);
        early
    }
}

/// The chunk of a DDP segment for the device.
pub(super) fn segment(octets: Vec<u8>) -> Chunk {
    Chunk {
        control: false,
        terminate: false,
        octets,
    }
}

/// The chunk of a control message for the device, if it gets it: those behind the Initiate, from which on the host arms the
/// stream (AMB-33). A DDP-SSN does not tell: after 65,536 chunks that of a Terminate may be 0, too.
pub(super) fn control(octets: Vec<u8>) -> Option<Chunk> {
    let function = |chunk: ControlChunk<_>| Function::from_code(chunk.function_code());
    let function = ControlChunk::new_checked(&octets).and_then(function).ok()?;
    (function != Function::Initiate).then_some(Chunk {
        control: true,
        terminate: function == Function::Terminate,
        octets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5043 §5.2: DDP-SSN, function code; Initiate is 1, Accept 2, Reject 3, Terminate 4.
    // req: SCTP-FMT-12, AMB-33
    #[test]
    fn the_device_gets_what_is_behind_the_initiate() {
        for ssn in [[0, 0], [0, 1], [0xFF, 0xFF]] {
            for (code, passed, terminate) in [
                (1, false, false),
                (2, true, false),
                (3, true, false),
                (4, true, true),
                (5, false, false),
                (9, false, false),
            ] {
                let octets = [&ssn[..], &[0, code]].concat();
                let expected = passed.then(|| Chunk {
                    control: true,
                    terminate,
                    octets: octets.clone(),
                });
                assert_eq!(control(octets), expected, "{ssn:?} {code}");
            }
            assert_eq!(control([&ssn[..], &[0]].concat()), None);
        }
    }
}

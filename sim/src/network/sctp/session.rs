//! A session's way into the device and out of it.

use std::collections::VecDeque;

use warpline_wire::sctp::{ControlChunk, Function, ppid};

use crate::network::inlets::Token;
use crate::network::sctp::chunks::Chunk;

/// What a pair of streams has here, beside the session machine.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// This end has asked for it: the device gets the peer's answer, too.
    pub active: bool,
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
        self.octets += chunk.octets.len();
        self.kept.push_back(chunk);
        self.octets <= most
    }

    /// Keeps a segment that came in front of the decision.
    pub fn keep_early(&mut self, user_data: Vec<u8>, most: usize) -> bool {
        self.octets += user_data.len();
        self.early.push(user_data);
        self.octets <= most
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

    /// Whether the device gets a control message: those behind the one from which on the host arms the stream (AMB-33).
    pub fn is_counted(&self, user_data: &[u8]) -> bool {
        self.active || user_data.first_chunk::<2>() != Some(&[0, 0])
    }
}

/// A chunk of `ppid` for the device.
pub(super) fn chunk(id: u32, octets: Vec<u8>) -> Chunk {
    let control = id == ppid::CONTROL;
    let function = |chunk: ControlChunk<_>| Function::from_code(chunk.function_code());
    let terminate = ControlChunk::new_checked(&octets)
        .and_then(function)
        .is_ok_and(|function| control && function == Function::Terminate);
    Chunk {
        control,
        terminate,
        octets,
    }
}

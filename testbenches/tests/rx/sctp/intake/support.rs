//! The bench: drives the block, and says what is due.

use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::VecDeque;
use warpline_hdl::Sctp;
use warpline_hdl::parts::axi::{USER_CONTROL, USER_TERMINATE};
use warpline_hdl::records::{ChunkAnswer, ChunkEnd, ChunkKey, RingBeat};
use warpline_hdl::rx::sctp::intake::Intake;
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::{self, Rhythm, chance};
use warpline_wire::sctp::{SSN_LEN, SegmentChunk};

/// Octets of a slot.
pub const SLOT: usize = 512;

pub const SCTP: Sctp = Sctp {
    slot_octets: SLOT,
    window: 32_767,
};

/// A chunk.
#[derive(Clone, Debug)]
pub struct Chunk {
    pub stream: usize,
    pub control: bool,
    /// The bit that says so of a control message; it passes through.
    pub terminate: bool,
    /// Its user data.
    pub octets: Vec<u8>,
}

impl Chunk {
    /// Its key, as `wire` reads its user data.
    fn key(&self) -> Option<ChunkKey> {
        let view = SegmentChunk::new_checked(&self.octets).ok()?;
        Some(ChunkKey {
            stream: (self.stream as u64).into(),
            ssn: u64::from(view.ssn().0).into(),
            control: self.control,
            terminate: self.terminate,
            missing: false,
        })
    }
}

/// Rhythms of a run.
pub struct Paces {
    pub beats: Rhythm,
    pub keys: Rhythm,
    pub ready: Rhythm,
    pub ends: Rhythm,
    /// Cycles from a key to its answer.
    pub judge: std::ops::Range<usize>,
    /// In percent.
    pub taken: u32,
}

/// A beat that is due, of the chunk with this number.
type Beat = (usize, RingBeat, Vec<u8>);

#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    pub beats: usize,
    pub ends: usize,
    pub controls: usize,
    pub too_long: usize,
    pub dropped: usize,
    pub full_slots: usize,
    pub withdrawn: usize,
}

pub type Seen = Result<(), String>;

pub struct Bench<const W: usize, const K: usize, const LOGK: usize> {
    pub lockstep: Lockstep<Intake<W, K, LOGK>>,
    pub rng: Rng,
    /// Chunks to be sent; the octet of the first one that comes next.
    pub sending: VecDeque<Chunk>,
    at: usize,
    held: Option<(Bits<W>, usize)>,
    /// Chunks that have begun, with keys to come.
    keys: VecDeque<Chunk>,
    /// The chunk whose answer comes in this cycle.
    asked: Option<(usize, Chunk)>,
    due_beats: VecDeque<Beat>,
    due_ends: VecDeque<(usize, ChunkEnd)>,
    chunks: usize,
    /// When each stream was closed.
    closed: [Option<usize>; 4],
    pub cycle: usize,
    pub met: Met,
    pub entered: Vec<usize>,
    pub keyed: Vec<usize>,
    pub answered: Vec<usize>,
    pub beats_at: Vec<usize>,
    pub ends_at: Vec<usize>,
}

impl<const W: usize, const K: usize, const LOGK: usize> Bench<W, K, LOGK> {
    pub fn new(seed: u64) -> Self {
        let block = Box::new(Intake::new(&SCTP));
        let top = format!("sctp_intake_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    pub fn of(lockstep: Lockstep<Intake<W, K, LOGK>>, seed: u64) -> Self {
        Self {
            lockstep,
            rng: Rng::with_seed(seed),
            sending: VecDeque::new(),
            at: 0,
            held: None,
            keys: VecDeque::new(),
            asked: None,
            due_beats: VecDeque::new(),
            due_ends: VecDeque::new(),
            chunks: 0,
            closed: [None; 4],
            cycle: 0,
            met: Met::default(),
            entered: vec![],
            keyed: vec![],
            answered: vec![],
            beats_at: vec![],
            ends_at: vec![],
        }
    }

    pub fn reset(&mut self) -> Seen {
        self.lockstep.block.reset.next = true;
        for _ in 0..4 {
            self.lockstep.settle().map_err(|e| e.to_string())?;
            self.lockstep.edge().map_err(|e| e.to_string())?;
        }
        self.lockstep.block.reset.next = false;
        Ok(())
    }

    pub fn is_idle(&self) -> bool {
        self.sending.is_empty()
            && self.keys.is_empty()
            && self.asked.is_none()
            && self.due_beats.is_empty()
            && self.due_ends.is_empty()
    }

    /// A random chunk.
    pub fn chunk(&mut self) -> Chunk {
        let rng = &mut self.rng;
        let control = chance(rng, 8);
        let octets = match rng.u32(0..100) {
            0..3 => rng.usize(0..SSN_LEN),
            3..40 => rng.usize(SSN_LEN..K + 2),
            40..50 => SLOT - rng.usize(0..3),
            50..55 => SLOT + rng.usize(0..2 * K),
            55..57 => SLOT + rng.usize(0..SLOT),
            _ => rng.usize(SSN_LEN..SLOT),
        };
        Chunk {
            stream: rng.usize(0..4),
            control,
            terminate: rng.bool(),
            octets: (0..octets).map(|_| rng.u8(..)).collect(),
        }
    }

    pub fn step(&mut self, close: Option<usize>, paces: &mut Paces) -> Seen {
        self.drive(close, paces);
        self.lockstep.settle().map_err(|e| e.to_string())?;
        self.compare(close, paces)?;
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        Ok(())
    }

    fn drive(&mut self, close: Option<usize>, paces: &mut Paces) {
        let rng = &mut self.rng;
        // what a close two cycles ago has withdrawn
        for stream in 0..4 {
            if self.closed[stream].is_some_and(|at| at + 2 == self.cycle) {
                let of = |id: u64| id == stream as u64;
                let before = self.due_ends.len() + self.due_beats.len();
                self.due_beats
                    .retain(|(_, beat, _)| !of(beat.stream.to_u64()));
                self.due_ends.retain(|(_, end)| !of(end.stream.to_u64()));
                self.met.withdrawn += before - self.due_ends.len() - self.due_beats.len();
            }
        }
        let b = &mut self.lockstep.block;
        b.close.next = close.is_some();
        b.stream.next = (close.unwrap_or_else(|| rng.usize(0..4)) as u64).into();
        if self.held.is_none()
            && paces.beats.go(rng)
            && let Some(chunk) = self.sending.front()
        {
            let behind = (self.at + K).min(chunk.octets.len());
            let octets = &chunk.octets[self.at..behind];
            self.held = Some((noisy_beat(rng, octets), octets.len()));
        }
        b.s_axis_sctp.tvalid.next = self.held.is_some();
        match (&self.held, self.sending.front()) {
            (Some((data, count)), Some(chunk)) => {
                b.s_axis_sctp.tdata.next = *data;
                b.s_axis_sctp.tkeep.next = lowest(*count);
                b.s_axis_sctp.tlast.next = self.at + count == chunk.octets.len();
                b.s_axis_sctp.tdest.next = (chunk.stream as u64).into();
                let control = u64::from(chunk.control) << USER_CONTROL;
                let terminate = u64::from(chunk.terminate) << USER_TERMINATE;
                b.s_axis_sctp.tuser.next = (control | terminate).into();
            }
            _ => {
                b.s_axis_sctp.tdata.next = stimulus::bits(rng);
                b.s_axis_sctp.tkeep.next = lowest(rng.usize(0..=K));
                b.s_axis_sctp.tlast.next = rng.bool();
                b.s_axis_sctp.tdest.next = stimulus::bits(rng);
                b.s_axis_sctp.tuser.next = stimulus::bits(rng);
            }
        }
        b.m_key_ready.next = paces.keys.go(rng);
        b.m_ready.next = paces.ready.go(rng);
        b.m_end_ready.next = paces.ends.go(rng);

        b.answer_valid.next = false;
        b.answer.next = ChunkAnswer {
            taken: rng.bool(),
            invalid: rng.bool(),
            number: stimulus::bits(rng),
        };
        if let Some((_, chunk)) = self.asked.take_if(|(at, _)| *at == self.cycle) {
            let lately = |at| self.cycle < at + 64 && self.cycle > at + 1;
            let gone = self.closed[chunk.stream].is_some_and(lately);
            let missing = chunk.octets.len() < SSN_LEN;
            let invalid = missing || chance(rng, 4);
            let taken = (chance(rng, paces.taken) || invalid) && !gone;
            let number = match rng.u8(0..4) {
                0 => u32::MAX >> rng.u32(0..20),
                _ => rng.u32(..),
            };
            b.answer_valid.next = true;
            b.answer.next = ChunkAnswer {
                taken,
                invalid: taken && invalid,
                number: u64::from(number).into(),
            };
            self.answered.push(self.cycle);
            self.met.dropped += usize::from(!taken);
            if taken {
                self.expect(&chunk, invalid, number);
            }
        }
    }

    /// Changes what is due next: an octet, a position, or the length in an end.
    pub fn spoil(&mut self, wrong: usize) {
        match (wrong, self.due_beats.front_mut(), self.due_ends.front_mut()) {
            (0, Some((_, _, octets)), _) => octets[0] ^= 1,
            (1, Some((_, beat, _)), _) => beat.position = beat.position + 8,
            (2, _, Some((_, end))) if !end.too_long => end.length = end.length + 1,
            _ => {}
        }
    }

    fn expect(&mut self, chunk: &Chunk, invalid: bool, number: u32) {
        let stream = (chunk.stream as u64).into();
        self.chunks += 1;
        let too_long = !chunk.control && chunk.octets.len() > SLOT;
        if !chunk.control && !invalid {
            let inside = &chunk.octets[..chunk.octets.len().min(SLOT)];
            for (i, octets) in inside.chunks(K).enumerate() {
                let position = number.wrapping_mul(SLOT as u32) + (i * K) as u32;
                let beat = RingBeat {
                    stream,
                    position: u64::from(position).into(),
                    skip: 0.into(),
                    count: (octets.len() as u64).into(),
                    new_edge: 0.into(),
                };
                self.due_beats
                    .push_back((self.chunks, beat, octets.to_vec()));
            }
        }
        let end = ChunkEnd {
            stream,
            number: u64::from(number).into(),
            control: chunk.control,
            terminate: chunk.terminate,
            invalid,
            too_long,
            length: (chunk.octets.len().saturating_sub(SSN_LEN) as u64).into(),
        };
        self.due_ends.push_back((self.chunks, end));
        self.met.full_slots += usize::from(chunk.octets.len() == SLOT && !invalid);
    }

    fn compare(&mut self, close: Option<usize>, paces: &mut Paces) -> Seen {
        let cycle = self.cycle;
        let b = &self.lockstep.block;
        if b.m_valid.val() {
            let found = b.m_beat.val();
            let Some((_, beat, lanes)) = self.due_beats.front() else {
                return Err(format!("cycle {cycle}: a beat too many, {found:?}"));
            };
            if found != *beat || octets(b.m_data.val())[..lanes.len()] != lanes[..] {
                return Err(format!("cycle {cycle}: {found:?}, due {beat:?}"));
            }
            if b.m_ready.val() {
                self.due_beats.pop_front();
                self.met.beats += 1;
                self.beats_at.push(cycle);
            }
        }
        if b.m_end_valid.val() {
            let mut found = b.m_end.val();
            let Some((chunk, end)) = self.due_ends.front().copied() else {
                return Err(format!("cycle {cycle}: an end too many, {found:?}"));
            };
            if end.invalid {
                found.control = end.control;
                found.terminate = end.terminate;
                found.too_long = end.too_long;
            }
            if end.too_long || end.invalid {
                found.length = end.length;
            } else if self.due_beats.iter().any(|(of, ..)| *of == chunk)
                && !self.is_closing(end.stream.index())
            {
                return Err(format!("cycle {cycle}: {found:?} before its last beat"));
            }
            if found != end {
                return Err(format!("cycle {cycle}: {found:?}, due {end:?}"));
            }
            if b.m_end_ready.val() {
                self.due_ends.pop_front();
                self.met.ends += 1;
                self.met.controls += usize::from(end.control);
                self.met.too_long += usize::from(end.too_long);
                self.ends_at.push(cycle);
            }
        }
        if b.m_key_valid.val() {
            let mut found = b.m_key.val();
            let Some(chunk) = self.keys.front() else {
                return Err(format!("cycle {cycle}: a key too many, {found:?}"));
            };
            let due = chunk.key().unwrap_or(ChunkKey {
                stream: (chunk.stream as u64).into(),
                ssn: 0.into(),
                control: chunk.control,
                terminate: chunk.terminate,
                missing: true,
            });
            if due.missing {
                found.ssn = 0.into();
            }
            if found != due {
                return Err(format!("cycle {cycle}: {found:?}, due {due:?}"));
            }
            if b.m_key_ready.val() {
                if self.asked.is_some() {
                    return Err(format!("cycle {cycle}: two questions at a time"));
                }
                let chunk = self.keys.pop_front().unwrap();
                let at = cycle + self.rng.usize(paces.judge.clone());
                self.asked = Some((at, chunk));
                self.keyed.push(cycle);
            }
        }
        if b.s_axis_sctp.tvalid.val() && b.s_axis_sctp.tready.val() {
            let (_, count) = self.held.take().unwrap();
            let chunk = &self.sending[0];
            if self.at == 0 {
                self.keys.push_back(chunk.clone());
            }
            self.entered.push(cycle);
            self.at += count;
            if self.at == chunk.octets.len() {
                self.at = 0;
                self.sending.pop_front();
            }
        }
        if let Some(stream) = close {
            self.closed[stream] = Some(cycle);
        }
        Ok(())
    }

    /// Whether a stream was closed in the last two cycles, so that its beats may be gone already.
    fn is_closing(&self, stream: usize) -> bool {
        self.closed[stream].is_some_and(|at| self.cycle <= at + 2)
    }
}

//! The bench: drives the block, and says what is due.

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::tx::sctp::chunks::{BEHIND, Chunks, LATENCY, SENDS};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::{self, Rhythm};
use warpline_wire::sctp::{SSN_LEN, Sender, Ssn};
use warpline_wire::send::{CrcField, FpduWriter};

/// Streams of the block.
pub const STREAMS: usize = 4;
/// Cycles between an `arm` and the next SEND of its stream, or another `arm`.
const ARM: usize = 4;
/// Longest segment of random runs.
const LONGEST: usize = 300;

/// What a SEND covers of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// One FPDU of a session, or any octets of TCP.
    Whole,
    /// An FPDU and these octets behind it.
    Longer(usize),
    /// So many octets of it, and not all of those of the segment.
    Cut(usize),
    /// All but so many of the octets behind the segment.
    Short(usize),
}

/// A SEND, accepted.
#[derive(Clone, Debug)]
pub struct SendCommand {
    pub stream: usize,
    pub sequence: u32,
    /// What the ring reads.
    pub octets: Vec<u8>,
    /// The packet that is due.
    pub due: Vec<u8>,
    /// Cycle of its acceptance.
    pub at: usize,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// Of a session of SCTP.
    sender: Option<Sender>,
    armed: usize,
}

/// Rhythms of a run.
pub struct Paces {
    pub sends: Rhythm,
    pub beats: Rhythm,
    pub ready: Rhythm,
}

/// What has been seen.
#[derive(Clone, Debug, Default)]
pub struct Met {
    pub tcp: usize,
    pub chunks: usize,
    pub longer: usize,
    pub cut: usize,
    pub short: usize,
    pub wraps: usize,
    pub arms: usize,
    /// Octets of chunks in their last beat.
    pub residues: std::collections::BTreeSet<usize>,
    /// SENDs under way at most.
    pub under_way: usize,
}

pub type Seen = Result<(), String>;

type Beat = (Vec<u8>, bool, u64, u64);

pub struct Bench<const W: usize, const K: usize, const LOGK: usize> {
    pub lockstep: Lockstep<Chunks<W, K, LOGK, STREAMS>>,
    pub rng: Rng,
    streams: [Stream; STREAMS],
    /// SENDs whose octets are not all read.
    reading: VecDeque<SendCommand>,
    at: usize,
    offers: bool,
    data: rust_hdl_core::prelude::Bits<W>,
    /// SENDs whose packets have not left.
    leaving: VecDeque<SendCommand>,
    left: usize,
    held: Option<Beat>,
    accepted_at: usize,
    armed_at: usize,
    pub cycle: usize,
    pub met: Met,
    pub entered: Vec<usize>,
    pub beats_at: Vec<usize>,
}

impl<const W: usize, const K: usize, const LOGK: usize> Bench<W, K, LOGK> {
    pub fn new(seed: u64) -> Self {
        let block = Box::new(Chunks::default());
        let top = format!("sctp_chunks_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    pub fn of(lockstep: Lockstep<Chunks<W, K, LOGK, STREAMS>>, seed: u64) -> Self {
        Self {
            lockstep,
            rng: Rng::with_seed(seed),
            streams: Default::default(),
            reading: VecDeque::new(),
            at: 0,
            offers: false,
            data: 0.into(),
            leaving: VecDeque::new(),
            left: 0,
            held: None,
            accepted_at: 0,
            armed_at: 0,
            cycle: 8,
            met: Met::default(),
            entered: vec![],
            beats_at: vec![],
        }
    }

    pub fn reset(&mut self) -> Seen {
        let b = &mut self.lockstep.block;
        b.reset.next = true;
        b.arm.next = false;
        b.accepted.next = false;
        b.s_axis_transmit.tvalid.next = false;
        for _ in 0..4 {
            self.lockstep.settle().map_err(|e| e.to_string())?;
            self.lockstep.edge().map_err(|e| e.to_string())?;
        }
        self.lockstep.block.reset.next = false;
        Ok(())
    }

    pub fn is_idle(&self) -> bool {
        self.leaving.is_empty()
    }

    /// A cycle in which `stream` begins: a session with this first number, or a connection of TCP.
    pub fn arm(&mut self, stream: usize, first: Option<u16>, paces: &mut Paces) -> Seen {
        while self.cycle < self.armed_at + ARM {
            self.step(None, paces)?;
        }
        let b = &mut self.lockstep.block;
        b.arm.next = true;
        b.arm_stream.next = (stream as u64).into();
        b.arm_of_sctp.next = first.is_some();
        let any = self.rng.u16(..);
        b.arm_ssn.next = u64::from(first.unwrap_or(any)).into();
        self.armed_at = self.cycle;
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.sender = first.map(|first| Sender::new(Ssn(first)));
            stream.armed = self.cycle;
        }
        self.met.arms += 1;
        let stepped = self.step(None, paces);
        let rng = &mut self.rng;
        let b = &mut self.lockstep.block;
        b.arm.next = false;
        b.arm_stream.next = stimulus::bits(rng);
        b.arm_of_sctp.next = rng.bool();
        b.arm_ssn.next = stimulus::bits(rng);
        stepped
    }

    /// Whether a SEND of `stream` may be accepted in this cycle.
    pub fn may_send(&self, stream: usize) -> bool {
        self.cycle >= self.streams[stream].armed + ARM
            && self.cycle >= self.accepted_at + 2
            && self.reading.len() < SENDS
    }

    /// A SEND of a segment of `length` octets, or of as many octets of TCP.
    pub fn send(&mut self, stream: usize, length: usize, range: Range) -> SendCommand {
        let rng = &mut self.rng;
        let mut segment: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
        let sequence = rng.u32(..);
        // What a device that takes any stream for one of SCTP would read as the length of a small segment.
        if self.streams[stream].sender.is_none() && length > 2 && rng.bool() {
            (segment[0], segment[1]) = (0, rng.u8(..).min(length as u8));
        }
        let (octets, due) = match &mut self.streams[stream].sender {
            None => (segment.clone(), segment),
            Some(sender) => {
                let mut octets = vec![];
                let mut writer = FpduWriter::new(false, CrcField::Computed);
                let (header, payload) = segment.split_at(length.min(14));
                writer.append(header, payload, &mut octets).unwrap();
                let mut due = vec![0; SSN_LEN + length];
                self.met.wraps += usize::from(sender.next() == Ssn(u16::MAX));
                sender.emit(header, payload, u16::MAX, &mut due).unwrap();
                sender.acknowledged(1);
                match range {
                    Range::Whole => {}
                    Range::Longer(more) => octets.extend((0..more).map(|_| rng.u8(..))),
                    Range::Cut(to) => {
                        octets.truncate(to);
                        due.truncate(to);
                        // how the engine sees it
                        assert!(due.len() + BEHIND > octets.len());
                    }
                    Range::Short(by) => octets.truncate(octets.len() - by),
                }
                (octets, due)
            }
        };
        assert!(!octets.is_empty());
        SendCommand {
            stream,
            sequence,
            octets,
            due,
            at: self.cycle,
        }
    }

    /// A random SEND of `stream`.
    pub fn random(&mut self, stream: usize) -> SendCommand {
        let rng = &mut self.rng;
        let length = match rng.u8(0..8) {
            0 => rng.usize(1..=K.max(18)),
            1 => [14, 18][rng.usize(0..2)],
            2 => K * rng.usize(1..4) - rng.usize(0..3),
            _ => rng.usize(1..LONGEST),
        };
        let sctp = self.streams[stream].sender.is_some();
        let range = match rng.u8(0..20) {
            0 => Range::Longer(rng.usize(1..3 * K)),
            1 => Range::Cut(rng.usize(1..SSN_LEN + length)),
            2 => Range::Short(rng.usize(1..=BEHIND)),
            _ => Range::Whole,
        };
        match (sctp, range) {
            (false, _) => self.met.tcp += 1,
            (true, Range::Longer(_)) => self.met.longer += 1,
            (true, Range::Cut(_)) => self.met.cut += 1,
            (true, Range::Short(_)) => self.met.short += 1,
            (true, Range::Whole) => {
                self.met.chunks += 1;
                self.met.residues.insert((SSN_LEN + length) % K);
            }
        }
        self.send(stream, length, range)
    }

    pub fn step(&mut self, send: Option<SendCommand>, paces: &mut Paces) -> Seen {
        self.drive(send, paces);
        self.lockstep.settle().map_err(|e| e.to_string())?;
        self.compare()?;
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        Ok(())
    }

    fn drive(&mut self, send: Option<SendCommand>, paces: &mut Paces) {
        let rng = &mut self.rng;
        let b = &mut self.lockstep.block;
        b.accepted.next = send.is_some();
        b.accepted_stream.next = match &send {
            Some(send) => (send.stream as u64).into(),
            None => stimulus::bits(rng),
        };
        if let Some(send) = send {
            self.accepted_at = self.cycle;
            self.reading.push_back(send.clone());
            self.leaving.push_back(send);
            self.met.under_way = self.met.under_way.max(self.reading.len());
        }
        let front = self.reading.front();
        let front = front.filter(|send| self.cycle >= send.at + LATENCY);
        if !self.offers
            && let Some(front) = front
            && paces.beats.go(rng)
        {
            self.offers = true;
            let octets = &front.octets[self.at..];
            self.data = noisy_beat(rng, &octets[..octets.len().min(K)]);
        }
        let s = &mut b.s_axis_transmit;
        s.tvalid.next = self.offers;
        match self.reading.front().filter(|_| self.offers) {
            Some(send) => {
                let octets = send.octets.len() - self.at;
                s.tdata.next = self.data;
                s.tkeep.next = lowest(octets.min(K));
                s.tlast.next = octets <= K;
                s.tdest.next = (send.stream as u64).into();
                s.tuser.next = u64::from(send.sequence).into();
            }
            None => {
                s.tdata.next = stimulus::bits(rng);
                s.tkeep.next = stimulus::bits(rng);
                s.tlast.next = rng.bool();
                s.tdest.next = stimulus::bits(rng);
                s.tuser.next = stimulus::bits(rng);
            }
        }
        b.m_axis_transmit.tready.next = paces.ready.go(rng);
    }

    fn compare(&mut self) -> Seen {
        let cycle = self.cycle;
        let b = &self.lockstep.block;
        let m = &b.m_axis_transmit;
        let found = m.tvalid.val().then(|| -> Beat {
            let keep = (0..K).take_while(|lane| m.tkeep.val().get_bit(*lane));
            let count = keep.count();
            let mut beat = octets(m.tdata.val());
            if m.tkeep.val() == lowest::<K>(count) {
                beat.truncate(count);
            }
            (
                beat,
                m.tlast.val(),
                m.tdest.val().to_u64(),
                m.tuser.val().to_u64(),
            )
        });
        if let Some(held) = self.held.take().filter(|held| found.as_ref() != Some(held)) {
            return Err(format!(
                "cycle {cycle}: {held:x?} does not stay, {found:x?}"
            ));
        }
        if let Some(beat) = found {
            let Some(send) = self.leaving.front() else {
                return Err(format!("cycle {cycle}: a beat too many, {beat:x?}"));
            };
            let behind = (self.left + K).min(send.due.len());
            let last = behind == send.due.len();
            let due: Beat = (
                send.due[self.left..behind].to_vec(),
                last,
                send.stream as u64,
                send.sequence.into(),
            );
            if beat != due {
                return Err(format!("cycle {cycle}: {beat:x?}, due {due:x?}"));
            }
            if m.tready.val() {
                self.beats_at.push(cycle);
                self.left = behind;
                if last {
                    self.left = 0;
                    self.leaving.pop_front();
                }
            } else {
                self.held = Some(beat);
            }
        }
        if self.offers && b.s_axis_transmit.tready.val() {
            self.entered.push(cycle);
            self.offers = false;
            self.at += K;
            if self.at >= self.reading[0].octets.len() {
                self.at = 0;
                self.reading.pop_front();
            }
        }
        Ok(())
    }

    /// Changes an octet of the packet that leaves next.
    pub fn spoil(&mut self) {
        if let Some(send) = self.leaving.front_mut() {
            let last = send.due.len() - 1;
            send.due[last] ^= 1;
        }
    }
}

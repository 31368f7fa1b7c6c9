//! The bench: what goes in, what is due, and when it came.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::records::FramedBeat;
use warpline_hdl::tx::mpa::transmit_ring::ports::{COMMAND_KIND, COMMAND_LENGTH, COMMAND_SEQUENCE};
use warpline_hdl::tx::mpa::transmit_ring::{ARM, RESET, TransmitRing};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets::noisy_beat;
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};
use warpline_wire::send::{CrcField, FpduWriter};

use crate::model::{Command, Connection, Effect};

/// Octets of a ring in this bench.
pub const RING: usize = 4096;

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 3000;

/// Calls a function that is generic over the block's parameters at 512 bits, and at 128 and 256 where these are built, too.
macro_rules! at_wider {
    ($function:ident $arguments:tt) => {
        #[cfg(feature = "every-width")]
        $function::<128, 16, 4, 4, 2, 4> $arguments;
        #[cfg(feature = "every-width")]
        warpline_testbenches::lockstep::on_large_stack(|| $function::<256, 32, 8, 5, 3, 4> $arguments);
        warpline_testbenches::lockstep::on_large_stack(|| $function::<512, 64, 16, 6, 4, 4> $arguments);
    };
}
pub(crate) use at_wider;

/// An FPDU on its way into a ring.
#[derive(Clone, Debug)]
pub struct Fpdu {
    pub stream: u8,
    pub position: u64,
    pub octets: Vec<u8>,
    pub failed: bool,
}

/// A range on its way out.
#[derive(Clone, Debug)]
pub struct Due {
    pub command: Command,
    pub octets: Vec<u8>,
}

/// A report that answers a command: the edges and acknowledged positions of that time come behind these numbers of them.
#[derive(Clone, Debug)]
pub struct DueAnswer {
    pub stream: u8,
    pub effect: Effect,
    pub edges: usize,
    pub acknowledged: usize,
}

/// A report as TCP sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    pub stream: u8,
    pub kind: u64,
    pub edge: u32,
    pub free: u32,
    pub octets: u16,
}

/// Octets, how many of them count, `tlast`, `tdest`, `tuser`.
pub type TransmitBeat = (Vec<u8>, usize, bool, u8, u32);

/// When inputs are offered and outputs accepted.
#[derive(Clone, Copy, Debug)]
pub struct Paces {
    pub write: Pace,
    pub command: Pace,
    pub transmit: Pace,
    pub status: Pace,
}

impl Paces {
    pub const ALWAYS: Self = Self {
        write: Pace::Always,
        command: Pace::Always,
        transmit: Pace::Always,
        status: Pace::Always,
    };
}

/// Cycles of what happened.
#[derive(Clone, Debug, Default)]
pub struct Times {
    pub beats: Vec<usize>,
    pub completes: Vec<usize>,
    pub commands: Vec<usize>,
    pub transmits: Vec<usize>,
    pub freed: Vec<usize>,
    pub reports: Vec<(usize, Report)>,
}

/// What has happened, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cover {
    pub visible: usize,
    pub invisible: usize,
    pub sends: usize,
    pub refused: usize,
    pub freed: usize,
    pub ignored: usize,
    pub boundaries: usize,
    pub no_boundary: usize,
    pub moved: usize,
    /// MEASUREs whose boundary is further than a word below the limit.
    pub far: usize,
}

/// A pulse of the control.
#[derive(Clone, Copy, Debug)]
pub enum Pulse {
    Arm(u32),
    Close,
}

pub struct Bench<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> {
    pub lockstep: Lockstep<TransmitRing<W, K, D, LOGK, LOGD, S>>,
    pub rng: Rng,
    pub cycle: usize,
    pub streams: Vec<Connection>,
    /// Connections in front of these.
    pub earlier: Vec<Connection>,
    pub writes: VecDeque<Fpdu>,
    pub written: usize,
    pub commands: VecDeque<Command>,
    pub times: Times,
    pub cover: Cover,
    pub control: u8,
    pub pulse: Option<Pulse>,
    pub rhythms: [Rhythm; 4],
    pub offers: [bool; 2],
    pub decided: VecDeque<Fpdu>,
    pub sends: VecDeque<Due>,
    pub came: Vec<u8>,
    pub freed: VecDeque<(u8, u64)>,
    pub answers: VecDeque<DueAnswer>,
    /// Number of the edge that was reported last, for each stream.
    pub reported: Vec<usize>,
    pub held_beat: Option<TransmitBeat>,
    pub held_report: Option<Report>,
    pub idle: usize,
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> Bench<W, K, D, LOGK, LOGD, S>
{
    pub fn new(seed: u64) -> Self {
        let block = Box::new(TransmitRing::new(RING));
        let top = format!("transmit_ring_{W}_{S}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    pub fn of(lockstep: Lockstep<TransmitRing<W, K, D, LOGK, LOGD, S>>, seed: u64) -> Self {
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
            streams: vec![Connection::dead(); S],
            earlier: vec![Connection::dead(); S],
            writes: VecDeque::new(),
            written: 0,
            commands: VecDeque::new(),
            times: Times::default(),
            cover: Cover::default(),
            control: 0,
            pulse: None,
            rhythms: [Pace::Always; 4].map(Rhythm::new),
            offers: [false; 2],
            decided: VecDeque::new(),
            sends: VecDeque::new(),
            came: vec![],
            freed: VecDeque::new(),
            answers: VecDeque::new(),
            reported: vec![0; S],
            held_beat: None,
            held_report: None,
            idle: 0,
        };
        bench.reset().unwrap_or_else(|e| panic!("{e}"));
        bench
    }

    pub fn reset(&mut self) -> Result<(), String> {
        self.lockstep.block.reset.next = true;
        for _ in 0..RESET {
            self.noise();
            self.lockstep.settle().map_err(|e| e.to_string())?;
            self.lockstep.edge().map_err(|e| e.to_string())?;
        }
        self.lockstep.block.reset.next = false;
        self.forget();
        self.streams = vec![Connection::dead(); S];
        self.earlier = vec![Connection::dead(); S];
        self.reported = vec![0; S];
        Ok(())
    }

    /// Drops what is due.
    pub fn forget(&mut self) {
        self.writes.clear();
        self.written = 0;
        self.commands.clear();
        self.decided.clear();
        self.sends.clear();
        self.came.clear();
        self.freed.clear();
        self.answers.clear();
        (self.held_beat, self.held_report) = (None, None);
    }

    pub fn pace(&mut self, paces: Paces) {
        let Paces {
            write,
            command,
            transmit,
            status,
        } = paces;
        self.rhythms = [write, command, transmit, status].map(Rhythm::new);
    }

    /// Random values at all inputs but clock and reset.
    pub fn noise(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        b.s_valid.next = chance(rng, 50);
        b.s_failed.next = chance(rng, 50);
        b.s_data.next = stimulus::bits(rng);
        b.s_beat.next = FramedBeat {
            stream: stimulus::bits(rng),
            position: stimulus::bits(rng),
            dwords: stimulus::bits(rng),
            first: chance(rng, 50),
            last: chance(rng, 50),
        };
        b.arm.next = chance(rng, 50);
        b.close.next = chance(rng, 50);
        b.stream.next = stimulus::bits(rng);
        b.sequence_start.next = stimulus::bits(rng);
        b.s_axis_send.tdata.next = stimulus::bits(rng);
        b.s_axis_send.tdest.next = stimulus::bits(rng);
        b.s_axis_send.tvalid.next = chance(rng, 50);
        b.m_axis_transmit.tready.next = chance(rng, 50);
        b.m_axis_status.tready.next = chance(rng, 50);
    }

    /// Puts an FPDU of about `length` octets behind the last one of `stream`; false if the ring has no room for it.
    pub fn write(&mut self, stream: u8, length: usize, failed: bool) -> bool {
        let connection = &self.streams[usize::from(stream)];
        let (position, rng) = (connection.next, &mut self.rng);
        let ulpdu: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
        let mut octets = vec![];
        FpduWriter::at(position as u32, rng.bool(), CrcField::Zero)
            .append(&[], &ulpdu, &mut octets)
            .unwrap();
        if position + octets.len() as u64 > connection.freed + RING as u64 {
            return false;
        }
        self.streams[usize::from(stream)].append(&octets);
        self.writes.push_back(Fpdu {
            stream,
            position,
            octets,
            failed,
        });
        true
    }

    /// An FPDU of a stream that does not exist.
    pub fn stray(&mut self, stream: u8, octets: usize) {
        let (position, rng) = (4 * self.rng.u64(..1 << 30), &mut self.rng);
        self.writes.push_back(Fpdu {
            stream,
            position,
            octets: (0..octets).map(|_| rng.u8(..)).collect(),
            failed: false,
        });
    }

    pub fn command(&mut self, kind: u64, stream: u8, sequence: u32, length: u16) {
        self.commands.push_back(Command {
            stream,
            kind,
            sequence,
            length,
        });
    }

    /// As `command`, from a stream position.
    pub fn command_at(&mut self, kind: u64, stream: u8, position: u64, length: u16) {
        let sequence = self.streams[usize::from(stream)].sequence(position);
        self.command(kind, stream, sequence, length);
    }

    /// Arms a stream and lets it come into effect.
    pub fn arm(&mut self, stream: u8, start: u32) -> Result<(), String> {
        let connection = Connection::at(0, start);
        let before = std::mem::replace(&mut self.streams[usize::from(stream)], connection);
        self.earlier[usize::from(stream)] = before;
        self.reported[usize::from(stream)] = 0;
        self.control = stream;
        self.pulse = Some(Pulse::Arm(start));
        self.steps(ARM)
    }

    /// Closes a stream; SENDs of it may be under way.
    pub fn close(&mut self, stream: u8) -> Result<(), String> {
        self.control = stream;
        self.pulse = Some(Pulse::Close);
        self.step()?;
        let connection = &mut self.streams[usize::from(stream)];
        connection.live = false;
        connection.closed = self.cycle;
        Ok(())
    }

    /// Steps until `quiet` says so.
    pub fn until_quiet(&mut self) -> Result<usize, String> {
        self.steps(4)?;
        for cycles in 4..PATIENCE {
            if self.lockstep.block.quiet.val() {
                return Ok(cycles);
            }
            self.step()?;
        }
        Err("never quiet".into())
    }

    pub fn steps(&mut self, cycles: usize) -> Result<(), String> {
        (0..cycles).try_for_each(|_| self.step())
    }

    /// Nothing is left to do or to come, except reports of moved edges.
    pub fn done(&self) -> bool {
        self.writes.is_empty()
            && self.commands.is_empty()
            && self.decided.is_empty()
            && self.sends.is_empty()
            && self.freed.is_empty()
            && self.answers.is_empty()
    }

    /// Steps until all is done, and some more; the last report of each stream is then of its edge.
    pub fn finish(&mut self) -> Result<(), String> {
        while !self.done() {
            self.step()?;
        }
        let status = self.rhythms[3].clone();
        self.rhythms[3] = Rhythm::new(Pace::Always);
        self.steps(20 + 6 * S)?;
        self.rhythms[3] = status;
        for (stream, connection) in self.streams.iter().enumerate() {
            if connection.live && self.reported[stream] + 1 != connection.edges.len() {
                return Err(format!("stream {stream}: its edge is not reported"));
            }
        }
        Ok(())
    }

    /// Whether FPDUs of the stream are on their way.
    pub fn writes_to(&self, stream: u8) -> bool {
        let mut fpdus = self.writes.iter().chain(&self.decided);
        fpdus.any(|fpdu| fpdu.stream == stream)
    }

    /// Whether commands of the stream are not yet executed, as far as one can see.
    pub fn asks_of(&self, stream: u8) -> bool {
        self.commands.iter().any(|c| c.stream == stream)
            || self.answers.iter().any(|a| a.stream == stream)
            || !self.lockstep.block.s_axis_send.tready.val()
    }

    /// A cycle.
    pub fn step(&mut self) -> Result<(), String> {
        let at = |cycle| move |text| format!("cycle {cycle}: {text}");
        self.drive();
        self.lockstep.settle().map_err(|e| e.to_string())?;
        self.sample().map_err(at(self.cycle))?;
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        self.idle += 1;
        match self.idle > PATIENCE && !self.done() {
            true => Err(format!("cycle {}: nothing moves any more", self.cycle)),
            false => Ok(()),
        }
    }

    /// Inputs of a cycle.
    pub fn drive(&mut self) {
        self.noise();
        let [write, command, transmit, status] = &mut self.rhythms;
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        for (offer, rhythm) in self.offers.iter_mut().zip([write, command]) {
            *offer = *offer || rhythm.go(rng);
        }
        b.m_axis_transmit.tready.next = transmit.go(rng);
        b.m_axis_status.tready.next = status.go(rng);
        b.stream.next = u64::from(self.control).into();
        let pulse = self.pulse.take();
        b.close.next = matches!(pulse, Some(Pulse::Close));
        b.arm.next = matches!(pulse, Some(Pulse::Arm(_)));
        if let Some(Pulse::Arm(start)) = pulse {
            b.sequence_start.next = u64::from(start).into();
        }
        let fpdu = self.writes.front().filter(|_| self.offers[0]);
        b.s_valid.next = fpdu.is_some();
        if let Some(fpdu) = fpdu {
            let end = fpdu.octets.len().min(self.written + K);
            let beat = &fpdu.octets[self.written..end];
            let last = end == fpdu.octets.len();
            b.s_beat.next = FramedBeat {
                stream: u64::from(fpdu.stream).into(),
                position: ((fpdu.position + self.written as u64) & 0xFFFF_FFFF).into(),
                dwords: (beat.len() as u64 / 4).into(),
                first: self.written == 0,
                last,
            };
            b.s_data.next = noisy_beat(rng, beat);
            if last {
                b.s_failed.next = fpdu.failed;
            }
        }
        let command = self.commands.front().filter(|_| self.offers[1]);
        b.s_axis_send.tvalid.next = command.is_some();
        if let Some(command) = command {
            // the bits above have no meaning
            let data = u64::from(command.sequence) << COMMAND_SEQUENCE
                | u64::from(command.length) << COMMAND_LENGTH
                | command.kind << COMMAND_KIND
                | rng.u64(..) << (COMMAND_KIND + 2);
            b.s_axis_send.tdata.next = data.into();
            b.s_axis_send.tdest.next = u64::from(command.stream).into();
        }
    }
}

//! The bench: what goes in, what is due, and when it came.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::records::FramedBeat;
use warpline_hdl::tx::mpa::transmit_ring::ports::{
    ANSWER, COMMAND_KIND, COMMAND_LENGTH, COMMAND_SEQUENCE, MOVED, REFUSED, STATUS_EDGE,
    STATUS_FREE, STATUS_KIND, STATUS_OCTETS,
};
use warpline_hdl::tx::mpa::transmit_ring::{ARM, RESET, TransmitRing};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};
use warpline_wire::send::{CrcField, FpduWriter};

use crate::model::{Command, Connection, Effect};

/// Octets of a ring in this bench.
pub const RING: usize = 4096;

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 3000;

/// Cycles from `close` to the last FPDU that may still become visible.
const CLOSING: usize = 8;

/// Calls a function that is generic over the block's parameters for the widths above 64 bits.
macro_rules! at_wider {
    ($function:ident $arguments:tt) => {
        $function::<128, 16, 4, 4, 2, 4> $arguments;
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
struct Due {
    command: Command,
    octets: Vec<u8>,
}

/// A report that answers a command: the edges and acknowledged positions of that time come behind these numbers of them.
#[derive(Clone, Debug)]
struct DueAnswer {
    stream: u8,
    effect: Effect,
    edges: usize,
    acknowledged: usize,
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

type TransmitBeat = (Vec<u8>, usize, bool, u8, u32);

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
enum Pulse {
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
    earlier: Vec<Connection>,
    pub writes: VecDeque<Fpdu>,
    written: usize,
    pub commands: VecDeque<Command>,
    pub times: Times,
    pub cover: Cover,
    control: u8,
    pulse: Option<Pulse>,
    rhythms: [Rhythm; 4],
    offers: [bool; 2],
    decided: VecDeque<Fpdu>,
    sends: VecDeque<Due>,
    came: Vec<u8>,
    freed: VecDeque<(u8, u64)>,
    answers: VecDeque<DueAnswer>,
    /// Number of the edge that was reported last, for each stream.
    reported: Vec<usize>,
    held_beat: Option<TransmitBeat>,
    held_report: Option<Report>,
    idle: usize,
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
        self.streams = vec![Connection::dead(); S];
        self.earlier = vec![Connection::dead(); S];
        self.reported = vec![0; S];
        Ok(())
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

    fn drive(&mut self) {
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

    fn sample(&mut self) -> Result<(), String> {
        self.sample_complete()?;
        self.sample_freed()?;
        self.sample_transmit()?;
        self.sample_status()?;
        let b = &self.lockstep.block;
        if b.s_valid.val() && b.s_ready.val() {
            (self.offers[0], self.idle) = (false, 0);
            self.times.beats.push(self.cycle);
            self.written += K;
            if self.written >= self.writes[0].octets.len() {
                self.decided.extend(self.writes.pop_front());
                self.written = 0;
            }
        }
        if b.s_axis_send.tvalid.val() && b.s_axis_send.tready.val() {
            (self.offers[1], self.idle) = (false, 0);
            self.times.commands.push(self.cycle);
            let command = self.commands.pop_front().unwrap();
            self.execute(command);
        }
        Ok(())
    }

    /// Notes what a command must lead to.
    fn execute(&mut self, command: Command) {
        let dead = Connection::dead();
        let known = usize::from(command.stream) < S;
        let connection = match known {
            true => &mut self.streams[usize::from(command.stream)],
            false => &mut { dead },
        };
        let effect = connection.effect(command);
        match effect {
            Effect::Octets(octets) => {
                self.cover.sends += 1;
                self.sends.push_back(Due { command, octets });
            }
            Effect::Freed(position) => {
                self.cover.freed += 1;
                connection.acknowledged.push(position);
                self.freed.push_back((command.stream, position));
            }
            Effect::Nothing => self.cover.ignored += 1,
            Effect::Search(..) | Effect::Refused => self.answers.push_back(DueAnswer {
                stream: command.stream,
                effect,
                edges: connection.edges.len() - 1,
                acknowledged: connection.acknowledged.len() - 1,
            }),
        }
    }

    fn sample_complete(&mut self) -> Result<(), String> {
        let b = &self.lockstep.block;
        if !b.complete.val() {
            return Ok(());
        }
        let (stream, visible) = (b.complete_stream.val().index(), b.complete_visible.val());
        let Some(fpdu) = self.decided.pop_front() else {
            return Err("complete, but no FPDU is due".into());
        };
        if stream != usize::from(fpdu.stream) {
            return Err(format!("complete for {stream}, due for {}", fpdu.stream));
        }
        self.idle = 0;
        self.times.completes.push(self.cycle);
        let mut due = false;
        if let Some(connection) = self.streams.get_mut(stream) {
            connection.broken |= fpdu.failed;
            due = connection.live && !connection.broken;
            if !connection.live && self.cycle <= connection.closed + CLOSING {
                due = visible;
            }
            if due {
                let end = fpdu.position + fpdu.octets.len() as u64;
                connection.edges.push(end);
                connection.boundaries.insert(end);
            }
        }
        self.cover.visible += usize::from(due);
        self.cover.invisible += usize::from(!due);
        match due == visible {
            true => Ok(()),
            false => Err(format!("visible is {visible}, due {due}: stream {stream}")),
        }
    }

    fn sample_freed(&mut self) -> Result<(), String> {
        let b = &self.lockstep.block;
        if !b.freed.val() {
            return Ok(());
        }
        let found = (
            b.freed_stream.val().index() as u8,
            b.freed_position.val().to_u32(),
        );
        let Some((stream, position)) = self.freed.pop_front() else {
            return Err(format!("freed {found:?}, but nothing is due"));
        };
        if found != (stream, position as u32) {
            return Err(format!("freed {found:?}, due {stream}, {position}"));
        }
        (self.idle, self.streams[usize::from(stream)].freed) = (0, position);
        self.times.freed.push(self.cycle);
        Ok(())
    }

    fn sample_transmit(&mut self) -> Result<(), String> {
        let m = &self.lockstep.block.m_axis_transmit;
        if !m.tvalid.val() {
            return match self.held_beat {
                Some(_) => Err("m_axis_transmit: not valid until accepted".into()),
                None => Ok(()),
            };
        }
        let kept = (0..K)
            .take_while(|lane| m.tkeep.val().get_bit(*lane))
            .count();
        if m.tkeep.val() != lowest::<K>(kept) || kept == 0 || (kept < K && !m.tlast.val()) {
            return Err(format!(
                "tkeep is {:x}, tlast {}",
                m.tkeep.val(),
                m.tlast.val()
            ));
        }
        let beat: TransmitBeat = (
            octets(m.tdata.val()),
            kept,
            m.tlast.val(),
            m.tdest.val().index() as u8,
            m.tuser.val().to_u32(),
        );
        if self.held_beat.as_ref().is_some_and(|held| *held != beat) {
            return Err("m_axis_transmit: not stable until accepted".into());
        }
        let ready = m.tready.val();
        let (octets, _, last, stream, sequence) = beat.clone();
        self.held_beat = Some(beat).filter(|_| !ready);
        if !ready {
            return Ok(());
        }
        (self.idle, _) = (0, self.times.transmits.push(self.cycle));
        self.came.extend(&octets[..kept]);
        let Some(due) = self.sends.front() else {
            return Err("octets, but no SEND".into());
        };
        if (stream, sequence) != (due.command.stream, due.command.sequence) {
            return Err(format!("{stream}, {sequence:08x}: due {:?}", due.command));
        }
        if last {
            let came = std::mem::take(&mut self.came);
            if came != due.octets {
                return Err(format!("other octets, {} of {:?}", came.len(), due.command));
            }
            self.sends.pop_front();
        }
        Ok(())
    }

    fn sample_status(&mut self) -> Result<(), String> {
        let m = &self.lockstep.block.m_axis_status;
        if !m.tvalid.val() {
            return match self.held_report {
                Some(_) => Err("m_axis_status: not valid until accepted".into()),
                None => Ok(()),
            };
        }
        let data = m.tdata.val();
        let report = Report {
            stream: m.tdest.val().index() as u8,
            kind: data.get_bits::<2>(STATUS_KIND).index() as u64,
            edge: data.get_bits::<32>(STATUS_EDGE).to_u32(),
            free: data.get_bits::<32>(STATUS_FREE).to_u32(),
            octets: data.get_bits::<16>(STATUS_OCTETS).to_u32() as u16,
        };
        if self.held_report.is_some_and(|held| held != report) {
            return Err("m_axis_status: not stable until accepted".into());
        }
        let ready = m.tready.val();
        self.held_report = Some(report).filter(|_| !ready);
        if !ready {
            return Ok(());
        }
        self.idle = 0;
        self.times.reports.push((self.cycle, report));
        match report.kind {
            MOVED => self.check_moved(report),
            _ => self.check_answer(report),
        }
        .map_err(|text| format!("{report:?}: {text}"))
    }

    fn check_moved(&mut self, report: Report) -> Result<(), String> {
        self.cover.moved += 1;
        let stream = usize::from(report.stream);
        let Some(connection) = self.streams.get(stream).filter(|_| report.octets == 0) else {
            return Err("no such stream, or an answer".into());
        };
        if let Some(edge) = numbers(connection, self.reported[stream].max(1), 0, report) {
            self.reported[stream] = edge;
            return Ok(());
        }
        // a report that was made before the stream was armed again
        match numbers(&self.earlier[stream], 0, 0, report) {
            Some(_) => Ok(()),
            None => Err(format!(
                "edges {:?}",
                &connection.edges[self.reported[stream]..]
            )),
        }
    }

    fn check_answer(&mut self, report: Report) -> Result<(), String> {
        let Some(due) = self.answers.pop_front() else {
            return Err("no answer is due".into());
        };
        if report.stream != due.stream {
            return Err(format!("due {due:?}"));
        }
        let connection = self.streams.get(usize::from(due.stream));
        let live = connection.filter(|connection| connection.live);
        if live.is_some_and(|c| numbers(c, due.edges, due.acknowledged, report).is_none()) {
            return Err(format!(
                "edge or free, {:?}",
                live.map(|c| &c.edges[due.edges..])
            ));
        }
        let (kind, mut answers) = match due.effect {
            Effect::Search(from, length) => {
                let connection = connection.unwrap();
                let edges = connection.edges[due.edges..].iter();
                let answers = edges.map(|edge| connection.measured(from, length, *edge));
                self.cover.boundaries += usize::from(report.octets > 0);
                self.cover.no_boundary += usize::from(report.octets == 0);
                self.cover.far += usize::from(report.octets.saturating_add(256) < length);
                (ANSWER, answers.collect())
            }
            _ => {
                self.cover.refused += 1;
                (REFUSED, vec![0])
            }
        };
        answers.dedup();
        match report.kind == kind && answers.contains(&report.octets) {
            true => Ok(()),
            false => Err(format!("due kind {kind}, {answers:?}")),
        }
    }
}

/// The number of the edge in a report, if it and the free octets are those of a time behind the numbers given.
fn numbers(
    connection: &Connection,
    edges: usize,
    acknowledged: usize,
    report: Report,
) -> Option<usize> {
    let free = |edge: u64, acked: &u64| {
        let used = edge.wrapping_sub(*acked);
        u64::from(report.free) == (RING as u64).wrapping_sub(used)
    };
    let mut found = connection.edges.iter().enumerate().skip(edges);
    let (number, edge) = found.find(|(_, edge)| connection.sequence(**edge) == report.edge)?;
    let mut acks = connection.acknowledged[acknowledged..].iter();
    acks.any(|acked| free(*edge, acked)).then_some(number)
}

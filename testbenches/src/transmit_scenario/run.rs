//! Hosts, host memory, TCP and the peer at the ports of a device.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::reset::RESET_CYCLES;
use warpline_hdl::tx::mpa::transmit_ring::ports;
use warpline_regmap::Field;
use warpline_regmap::layout::{close, completion, kind, revoke, stag_entry, stream_context};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{
    self, SLOT_OCTETS, Slot, emss, send_event, send_ring, transmit_context,
};
use warpline_verilate::{Direction, Model, Port};
use warpline_wire::send::{CrcField, FpduWriter, Message};

use super::common::{Coverage, Outcome, RING, ScenarioError, Spoil, memory_octet};
use super::judge::Judge;
use super::plan::{Fault, Life, Memory, Paces, Plan, Step, Wrong};
use crate::local_memory::Region;
use crate::stimulus::{Rhythm, chance};

/// Cycles without any progress after which a run gives up.
const PATIENCE: u64 = 8_000;
/// Cycles that a command may take.
const COMMAND: u64 = 40_000;
/// Reads of `TRANSMIT_STATE` until a stream that is done must be idle.
const POLLS: u32 = 200;
/// The completion queue.
const QUEUE: u64 = 0x300 << 32;
const ENTRIES: u32 = 16;
/// Octets of an entry.
const ENTRY: usize = 32;
/// Boundary that no burst crosses.
const PAGE: u64 = 4096;
/// Bursts of reads that the memory accepts at a time.
const READS: usize = 40;

macro_rules! ports {
    ($($name:ident),+ $(,)?) => {
        #[derive(Clone, Copy)]
        struct Ports { $($name: Port,)+ }

        impl Ports {
            fn find(model: &Model) -> Result<Self, warpline_verilate::Error> {
                Ok(Self { $($name: model.port(stringify!($name))?,)+ })
            }
        }
    };
}

ports! {
    aclk, aresetn,
    s_axis_segment_tdata, s_axis_segment_tkeep, s_axis_segment_tlast, s_axis_segment_tdest, s_axis_segment_tuser,
    s_axis_segment_tvalid, s_axis_segment_tready, m_axis_window_tready,
    s_axil_awaddr, s_axil_awvalid, s_axil_awready, s_axil_wdata, s_axil_wstrb, s_axil_wvalid, s_axil_wready, s_axil_bvalid,
    s_axil_bready, s_axil_araddr, s_axil_arvalid, s_axil_arready, s_axil_rdata, s_axil_rvalid, s_axil_rready,
    m_axi_awaddr, m_axi_awlen, m_axi_awvalid, m_axi_awready, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid, m_axi_wready,
    m_axi_bvalid, m_axi_bready, m_axi_araddr, m_axi_arlen, m_axi_arvalid, m_axi_arready, m_axi_rdata, m_axi_rresp, m_axi_rlast,
    m_axi_rvalid, m_axi_rready, m_axis_msix_tready,
    s_axis_send_tdata, s_axis_send_tdest, s_axis_send_tvalid, s_axis_send_tready,
    m_axis_transmit_tdata, m_axis_transmit_tkeep, m_axis_transmit_tlast, m_axis_transmit_tdest, m_axis_transmit_tuser,
    m_axis_transmit_tvalid, m_axis_transmit_tready,
    m_axis_status_tdata, m_axis_status_tdest, m_axis_status_tvalid, m_axis_status_tready,
}

/// What a command of the host does to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Nothing that the judge follows.
    SetUp,
    Emss(u16),
    Revoke(usize),
    Close,
}

/// An access to registers, for a stream number.
#[derive(Clone, Debug)]
enum Access {
    Write(u32, u32),
    Doorbell(usize, Vec<super::plan::Posting>),
    /// Writes COMMAND.
    Start(usize, u32, What),
    /// Reads COMMAND until the command is done.
    Done(usize, What),
    /// Reads TRANSMIT_STATE until the stream is idle.
    State(usize, u32),
}

/// What is under way at the registers' port.
#[derive(Clone, Debug)]
struct UnderWay {
    access: Access,
    address: bool,
    data: bool,
    began: u64,
}

/// Where a life is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SetUp,
    Running,
    /// All is done: the state is read.
    Checking,
    Closing,
    /// What TCP has asked for comes to its end.
    Resolving,
    Tidying,
}

/// A command of TCP that is not answered.
#[derive(Clone, Copy, Debug)]
struct Pending {
    kind: u64,
    from: u32,
    octets: u16,
    illegal: bool,
    edge: u32,
}

/// A life that is under way.
#[derive(Debug)]
struct Current {
    life: Life,
    judge: Judge,
    phase: Phase,
    steps: VecDeque<Step>,
    pause: u64,
    /// Accesses that are not done.
    accesses: usize,
    /// What the slots of the ring hold, and whether the bus refuses them.
    slots: Vec<Option<(Slot, bool)>>,
    produced: u16,
    /// Its ring and its memory may be read.
    readable: bool,
    edge: u32,
    asked: u32,
    acknowledged: u32,
    measuring: bool,
    /// A MEASURE gave so many octets; 0: none that fit.
    measured: Option<u16>,
    pending: VecDeque<Pending>,
    refused: usize,
    peer: FpduWriter,
}

/// A SEND that was accepted.
#[derive(Clone, Copy, Debug)]
struct Send {
    number: usize,
    from: u32,
    next: u32,
    end: u32,
}

/// A burst of reads.
#[derive(Clone, Copy, Debug)]
struct Read {
    address: u64,
    left: u64,
    due: u64,
}

struct Rhythms {
    ar: Rhythm,
    r: Rhythm,
    aw: Rhythm,
    w: Rhythm,
    b: Rhythm,
    transmit: Rhythm,
    status: Rhythm,
    command: Rhythm,
    host: Rhythm,
    completions: Rhythm,
}

impl Rhythms {
    fn new(paces: &Paces) -> Self {
        Self {
            ar: Rhythm::new(paces.ar),
            r: Rhythm::new(paces.r),
            aw: Rhythm::new(paces.aw),
            w: Rhythm::new(paces.w),
            b: Rhythm::new(paces.b),
            transmit: Rhythm::new(paces.transmit),
            status: Rhythm::new(paces.status),
            command: Rhythm::new(paces.command),
            host: Rhythm::new(paces.host),
            completions: Rhythm::new(paces.completions),
        }
    }
}

/// A segment of the peer.
#[derive(Debug)]
struct Arrival {
    number: usize,
    first: u32,
    octets: Vec<u8>,
    at: usize,
}

pub struct Run<'m> {
    model: &'m mut Model,
    ports: Ports,
    beat: usize,
    seed: u64,
    rng: Rng,
    spoil: Option<Spoil>,
    rhythms: Rhythms,
    delay: std::ops::Range<u64>,
    cycle: u64,
    moved: u64,
    limit: u64,
    /// Lives to come of each stream number, and the one under way.
    waiting: Vec<VecDeque<Life>>,
    streams: Vec<Option<Current>>,
    commands: VecDeque<Access>,
    doorbells: VecDeque<Access>,
    under_way: Option<UnderWay>,
    command_began: Option<u64>,
    turn: usize,
    offer: Option<(usize, Pending)>,
    sends: VecDeque<Send>,
    reads: VecDeque<Read>,
    r_held: bool,
    addresses: VecDeque<(u64, u64)>,
    written: VecDeque<(Vec<u32>, u64, bool)>,
    write_at: Option<(u64, u64)>,
    responses: u64,
    b_held: bool,
    queue: Vec<u8>,
    consumer: u32,
    told: u32,
    arrivals: VecDeque<Arrival>,
    /// What was valid and not taken: AR, AW, transmit, status.
    held: [Option<Vec<u64>>; 4],
    coverage: Coverage,
    outcome: Outcome,
}

type Result<T, E = ScenarioError> = std::result::Result<T, E>;

impl<'m> Run<'m> {
    pub fn new(
        model: &'m mut Model,
        width: usize,
        seed: u64,
        spoil: Option<Spoil>,
    ) -> Result<Self> {
        let mut rng = Rng::with_seed(seed);
        let plan = Plan::new(&mut rng);
        let ports = Ports::find(model)?;
        let inputs: Vec<Port> = model
            .ports()
            .filter(|(_, info)| info.direction == Direction::Input)
            .map(|(port, _)| port)
            .collect();
        for port in inputs {
            model.set_words(port, &[]);
        }
        let octets: u64 = plan.streams.iter().flatten().map(octets_of).sum();
        let mut run = Self {
            model,
            ports,
            beat: width / 8,
            seed,
            rng,
            spoil,
            rhythms: Rhythms::new(&plan.paces),
            delay: plan.paces.delay.clone(),
            cycle: 0,
            moved: 0,
            limit: 150_000 + 30 * octets,
            streams: plan.streams.iter().map(|_| None).collect(),
            waiting: plan.streams.into_iter().map(VecDeque::from).collect(),
            commands: VecDeque::new(),
            doorbells: VecDeque::new(),
            under_way: None,
            command_began: None,
            turn: 0,
            offer: None,
            sends: VecDeque::new(),
            reads: VecDeque::new(),
            r_held: false,
            addresses: VecDeque::new(),
            written: VecDeque::new(),
            write_at: None,
            responses: 0,
            b_held: false,
            queue: vec![0; ENTRY * ENTRIES as usize],
            consumer: 0,
            told: 0,
            arrivals: VecDeque::new(),
            held: [const { None }; 4],
            coverage: Coverage::default(),
            outcome: Outcome::default(),
        };
        run.reset()?;
        Ok(run)
    }

    fn wrong(&self, what: impl Into<String>) -> ScenarioError {
        ScenarioError::Wrong {
            seed: self.seed,
            cycle: self.cycle,
            what: what.into(),
        }
    }

    fn get(&self, port: Port) -> u64 {
        self.model.get(port)
    }

    fn passes(&self, valid: Port, ready: Port) -> bool {
        self.get(valid) & self.get(ready) == 1
    }

    fn reset(&mut self) -> Result<()> {
        for cycle in 0..RESET_CYCLES + 8 {
            self.model.set(self.ports.aresetn, u64::from(cycle >= 4));
            self.clock(0)?;
            self.clock(1)?;
        }
        let p = self.ports;
        for ready in [
            p.m_axis_window_tready,
            p.s_axil_bready,
            p.s_axil_rready,
            p.m_axis_msix_tready,
        ] {
            self.model.set(ready, 1);
        }
        for _ in 0..RESET_CYCLES {
            self.clock(0)?;
            self.clock(1)?;
        }
        Ok(())
    }

    fn clock(&mut self, level: u64) -> Result<()> {
        self.model.set(self.ports.aclk, level);
        self.model.eval()?;
        // a waveform has a time
        self.model.advance(1);
        Ok(())
    }

    /// The whole plan.
    pub fn all(mut self) -> Result<Outcome> {
        let write = Access::Write;
        self.commands.extend([
            write(register::COMPLETION_BASE_LOW.offset, QUEUE as u32),
            write(register::COMPLETION_BASE_HIGH.offset, (QUEUE >> 32) as u32),
            write(register::COMPLETION_ENTRIES.offset, ENTRIES),
        ]);
        while self.waiting.iter().any(|lives| !lives.is_empty())
            || self.streams.iter().any(Option::is_some)
        {
            for number in 0..self.streams.len() {
                self.host(number)?;
            }
            self.step()?;
        }
        // nothing more comes
        for _ in 0..64 {
            self.step()?;
        }
        if !self.sends.is_empty() || !self.reads.is_empty() {
            return Err(self.wrong("something is under way at the end"));
        }
        self.outcome.cycles = self.cycle;
        self.outcome.coverage = self.coverage;
        Ok(self.outcome)
    }

    fn step(&mut self) -> Result<()> {
        self.tcp();
        self.drive_registers();
        self.drive_memory();
        self.drive_streams();
        self.clock(0)?;
        self.sample_registers()?;
        self.sample_reads()?;
        self.sample_writes()?;
        self.sample_transmit()?;
        self.sample_reports()?;
        self.sample_arrivals();
        self.check_held()?;
        self.completions()?;
        self.clock(1)?;
        self.cycle += 1;
        if self.cycle > self.moved + PATIENCE || self.cycle > self.limit {
            let phases = self.streams.iter().map(|current| {
                current.as_ref().map(|c| {
                    (
                        c.phase,
                        c.judge.announced(),
                        c.judge.consumed(),
                        c.judge.judged,
                        c.edge,
                        c.asked,
                        c.acknowledged,
                        c.pending.len(),
                    )
                })
            });
            let phases: Vec<_> = phases.collect();
            let what = format!(
                "no end: phase, announced, consumed, judged, edge, asked, acknowledged, pending of streams: {phases:?}"
            );
            return Err(self.wrong(what));
        }
        if self
            .command_began
            .is_some_and(|began| self.cycle > began + COMMAND)
        {
            return Err(self.wrong(format!("a command takes more than {COMMAND} cycles")));
        }
        Ok(())
    }

    fn give(
        &mut self,
        number: usize,
        what: What,
        code: u32,
        words: usize,
        fields: &[(Field, u64)],
    ) {
        let mut arguments = [0; 8];
        for (field, value) in fields {
            field.put(&mut arguments, *value);
        }
        for (index, word) in (0..).zip(&arguments[..words]) {
            let offset = register::ARGUMENT.at(index);
            self.commands.push_back(Access::Write(offset, *word));
        }
        self.commands.push_back(Access::Start(number, code, what));
        self.commands.push_back(Access::Done(number, what));
        if let Some(current) = &mut self.streams[number] {
            current.accesses += 1;
        }
    }

    /// What the host does next for a stream number.
    fn host(&mut self, number: usize) -> Result<()> {
        let Some(current) = &mut self.streams[number] else {
            if let Some(life) = self.waiting[number].pop_front() {
                self.begin(number, life);
            }
            return Ok(());
        };
        if current.accesses > 0 {
            return Ok(());
        }
        match current.phase {
            Phase::SetUp => current.phase = Phase::Running,
            Phase::Running if current.pause > 0 => {
                current.pause -= 1;
                self.moved = self.cycle;
            }
            Phase::Running => return self.next_step(number),
            Phase::Checking => self.close(number),
            Phase::Closing => current.phase = Phase::Resolving,
            Phase::Resolving => {
                let offered = self.offer.is_some_and(|(of, _)| of == number);
                let arriving = self.arrivals.iter().any(|arrival| arrival.number == number);
                let current = &self.streams[number].as_ref().expect("it is there");
                let resolved = current.pending.len() == current.refused;
                let told = self.told == self.consumer;
                if !offered && !arriving && resolved && told {
                    self.finish(number)?;
                }
            }
            Phase::Tidying => self.streams[number] = None,
        }
        Ok(())
    }

    fn begin(&mut self, number: usize, life: Life) {
        let judge = Judge::new(number as u8, &life, self.spoil);
        self.streams[number] = Some(Current {
            steps: life.steps.iter().cloned().collect(),
            slots: vec![None; life.entries as usize],
            judge,
            phase: Phase::SetUp,
            pause: 0,
            accesses: 0,
            produced: 0,
            readable: true,
            edge: 0,
            asked: 0,
            acknowledged: 0,
            measuring: false,
            measured: None,
            pending: VecDeque::new(),
            refused: 0,
            peer: FpduWriter::new(false, CrcField::Computed),
            life: life.clone(),
        });
        let regions = life.regions.iter().filter(|memory| memory.registered);
        let regions: Vec<Region> = regions.map(|memory| memory.region).collect();
        for (region, remote) in regions.iter().map(|r| (r, 0)).chain([(&life.sink, 1)]) {
            self.write_stag(number, region, remote);
        }
        let stream = number as u64;
        self.give(
            number,
            What::SetUp,
            command::ARM_STREAM,
            stream_context::WORDS,
            &[
                (stream_context::STREAM, stream),
                (stream_context::CRC, 1),
                (stream_context::PROTECTION_DOMAIN, life.domain.into()),
                (stream_context::SEQUENCE_START, life.peer_start.into()),
                (stream_context::FIRST_MSN, 1),
            ],
        );
        let ring_first = self.rng.bool();
        for ring in [ring_first, !ring_first] {
            match ring {
                true => self.give(
                    number,
                    What::SetUp,
                    transmit::SET_SEND_RING,
                    send_ring::WORDS,
                    &[
                        (send_ring::STREAM, stream),
                        (send_ring::ENTRIES, life.entries.into()),
                        (send_ring::BASE, life.ring),
                    ],
                ),
                false => self.give(
                    number,
                    What::SetUp,
                    transmit::ARM_TRANSMIT,
                    transmit_context::WORDS,
                    &[
                        (transmit_context::STREAM, stream),
                        (transmit_context::MARKERS, life.markers.into()),
                        (transmit_context::CRC, life.crc.into()),
                        (transmit_context::GATE, life.gate.into()),
                        (transmit_context::EMSS, life.emss.into()),
                        (transmit_context::SEQUENCE_START, life.start.into()),
                        (transmit_context::FIRST_MSN, life.first_msn.into()),
                    ],
                ),
            }
        }
    }

    fn write_stag(&mut self, number: usize, region: &Region, remote: u64) {
        let scope = region.stream.map_or((0, 0), |stream| (1, stream.into()));
        self.give(
            number,
            What::SetUp,
            command::WRITE_STAG,
            stag_entry::WORDS,
            &[
                (stag_entry::STAG, region.stag.into()),
                (stag_entry::PROTECTION_DOMAIN, region.domain.into()),
                (stag_entry::STREAM_SCOPE, scope.0),
                (stag_entry::STREAM, scope.1),
                (stag_entry::REMOTE_WRITE, remote),
                (stag_entry::BASE, region.base),
                (stag_entry::LENGTH, region.length),
                (stag_entry::ADDRESS, region.address),
            ],
        );
    }

    fn next_step(&mut self, number: usize) -> Result<()> {
        let cycle = self.cycle;
        let current = self.streams[number].as_mut().expect("it is there");
        let Some(step) = current.steps.pop_front() else {
            let all = current.judge.is_done()
                && current.pending.is_empty()
                && !current.measuring
                && current.edge as usize == current.judge.judged;
            if current.life.abort && !all {
                self.coverage.count("close under way");
                self.close(number);
            } else if all {
                current.phase = Phase::Checking;
                current.accesses += 1;
                self.commands.push_back(Access::State(number, 0));
            }
            return Ok(());
        };
        match step {
            Step::Pause(cycles) => current.pause = cycles,
            Step::Post(postings) => {
                let used = current.judge.announced() - current.judge.consumed();
                let room = (current.life.entries as usize).saturating_sub(used);
                let (now, later) = postings.split_at(room.min(postings.len()));
                if !later.is_empty() {
                    current.steps.push_front(Step::Post(later.to_vec()));
                    if !now.is_empty() {
                        self.coverage.count("send ring full");
                    }
                }
                if now.is_empty() {
                    // behind a closed gate nothing is consumed
                    let peer = current
                        .steps
                        .iter()
                        .position(|s| matches!(s, Step::Peer(_)));
                    if !current.judge.open {
                        match peer.and_then(|at| current.steps.remove(at)) {
                            Some(step) => current.steps.push_front(step),
                            None => current.steps.clear(),
                        }
                    }
                    return Ok(());
                }
                for posting in now {
                    let at = usize::from(current.produced) % current.slots.len();
                    current.slots[at] = Some((posting.slot, posting.fault == Fault::Unread));
                    current.produced = current.produced.wrapping_add(1);
                }
                if usize::from(current.produced) > current.slots.len() {
                    self.coverage.count("send ring wraps");
                }
                current.accesses += 1;
                let doorbell = Access::Doorbell(number, now.to_vec());
                self.doorbells.push_back(doorbell);
            }
            Step::SetEmss(value) => {
                let fields = [
                    (emss::STREAM, number as u64),
                    (emss::EMSS, u64::from(value)),
                ];
                let what = What::Emss(value);
                self.give(number, what, transmit::SET_EMSS, emss::WORDS, &fields);
            }
            Step::Revoke(index) => {
                let stag = current.life.regions[index].region.stag;
                self.revoke(number, What::Revoke(index), stag);
            }
            Step::Peer(wrong) => {
                let sink = current.life.sink;
                let stag = match wrong {
                    Wrong::Stag => sink.stag ^ 0x8000_0000,
                    _ => sink.stag,
                };
                let from = current.peer.position();
                let message = Message::Tagged {
                    stag,
                    to: 0,
                    rsvd_ulp: 0,
                };
                let payload: Vec<u8> = (0..16).map(|i| memory_octet(sink.address + i)).collect();
                let mut octets = vec![];
                let made = current
                    .peer
                    .append_message(message, &payload, 1460, &mut octets);
                made.map_err(|error| ScenarioError::Plan(error.to_string()))?;
                if wrong == Wrong::Crc
                    && let Some(last) = octets.last_mut()
                {
                    *last ^= 1;
                }
                current.judge.open |= wrong != Wrong::Crc;
                if wrong != Wrong::Nothing {
                    current.judge.frozen = current.judge.frozen.or(Some(cycle));
                    self.coverage.count("error of the peer");
                } else if current.life.gate {
                    self.coverage.count("gate opens");
                }
                let first = current.life.peer_start.wrapping_add(from);
                self.arrivals.push_back(Arrival {
                    number,
                    first,
                    octets,
                    at: 0,
                });
            }
        }
        Ok(())
    }

    fn revoke(&mut self, number: usize, what: What, stag: u32) {
        let fields = [(revoke::STAG, u64::from(stag))];
        self.give(number, what, command::REVOKE_STAG, revoke::WORDS, &fields);
    }

    fn close(&mut self, number: usize) {
        if let Some(current) = &mut self.streams[number] {
            current.phase = Phase::Closing;
        }
        let fields = [(close::STREAM, number as u64)];
        self.give(
            number,
            What::Close,
            command::CLOSE_STREAM,
            close::WORDS,
            &fields,
        );
    }

    /// The life is over: what must be true of it.
    fn finish(&mut self, number: usize) -> Result<()> {
        let mut current = self.streams[number].take().expect("it is there");
        self.sends.retain(|send| send.number != number);
        let judged = current.judge.end(&mut self.coverage);
        judged.map_err(|what| self.wrong(format!("stream {number}: {what}")))?;
        self.outcome.sequences += 1;
        self.outcome.requests += current.judge.announced() as u64;
        self.outcome.octets += current.judge.octets.len() as u64;
        if u64::from(current.life.start) + current.judge.octets.len() as u64 > 1 << 32 {
            self.coverage.count("sequence numbers wrap");
        }
        if current.judge.octets.len() > RING {
            self.coverage.count("transmit ring wraps");
        }
        if current.judge.octets.len() > 1 << 20 {
            self.coverage.count("1 MiB");
        }
        current.phase = Phase::Tidying;
        let known = current.judge.known.iter().enumerate();
        let left = known.filter(|(_, known)| known.registered && known.revoked.is_none());
        let stags: Vec<_> = left.map(|(i, known)| (i, known.region.stag)).collect();
        let (tidy, sink) = (current.life.tidy, current.life.sink.stag);
        self.streams[number] = Some(current);
        if tidy {
            for (index, stag) in stags {
                self.revoke(number, What::Revoke(index), stag);
            }
            self.revoke(number, What::SetUp, sink);
        }
        Ok(())
    }

    fn drive_registers(&mut self) {
        let p = self.ports;
        let go = self.rhythms.host.go(&mut self.rng);
        if self.under_way.is_none() && go {
            if self.told != self.consumer && chance(&mut self.rng, 30) {
                self.told = self.consumer;
                let offset = register::COMPLETION_CONSUMER.offset;
                self.doorbells.push_back(Access::Write(offset, self.told));
            }
            let bell = !self.doorbells.is_empty() && (self.commands.is_empty() || self.rng.bool());
            let access = match bell {
                true => self.doorbells.pop_front(),
                false => self.commands.pop_front(),
            };
            if let Some(access) = &access {
                self.begins(access);
            }
            self.under_way = access.map(|access| UnderWay {
                address: true,
                data: !matches!(access, Access::Done(..) | Access::State(..)),
                access,
                began: self.cycle,
            });
        }
        let mut valids = [false; 3];
        if let Some(now) = &self.under_way {
            let write = match &now.access {
                Access::Write(offset, word) => Ok((*offset, *word)),
                Access::Doorbell(number, _) => {
                    let mut word = [0];
                    let produced = self.streams[*number]
                        .as_ref()
                        .map_or(0, |c| c.judge.announced());
                    transmit::SEND_PRODUCER_STREAM.put(&mut word, *number as u64);
                    transmit::SEND_PRODUCER_COUNT.put(&mut word, produced as u64);
                    Ok((transmit::SEND_PRODUCER.offset, word[0]))
                }
                Access::Start(_, code, _) => Ok((register::COMMAND.offset, *code)),
                Access::Done(..) => Err(register::COMMAND.offset),
                Access::State(number, _) => Err(transmit::TRANSMIT_STATE.at(*number as u32)),
            };
            match write {
                Ok((offset, word)) => {
                    self.model.set(p.s_axil_awaddr, offset.into());
                    self.model.set(p.s_axil_wdata, word.into());
                    self.model.set(p.s_axil_wstrb, 0xf);
                    valids = [now.address, now.data, false];
                }
                Err(offset) => {
                    self.model.set(p.s_axil_araddr, offset.into());
                    valids = [false, false, now.address];
                }
            }
        }
        let [aw, w, ar] = valids;
        self.model.set(p.s_axil_awvalid, aw.into());
        self.model.set(p.s_axil_wvalid, w.into());
        self.model.set(p.s_axil_arvalid, ar.into());
    }

    /// The judge follows an access that begins.
    fn begins(&mut self, access: &Access) {
        let cycle = self.cycle;
        match access {
            Access::Doorbell(number, postings) => {
                if let Some(current) = &mut self.streams[*number] {
                    current.judge.announce(postings, cycle);
                }
            }
            Access::Start(number, _, what) => {
                self.command_began = Some(cycle);
                let Some(current) = &mut self.streams[*number] else {
                    return;
                };
                match what {
                    What::SetUp => {}
                    What::Emss(emss) => current.judge.size_given(*emss),
                    What::Revoke(index) => {
                        current.judge.known[*index].revoked = Some(cycle);
                        if current.phase == Phase::Running && !current.judge.is_done() {
                            self.coverage.count("revocation under way");
                        }
                    }
                    What::Close => {
                        current.judge.aborted = !current.judge.is_done();
                        current.judge.closing = true;
                    }
                }
            }
            _ => {}
        }
    }

    fn sample_registers(&mut self) -> Result<()> {
        let p = self.ports;
        let Some(mut now) = self.under_way.take() else {
            return Ok(());
        };
        now.address &= !(self.passes(p.s_axil_awvalid, p.s_axil_awready)
            || self.passes(p.s_axil_arvalid, p.s_axil_arready));
        now.data &= !self.passes(p.s_axil_wvalid, p.s_axil_wready);
        let answered = self.passes(p.s_axil_bvalid, p.s_axil_bready);
        let read = self.passes(p.s_axil_rvalid, p.s_axil_rready);
        let word = [self.get(p.s_axil_rdata) as u32];
        if self.cycle > now.began + 2000 && !matches!(now.access, Access::Done(..)) {
            return Err(self.wrong(format!("no answer to {:?}", now.access)));
        }
        if !answered && !read {
            self.under_way = Some(now);
            return Ok(());
        }
        match now.access {
            Access::Write(..) | Access::Start(..) => {}
            Access::Doorbell(number, _) => {
                self.done_with(number);
                self.moved = self.cycle;
            }
            Access::Done(number, what) => {
                if register::COMMAND_BUSY.get(&word) == 1 {
                    // doorbells may come between, and must: a close waits for completions
                    self.commands.push_front(Access::Done(number, what));
                    return Ok(());
                }
                if register::COMMAND_FAILED.get(&word) == 1 {
                    return Err(self.wrong(format!(
                        "a command of stream {number} was refused: {what:?}"
                    )));
                }
                self.command_began = None;
                self.moved = self.cycle;
                self.done(number, what)?;
                self.done_with(number);
            }
            Access::State(number, polls) => {
                let idle = transmit::TRANSMIT_IDLE.get(&word) == 1;
                if !idle && polls < POLLS {
                    self.commands.push_back(Access::State(number, polls + 1));
                    return Ok(());
                }
                self.check_state(number, word)?;
                self.done_with(number);
            }
        }
        Ok(())
    }

    fn done_with(&mut self, number: usize) {
        if let Some(current) = &mut self.streams[number] {
            current.accesses -= 1;
        }
    }

    /// A command is done.
    fn done(&mut self, number: usize, what: What) -> Result<()> {
        let cycle = self.cycle;
        let Some(current) = &mut self.streams[number] else {
            return Ok(());
        };
        match what {
            What::SetUp => {}
            What::Emss(_) => {
                let edge = current.edge;
                current.judge.size_done(edge);
            }
            What::Revoke(index) => current.judge.known[index].gone = Some(cycle),
            What::Close => current.readable = false,
        }
        let stale = self.reads.iter().map(|read| read.address);
        let stale: Vec<u64> = stale
            .filter(|address| !self.is_readable(*address, 1))
            .collect();
        match stale.first() {
            Some(address) => Err(self.wrong(format!(
                "{what:?} of stream {number} is done, a read at {address:#x} is under way"
            ))),
            None => Ok(()),
        }
    }

    fn check_state(&mut self, number: usize, word: [u32; 1]) -> Result<()> {
        let Some(current) = &self.streams[number] else {
            return Ok(());
        };
        let bit = |field: Field| field.get(&word) == 1;
        let mut due = vec![
            (transmit::TRANSMIT_ARMED, true),
            (transmit::TRANSMIT_IDLE, true),
        ];
        if current.judge.frozen.is_none() {
            due.push((transmit::TRANSMIT_OPEN, current.judge.open));
            due.push((transmit::TRANSMIT_ENDED, current.judge.ended()));
        }
        match due.iter().find(|(field, due)| bit(*field) != *due) {
            Some((field, due)) => {
                let name = field.name;
                Err(self.wrong(format!(
                    "{name} of stream {number} is {}, due {due}",
                    bit(*field)
                )))
            }
            None => Ok(()),
        }
    }

    /// A burst of beats from here on may be read now.
    fn is_readable(&self, address: u64, beats: u64) -> bool {
        let beat = self.beat as u64;
        let from = address;
        let Some(last) = address.checked_add(beats * beat - 1) else {
            return false;
        };
        let streams = self
            .streams
            .iter()
            .flatten()
            .filter(|current| current.readable);
        streams.into_iter().any(|current| {
            let ring = current.life.ring;
            let within = |start: u64, octets: u64| {
                let end = (start + octets - 1) / beat * beat + beat - 1;
                start / beat * beat <= from && last <= end
            };
            let known = current
                .judge
                .known
                .iter()
                .filter(|known| known.registered && known.gone.is_none());
            within(ring, u64::from(current.life.entries) * SLOT_OCTETS)
                || known
                    .into_iter()
                    .any(|known| within(known.region.address, known.region.length))
        })
    }

    /// The words of a beat, and whether the bus refuses it.
    fn memory(&self, address: u64) -> ([u32; 16], bool) {
        let mut words = [0; 16];
        let count = self.beat / 4;
        for current in self.streams.iter().flatten() {
            let ring = current.life.ring;
            let octets = u64::from(current.life.entries) * SLOT_OCTETS;
            if (ring..ring + octets).contains(&address) {
                let at = address - ring;
                let slot = &current.slots[(at / SLOT_OCTETS) as usize];
                let Some((slot, unread)) = slot else {
                    return (words, false);
                };
                let from = (at % SLOT_OCTETS) as usize / 4;
                words[..count].copy_from_slice(&slot[from..from + count]);
                if *unread {
                    words = words.map(|word| !word);
                }
                return (words, *unread);
            }
        }
        for (index, word) in words[..count].iter_mut().enumerate() {
            let from = address + 4 * index as u64;
            *word = u32::from_le_bytes(std::array::from_fn(|i| memory_octet(from + i as u64)));
        }
        let memories = self
            .streams
            .iter()
            .flatten()
            .flat_map(|current| &current.life.regions);
        let refuses = |memory: &Memory| memory.faulty.contains(&address);
        let refused = memories.into_iter().any(refuses);
        if refused {
            words = words.map(|word| !word);
        }
        (words, refused)
    }

    fn drive_memory(&mut self) {
        let p = self.ports;
        let rng = &mut self.rng;
        let ar = self.rhythms.ar.go(rng) && self.reads.len() < READS;
        let r = self.rhythms.r.go(rng);
        let aw = self.rhythms.aw.go(rng) && self.addresses.len() < 8;
        let w = self.rhythms.w.go(rng) && self.written.len() < 64;
        let b = self.rhythms.b.go(rng);
        self.model.set(p.m_axi_arready, ar.into());
        self.model.set(p.m_axi_awready, aw.into());
        self.model.set(p.m_axi_wready, w.into());
        let b = self.responses > 0 && (b || self.b_held);
        self.b_held = b;
        self.model.set(p.m_axi_bvalid, b.into());
        let front = self.reads.front().copied();
        let front = front.filter(|read| self.r_held || r && self.cycle >= read.due);
        self.model.set(p.m_axi_rvalid, front.is_some().into());
        if let Some(read) = front
            && !self.r_held
        {
            let (words, refused) = self.memory(read.address);
            self.model.set_words(p.m_axi_rdata, &words[..self.beat / 4]);
            self.model.set(p.m_axi_rresp, 2 * u64::from(refused));
            self.model.set(p.m_axi_rlast, u64::from(read.left == 1));
        }
        self.r_held = front.is_some();
    }

    fn sample_reads(&mut self) -> Result<()> {
        let p = self.ports;
        let beat = self.beat as u64;
        if self.passes(p.m_axi_rvalid, p.m_axi_rready) {
            self.r_held = false;
            self.moved = self.cycle;
            if let Some(read) = self.reads.front_mut() {
                read.address += beat;
                read.left -= 1;
                if read.left == 0 {
                    self.reads.pop_front();
                }
            }
        }
        if self.get(p.m_axi_arvalid) == 1 {
            let address = self.get(p.m_axi_araddr);
            let beats = self.get(p.m_axi_arlen) + 1;
            let crosses = address % PAGE + beats * beat > PAGE;
            if !address.is_multiple_of(beat) || crosses || !self.is_readable(address, beats) {
                return Err(self.wrong(format!("a read of {beats} beats at {address:#x}")));
            }
            if self.get(p.m_axi_arready) == 1 {
                let due = self.cycle + 1 + self.rng.u64(self.delay.clone());
                self.reads.push_back(Read {
                    address,
                    left: beats,
                    due,
                });
                self.moved = self.cycle;
            }
        }
        Ok(())
    }

    fn sample_writes(&mut self) -> Result<()> {
        let p = self.ports;
        if self.passes(p.m_axi_bvalid, p.m_axi_bready) {
            self.responses -= 1;
            self.b_held = false;
        }
        if self.passes(p.m_axi_awvalid, p.m_axi_awready) {
            let burst = (self.get(p.m_axi_awaddr), self.get(p.m_axi_awlen) + 1);
            self.addresses.push_back(burst);
        }
        if self.passes(p.m_axi_wvalid, p.m_axi_wready) {
            self.written.push_back((
                self.model.to_words(p.m_axi_wdata),
                self.get(p.m_axi_wstrb),
                self.get(p.m_axi_wlast) == 1,
            ));
        }
        while let Some((address, left)) = self.write_at.or_else(|| self.addresses.pop_front()) {
            self.write_at = Some((address, left));
            let Some((words, strobes, last)) = self.written.pop_front() else {
                break;
            };
            self.moved = self.cycle;
            let beat = address - address % self.beat as u64;
            for lane in (0..self.beat).filter(|lane| strobes >> lane & 1 == 1) {
                let octet = (words[lane / 4] >> (8 * (lane % 4))) as u8;
                self.store(beat + lane as u64, octet)?;
            }
            if last != (left == 1) {
                return Err(self.wrong(format!("a burst of writes at {address:#x}: {left} left")));
            }
            self.write_at = (!last).then_some((beat + self.beat as u64, left - 1));
            self.responses += u64::from(last);
        }
        Ok(())
    }

    fn store(&mut self, address: u64, found: u8) -> Result<()> {
        if let Some(at) = address.checked_sub(QUEUE)
            && let Some(octet) = self.queue.get_mut(at as usize)
        {
            *octet = found;
            return Ok(());
        }
        let mut streams = self.streams.iter().flatten();
        let sink = streams.any(|current| {
            let from = current.life.sink.address;
            (from..from + 16).contains(&address)
        });
        match sink && found == memory_octet(address) {
            true => Ok(()),
            false => Err(self.wrong(format!("{found:#x} is written to {address:#x}"))),
        }
    }

    /// The host reads its completion queue.
    fn completions(&mut self) -> Result<()> {
        if !self.rhythms.completions.go(&mut self.rng) {
            return Ok(());
        }
        let index = (self.consumer % ENTRIES) as usize;
        let entry = &self.queue[ENTRY * index..ENTRY * (index + 1)];
        let phase = 1 - self.consumer / ENTRIES % 2;
        if u32::from(entry[ENTRY - 1] >> 7) != phase {
            return Ok(());
        }
        let words = words(entry);
        self.consumer = self.consumer.wrapping_add(1);
        self.moved = self.cycle;
        if self.consumer == ENTRIES {
            self.coverage.count("completion queue wraps");
        }
        let number = completion::STREAM.get(&words) as usize;
        let cycle = self.cycle;
        let Some(Some(current)) = self.streams.get_mut(number) else {
            return Err(self.wrong(format!("an entry of stream {number}: {words:x?}")));
        };
        match completion::KIND.get(&words) as u32 {
            transmit::kind::SEND => {
                let done = current.judge.complete(
                    send_event::CONSUMED.get(&words) as u16,
                    send_event::STATUS.get(&words) as u32,
                    send_event::LENGTH.get(&words) as u32,
                    send_event::REQUEST.get(&words),
                    &mut self.coverage,
                );
                done.map_err(|what| self.wrong(format!("stream {number}: {what}")))
            }
            kind::ERROR if current.judge.frozen.is_some() && current.judge.error_read.is_none() => {
                current.judge.error_read = Some(cycle);
                Ok(())
            }
            _ => Err(self.wrong(format!("an entry of {words:x?}"))),
        }
    }

    /// TCP's next command.
    fn tcp(&mut self) {
        let go = self.rhythms.command.go(&mut self.rng);
        if self.offer.is_some() || !go || self.sends.len() > 12 {
            return;
        }
        let count = self.streams.len();
        for i in 0..count {
            let number = (self.turn + i) % count;
            let Some(current) = &mut self.streams[number] else {
                continue;
            };
            let alive = matches!(
                current.phase,
                Phase::Running | Phase::Checking | Phase::Closing
            );
            if !alive || current.accesses > 0 && current.phase == Phase::SetUp {
                continue;
            }
            if let Some(pending) = command(current, &mut self.rng, &mut self.coverage) {
                self.turn = number + 1;
                self.offer = Some((number, pending));
                return;
            }
        }
    }

    fn drive_streams(&mut self) {
        let p = self.ports;
        let transmit = self.rhythms.transmit.go(&mut self.rng);
        let status = self.rhythms.status.go(&mut self.rng);
        self.model.set(p.m_axis_transmit_tready, transmit.into());
        self.model.set(p.m_axis_status_tready, status.into());
        self.model
            .set(p.s_axis_send_tvalid, self.offer.is_some().into());
        if let Some((number, pending)) = self.offer {
            let start = self.streams[number]
                .as_ref()
                .map_or(0, |current| current.life.start);
            let sequence = start.wrapping_add(pending.from);
            let data = ports::command_word(pending.kind, sequence, pending.octets);
            self.model.set(p.s_axis_send_tdata, data);
            self.model.set(p.s_axis_send_tdest, number as u64);
        }
        let arrival = self.arrivals.front();
        self.model
            .set(p.s_axis_segment_tvalid, arrival.is_some().into());
        if let Some(arrival) = arrival {
            let end = arrival.octets.len().min(arrival.at + self.beat);
            let beat = &arrival.octets[arrival.at..end];
            let mut data = [0; 64];
            data[..beat.len()].copy_from_slice(beat);
            self.model
                .set_words(p.s_axis_segment_tdata, &words(&data[..self.beat]));
            self.model
                .set(p.s_axis_segment_tkeep, u64::MAX >> (64 - beat.len()));
            let last = end == arrival.octets.len();
            self.model.set(p.s_axis_segment_tlast, last.into());
            self.model
                .set(p.s_axis_segment_tdest, arrival.number as u64);
            self.model.set(p.s_axis_segment_tuser, arrival.first.into());
        }
    }

    fn sample_arrivals(&mut self) {
        let p = self.ports;
        if self.passes(p.s_axis_segment_tvalid, p.s_axis_segment_tready)
            && let Some(arrival) = self.arrivals.front_mut()
        {
            arrival.at += self.beat;
            if arrival.at >= arrival.octets.len() {
                self.arrivals.pop_front();
            }
        }
    }

    fn sample_transmit(&mut self) -> Result<()> {
        let p = self.ports;
        if self.passes(p.s_axis_send_tvalid, p.s_axis_send_tready)
            && let Some((number, pending)) = self.offer.take()
            && let Some(current) = &mut self.streams[number]
        {
            if pending.kind != ports::ACKNOWLEDGE {
                current.pending.push_back(pending);
            }
            if pending.kind == ports::SEND && !pending.illegal {
                self.sends.push_back(Send {
                    number,
                    from: pending.from,
                    next: pending.from,
                    end: pending.from + u32::from(pending.octets),
                });
            }
        }
        if !self.passes(p.m_axis_transmit_tvalid, p.m_axis_transmit_tready) {
            return Ok(());
        }
        self.moved = self.cycle;
        let keep = self.get(p.m_axis_transmit_tkeep);
        let last = self.get(p.m_axis_transmit_tlast) == 1;
        let valid = keep.count_ones() as usize;
        let words = self.model.to_words(p.m_axis_transmit_tdata);
        let beat: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let dest = self.get(p.m_axis_transmit_tdest) as usize;
        let user = self.get(p.m_axis_transmit_tuser) as u32;
        let (mut send, start) = loop {
            let Some(send) = self.sends.pop_front() else {
                return Err(self.wrong(format!(
                    "octets of stream {dest} that TCP has not asked for"
                )));
            };
            let current = self.streams[send.number].as_ref();
            let start = current.map_or(0, |current| current.life.start);
            let closing = current.is_none_or(|current| current.judge.closing);
            if (send.number, start.wrapping_add(send.from)) == (dest, user) {
                break (send, start);
            }
            // one that a close was in front of is refused
            if !closing || send.next != send.from {
                return Err(self.wrong(format!(
                    "a beat of stream {dest} from {user} on, due {send:?} of {start}"
                )));
            }
        };
        let behind = send.next + valid as u32;
        let contiguous = keep.trailing_ones() as usize == valid;
        let full = valid == self.beat || last;
        if !contiguous || !full || behind > send.end || last != (behind == send.end) {
            return Err(self.wrong(format!("a beat of stream {dest} from {user} + {start} on, keep {keep:#x}, last {last}, due {send:?}")));
        }
        let Some(current) = &mut self.streams[dest] else {
            return Err(self.wrong(format!("a beat of stream {dest}, which is closed")));
        };
        let known = current.judge.octets.len();
        let at = send.next as usize;
        let again = known.saturating_sub(at).min(valid);
        if at > known || current.judge.octets[at..at + again] != beat[..again] {
            return Err(self.wrong(format!(
                "stream {dest} from {at} on: not what was sent before"
            )));
        }
        current.judge.octets.extend(&beat[again..valid]);
        let judged = current.judge.judge(&mut self.coverage);
        send.next = behind;
        match last {
            true => {
                let sends = |pending: &Pending| pending.kind == ports::SEND && !pending.illegal;
                if let Some(at) = current.pending.iter().position(sends) {
                    current.pending.remove(at);
                }
            }
            false => self.sends.push_front(send),
        }
        judged.map_err(|what| self.wrong(format!("stream {dest}: {what}")))
    }

    fn sample_reports(&mut self) -> Result<()> {
        let p = self.ports;
        if !self.passes(p.m_axis_status_tvalid, p.m_axis_status_tready) {
            return Ok(());
        }
        let words = self.model.to_words(p.m_axis_status_tdata);
        let kind = u64::from(words[ports::STATUS_KIND / 32] >> (ports::STATUS_KIND % 32) & 3);
        let octets = words[ports::STATUS_OCTETS / 32] as u16;
        let number = self.get(p.m_axis_status_tdest) as usize;
        let Some(Some(current)) = self.streams.get_mut(number) else {
            return Err(self.wrong(format!(
                "a report of kind {kind} of stream {number}, which is not armed"
            )));
        };
        let edge = words[ports::STATUS_EDGE / 32].wrapping_sub(current.life.start);
        let free = words[ports::STATUS_FREE / 32];
        let what =
            format!("stream {number}: a report of kind {kind}, edge {edge}, {octets} octets");
        let current_edge = current.edge;
        if kind != ports::REFUSED {
            // it never goes back, and never beyond the ring
            let most = current.acknowledged as usize + RING;
            if edge < current_edge || edge as usize > most || free as usize > RING {
                return Err(self.wrong(format!(
                    "{what}; the edge was {current_edge}, {free} octets free"
                )));
            }
            if edge > current_edge {
                self.moved = self.cycle;
            }
            current.edge = edge;
            current.judge.edge(edge);
        }
        match kind {
            ports::MOVED => Ok(()),
            ports::ANSWER => {
                let measures = |pending: &Pending| pending.kind == ports::MEASURE;
                let Some(at) = current.pending.iter().position(measures) else {
                    return Err(self.wrong(format!("{what}, that TCP has not asked for")));
                };
                let asked = current.pending.remove(at).expect("it is there");
                current.measuring = false;
                current.measured = Some(octets);
                let length = asked.octets.into();
                let edges = (asked.edge, edge);
                current
                    .judge
                    .measured(asked.from, length, edges, octets.into());
                Ok(())
            }
            ports::REFUSED => {
                if let Some(at) = current.pending.iter().position(|pending| pending.illegal) {
                    current.pending.remove(at);
                    self.coverage.count("command refused");
                    return Ok(());
                }
                if !current.judge.closing {
                    return Err(self.wrong(what));
                }
                current.refused += 1;
                self.coverage.count("command refused behind a close");
                Ok(())
            }
            _ => Err(self.wrong(what)),
        }
    }

    /// What is valid stays until it is taken.
    fn check_held(&mut self) -> Result<()> {
        let p = self.ports;
        let kinds: [(Port, Port, &[Port]); 4] = [
            (
                p.m_axi_arvalid,
                p.m_axi_arready,
                &[p.m_axi_araddr, p.m_axi_arlen],
            ),
            (
                p.m_axi_awvalid,
                p.m_axi_awready,
                &[p.m_axi_awaddr, p.m_axi_awlen],
            ),
            (
                p.m_axis_transmit_tvalid,
                p.m_axis_transmit_tready,
                &[
                    p.m_axis_transmit_tkeep,
                    p.m_axis_transmit_tdest,
                    p.m_axis_transmit_tuser,
                    p.m_axis_transmit_tlast,
                ],
            ),
            (
                p.m_axis_status_tvalid,
                p.m_axis_status_tready,
                &[p.m_axis_status_tdest],
            ),
        ];
        for (index, (valid, ready, values)) in kinds.into_iter().enumerate() {
            let now = (self.get(valid) == 1).then(|| values.iter().map(|port| self.get(*port)));
            let now: Option<Vec<u64>> = now.map(Iterator::collect);
            if self.held[index].is_some() && self.held[index] != now {
                return Err(self.wrong(format!(
                    "port {index} of AR, AW, transmit and status changes before it is taken"
                )));
            }
            self.held[index] = now.filter(|_| self.get(ready) == 0);
        }
        Ok(())
    }
}

/// Octets of the messages of a life.
fn octets_of(life: &Life) -> u64 {
    let postings = life.steps.iter().flat_map(|step| match step {
        Step::Post(postings) => &postings[..],
        _ => &[],
    });
    let requests = postings.filter_map(|posting| posting.request);
    requests
        .map(|request| u64::from(request.payload().length()))
        .sum()
}

/// What TCP asks for next.
fn command(current: &mut Current, rng: &mut Rng, coverage: &mut Coverage) -> Option<Pending> {
    let tcp = current.life.tcp;
    let edge = current.edge;
    let pending = |kind, from, octets| Pending {
        kind,
        from,
        octets,
        illegal: false,
        edge,
    };
    let came = current.judge.octets.len() as u32;
    if came > current.acknowledged && chance(rng, tcp.acknowledges) {
        let to = match rng.bool() {
            true => came,
            false => rng.u32(current.acknowledged + 1..=came),
        };
        if to < came {
            coverage.count("acknowledged in part");
        }
        current.acknowledged = to;
        return Some(pending(ports::ACKNOWLEDGE, to, 0));
    }
    if chance(rng, tcp.illegal) && current.pending.len() < 4 && !current.judge.closing {
        let legal = current.acknowledged;
        let (kind, from, octets) = match rng.u8(0..3) {
            0 => (ports::SEND, legal, 0),
            1 => (3, legal, 1),
            _ => (ports::SEND, legal.wrapping_sub(rng.u32(1..9)), 1),
        };
        return Some(Pending {
            illegal: true,
            ..pending(kind, from, octets)
        });
    }
    if current.asked > current.acknowledged && chance(rng, tcp.again) {
        let from = rng.u32(current.acknowledged..current.asked);
        let most = (current.asked - from).min(tcp.most.into());
        coverage.count("octets again");
        return Some(pending(ports::SEND, from, rng.u32(1..=most) as u16));
    }
    let most = (edge - current.asked).min(tcp.most.into());
    if most == 0 || current.measuring {
        return None;
    }
    let from = current.asked;
    if let Some(measured) = current.measured.take() {
        // without an FPDU that ends within reach, a part of one
        let octets = match measured {
            0 => most,
            _ => measured.into(),
        };
        if measured > 0 {
            coverage.count("whole FPDUs by MEASURE");
        }
        current.asked += octets;
        return Some(pending(ports::SEND, from, octets as u16));
    }
    if chance(rng, tcp.measured) && current.pending.len() < 4 {
        current.measuring = true;
        let reach = rng.u32(most..=most + 3000) as u16;
        return Some(pending(ports::MEASURE, from, reach));
    }
    let octets = if rng.bool() { most } else { rng.u32(1..=most) };
    current.asked += octets;
    Some(pending(ports::SEND, from, octets as u16))
}

/// Octets as words, the first octet in bits 7:0 of the first word.
fn words(octets: &[u8]) -> Vec<u32> {
    let words = octets.as_chunks().0.iter().copied();
    words.map(u32::from_le_bytes).collect()
}

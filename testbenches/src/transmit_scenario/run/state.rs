//! What a run holds: the device, a struct for each side of it, and the streams that are under way.

use std::collections::VecDeque;
use std::ops::Range;

use fastrand::Rng;
use warpline_hdl::reset::RESET_CYCLES;
use warpline_regmap::transmit::Slot;
use warpline_verilate::{Direction, Model, Port};
use warpline_wire::rdmap::ReadRequest;
use warpline_wire::send::FpduWriter;

use super::super::common::{Coverage, Outcome, ScenarioError, Spoil};
use super::super::judge::Judge;
use super::super::plan::{Life, Paces, Plan, Posting, Step};
use crate::duplex_ports::Ports;
use crate::stimulus::Rhythm;

pub(super) type Result<T, E = ScenarioError> = std::result::Result<T, E>;

/// A plan on a device.
pub struct Run<'m> {
    pub(super) model: &'m mut Model,
    pub(super) ports: Ports,
    /// Octets of a beat.
    pub(super) beat: usize,
    pub(super) seed: u64,
    pub(super) rng: Rng,
    pub(super) spoil: Option<Spoil>,
    pub(super) rhythms: Rhythms,
    /// Cycles behind the reset; the last with progress, and the last that the run may have.
    pub(super) cycle: u64,
    pub(super) moved: u64,
    pub(super) limit: u64,
    /// Lives to come of each stream number, and the one under way.
    pub(super) waiting: Vec<VecDeque<Life>>,
    pub(super) streams: Vec<Option<Current>>,
    pub(super) registers: Registers,
    pub(super) bursts: Bursts,
    pub(super) completions: Completions,
    pub(super) tcp: Tcp,
    pub(super) arrivals: VecDeque<Arrival>,
    /// What was valid and not taken: AR, AW, transmit, status.
    pub(super) held: [Option<Vec<u64>>; 4],
    pub(super) coverage: Coverage,
    pub(super) outcome: Outcome,
}

/// Where a life is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    SetUp,
    Running,
    /// All is done: the state is read.
    Checking,
    Closing,
    /// What TCP has asked for comes to its end.
    Resolving,
    Tidying,
}

/// A life that is under way.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) life: Life,
    pub(super) judge: Judge,
    pub(super) phase: Phase,
    pub(super) steps: VecDeque<Step>,
    /// Cycles in which the host does nothing.
    pub(super) pause: u64,
    /// Accesses that are not done.
    pub(super) accesses: usize,
    /// What the slots of the ring hold, and whether the bus refuses them.
    pub(super) slots: Vec<Option<(Slot, bool)>>,
    /// Buffers of Read Requests.
    pub(super) buffers: Vec<u8>,
    /// Slots that were written, modulo 2^16.
    pub(super) produced: u16,
    /// Its ring and its memory may be read.
    pub(super) readable: bool,
    /// Position behind the last FPDU that TCP may read, as the last report said.
    pub(super) edge: u32,
    /// Positions up to which TCP has asked for octets, and acknowledged them.
    pub(super) asked: u32,
    pub(super) acknowledged: u32,
    /// A MEASURE is not answered.
    pub(super) measuring: bool,
    /// A MEASURE gave so many octets; 0: none that fit.
    pub(super) measured: Option<u16>,
    /// Commands of TCP that are not answered, those among them that were refused behind a close included.
    pub(super) pending: VecDeque<Pending>,
    pub(super) refused: usize,
    pub(super) peer: FpduWriter,
}

/// What a command of the host does to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Nothing that the judge follows.
    SetUp,
    Emss(u16),
    Revoke(usize),
    ResponderOff,
    Close,
}

/// An access to registers, for a stream number.
#[derive(Clone, Debug)]
pub(super) enum Access {
    Write(u32, u32),
    Doorbell(usize, Vec<Posting>),
    /// Writes COMMAND.
    Start(usize, u32, What),
    /// Reads COMMAND until the command is done.
    Done(usize, What),
    /// Reads TRANSMIT_STATE until the stream is idle.
    State(usize, u32),
}

/// What is under way at the registers' port.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    pub(super) access: Access,
    pub(super) address: bool,
    pub(super) data: bool,
    pub(super) began: u64,
}

/// The registers' port.
#[derive(Debug, Default)]
pub(super) struct Registers {
    pub(super) commands: VecDeque<Access>,
    pub(super) doorbells: VecDeque<Access>,
    pub(super) under_way: Option<UnderWay>,
    /// Cycle in which a command that is not done was written.
    pub(super) began: Option<u64>,
}

/// A burst of reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) address: u64,
    pub(super) left: u64,
    pub(super) due: u64,
}

/// Bursts that are under way.
#[derive(Debug)]
pub(super) struct Bursts {
    /// Cycles from an address to its first beat.
    pub(super) delay: Range<u64>,
    pub(super) reads: VecDeque<Read>,
    pub(super) r_held: bool,
    /// Addresses of writes, with their beats.
    pub(super) addresses: VecDeque<(u64, u64)>,
    /// Beats of writes: words, strobes and WLAST.
    pub(super) written: VecDeque<(Vec<u32>, u64, bool)>,
    /// Address of the next beat of a burst that is written, and beats left.
    pub(super) write_at: Option<(u64, u64)>,
    pub(super) responses: u64,
    pub(super) b_held: bool,
}

impl Bursts {
    pub(super) fn new(delay: Range<u64>) -> Self {
        Self {
            delay,
            reads: VecDeque::new(),
            r_held: false,
            addresses: VecDeque::new(),
            written: VecDeque::new(),
            write_at: None,
            responses: 0,
            b_held: false,
        }
    }
}

/// The completion queue.
pub(super) const QUEUE: u64 = 0x300 << 32;
pub(super) const ENTRIES: u32 = 16;
/// Octets of an entry.
pub(super) const ENTRY: usize = 32;

/// The completion queue in host memory.
#[derive(Debug)]
pub(super) struct Completions {
    /// What was written.
    pub(super) queue: Vec<u8>,
    /// Entries that the host has read, and those that the device was told of.
    pub(super) consumer: u32,
    pub(super) told: u32,
}

impl Completions {
    pub(super) fn new() -> Self {
        Self {
            queue: vec![0; ENTRY * ENTRIES as usize],
            consumer: 0,
            told: 0,
        }
    }
}

/// A command of TCP that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) kind: u64,
    pub(super) from: u32,
    pub(super) octets: u16,
    pub(super) illegal: bool,
    pub(super) edge: u32,
}

/// A SEND that was accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Send {
    pub(super) number: usize,
    pub(super) from: u32,
    pub(super) next: u32,
    pub(super) end: u32,
}

/// TCP's commands and streams.
#[derive(Debug, Default)]
pub(super) struct Tcp {
    /// Stream number that is asked for a command first.
    pub(super) turn: usize,
    /// The command that is offered, and its stream number.
    pub(super) offer: Option<(usize, Pending)>,
    pub(super) sends: VecDeque<Send>,
}

/// A segment of the peer.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) number: usize,
    pub(super) first: u32,
    pub(super) octets: Vec<u8>,
    pub(super) at: usize,
}

pub(super) struct Rhythms {
    pub(super) ar: Rhythm,
    pub(super) r: Rhythm,
    pub(super) aw: Rhythm,
    pub(super) w: Rhythm,
    pub(super) b: Rhythm,
    pub(super) transmit: Rhythm,
    pub(super) status: Rhythm,
    pub(super) command: Rhythm,
    pub(super) host: Rhythm,
    pub(super) completions: Rhythm,
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

impl<'m> Run<'m> {
    /// The plan of a seed, on a device that is reset.
    pub fn new(
        model: &'m mut Model,
        width: usize,
        seed: u64,
        spoil: Option<Spoil>,
    ) -> Result<Self> {
        let mut rng = Rng::with_seed(seed);
        let plan = Plan::new(&mut rng);
        let ports = Ports::find(model, "")?;
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
            cycle: 0,
            moved: 0,
            limit: 150_000 + 30 * octets,
            streams: plan.streams.iter().map(|_| None).collect(),
            waiting: plan.streams.into_iter().map(VecDeque::from).collect(),
            registers: Registers::default(),
            bursts: Bursts::new(plan.paces.delay),
            completions: Completions::new(),
            tcp: Tcp::default(),
            arrivals: VecDeque::new(),
            held: [const { None }; 4],
            coverage: Coverage::default(),
            outcome: Outcome::default(),
        };
        run.reset()?;
        Ok(run)
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> ScenarioError {
        ScenarioError::Wrong {
            seed: self.seed,
            cycle: self.cycle,
            what: what.into(),
        }
    }

    pub(super) fn get(&self, port: Port) -> u64 {
        self.model.get(port)
    }

    pub(super) fn passes(&self, valid: Port, ready: Port) -> bool {
        self.get(valid) & self.get(ready) == 1
    }

    pub(super) fn reset(&mut self) -> Result<()> {
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

    pub(super) fn clock(&mut self, level: u64) -> Result<()> {
        self.model.set(self.ports.aclk, level);
        self.model.eval()?;
        // a waveform has a time
        self.model.advance(1);
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
    let posted: u64 = requests
        .map(|request| u64::from(request.payload().length()))
        .sum();
    let asks = life.steps.iter().flat_map(|step| match step {
        Step::Ask(asks, _) => &asks[..],
        _ => &[],
    });
    let asked = asks.filter_map(|ask| ReadRequest::parse(&ask.octets).ok());
    // one that asks for more has no answer
    let asked = asked.map(|request| u64::from(request.size.min(1 << 16)));
    posted + asked.sum::<u64>()
}

/// Octets as words, the first octet in bits 7:0 of the first word.
pub(super) fn words(octets: &[u8]) -> Vec<u32> {
    let words = octets.as_chunks().0.iter().copied();
    words.map(u32::from_le_bytes).collect()
}

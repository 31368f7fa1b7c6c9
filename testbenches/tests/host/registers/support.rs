//! Register block, its model, and the channels of the bus.

use fastrand::Rng;
use num_bigint::BigUint;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::host::registers::Registers;
use warpline_regmap::register::{self, COMMAND_BUSY, COMMAND_FAILED, COMMAND_NUMBER};
use warpline_regmap::register_list;
use warpline_regmap::transmit::{
    CAPABILITY_READ_RESPONDER, CAPABILITY_TRANSMIT, SEND_PRODUCER_COUNT, SEND_PRODUCER_STREAM,
};
use warpline_regmap::{Access, Register};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

/// A device that sends, too.
pub const CONFIG: Config = Config {
    transmit: true,
    ..Config::simulated(64)
};
pub const STREAMS: usize = CONFIG.streams;

/// What lies at an octet offset: the register, the element, and the word of the element.
pub fn locate(offset: u32) -> Option<(&'static Register, usize, usize)> {
    let (register, index, word) = register::locate_in(register_list::of_register_block(), offset)?;
    Some((register, index as usize, word as usize))
}

/// Whether there can be a completion queue of so many entries at an address with that low word.
pub fn is_queue(entries: u32, base_low: u32) -> bool {
    entries == 0 || entries.is_power_of_two() && entries <= 65536 && base_low.is_multiple_of(64)
}

/// Bits of the octets that `strobe` names.
pub fn octets(strobe: u8) -> u32 {
    (0..4)
        .filter(|lane| strobe >> lane & 1 == 1)
        .map(|lane| 0xff << (8 * lane))
        .sum()
}

/// What a register shows that is a matter of the device's configuration.
pub fn identity(register: &Register) -> Option<u32> {
    Some(match register.name {
        "SHAPE" => 0x0404_0008,
        "RING_OCTETS" => 128 << 10,
        "STAG_SLOTS" => 256,
        "RECEIVE_SLOTS" => 64,
        "MAX_ULPDU" => 64768,
        "CAPABILITIES" => 1 << CAPABILITY_TRANSMIT.lsb | 1 << CAPABILITY_READ_RESPONDER.lsb,
        _ => return None,
    })
}

/// What the neighbours of the block show in one cycle.
#[derive(Clone, Copy, Default)]
pub struct Inputs {
    pub busy: bool,
    pub failed: bool,
    pub producer: u32,
    pub happened: u8,
    pub edge: [u32; STREAMS],
    pub limit: [u32; STREAMS],
    pub transmit: [u32; STREAMS],
    /// In the order of the counters in the register map.
    pub amounts: [u32; 7],
}

/// What `check` would have in its error records.
pub fn record_word(row: usize) -> u32 {
    (row as u32 + 1).wrapping_mul(0x9e37_79b9)
}

/// The registers as plain numbers.
#[derive(Clone, Default)]
pub struct Model {
    /// The device does not send.
    pub receives_only: bool,
    pub arguments: [u32; 8],
    pub base: [u32; 2],
    pub entries: u32,
    /// `entries` are taken back in the next cycle: there is no such queue.
    pub refused: bool,
    pub consumer: u32,
    pub number: u32,
    pub counts: [u32; 7],
    pub amounts: VecDeque<[u32; 7]>,
    pub enable: u32,
    pub holdoff: u32,
    pub start: bool,
    pub restart: bool,
    pub arm: Option<u32>,
    pub clear: u32,
    pub test: u32,
    /// Stream, queue, value.
    pub doorbell: Option<(usize, usize, u32)>,
    /// Stream, value.
    pub send_doorbell: Option<(u32, u32)>,
}

impl Model {
    /// A cycle begins; `write` is the one that has just been applied, `busy` what was seen while it was.
    pub fn advance(&mut self, write: Option<Write>, busy: bool) {
        if std::mem::take(&mut self.restart) {
            self.consumer = 0;
        }
        let refused = self.refused;
        self.refused = !refused && !is_queue(self.entries, self.base[0]);
        if refused {
            self.entries = 0;
        }
        self.start = false;
        (self.arm, self.doorbell, self.send_doorbell) = (None, None, None);
        (self.clear, self.test) = (0, 0);
        if self.amounts.len() == 2 {
            let arrived = self.amounts.pop_front().unwrap_or_default();
            for (count, amount) in self.counts.iter_mut().zip(arrived) {
                *count = count.wrapping_add(amount);
            }
        }
        let Some(write) = write else { return };
        let Some((register, index, _)) = locate(write.offset) else {
            return;
        };
        let mask = octets(write.strobe);
        let put = |word: &mut u32| *word = (*word & !mask | write.data & mask) & register.mask();
        let whole = write.strobe & register.octets() == register.octets();
        match register.name {
            "ARGUMENT" if !busy => put(&mut self.arguments[index]),
            "COMMAND" if !busy && mask & 0xff != 0 => {
                self.start = true;
                self.number = COMMAND_NUMBER.get(&[write.data]) as u32;
            }
            "COMPLETION_BASE_LOW" | "COMPLETION_BASE_HIGH" => {
                put(&mut self.base[usize::from(register.name == "COMPLETION_BASE_HIGH")]);
                self.restart = mask != 0;
                if self.restart {
                    self.entries = 0;
                }
            }
            "COMPLETION_ENTRIES" => {
                put(&mut self.entries);
                self.restart = mask != 0;
            }
            "COMPLETION_CONSUMER" => put(&mut self.consumer),
            "COMPLETION_ARM" => self.arm = whole.then_some(write.data),
            "INTERRUPT_STATE" => self.clear = write.data & mask & register.mask(),
            "INTERRUPT_ENABLE" => put(&mut self.enable),
            "INTERRUPT_TEST" if whole => self.test = write.data & register.mask(),
            "INTERRUPT_HOLDOFF" => put(&mut self.holdoff),
            "RECEIVE_PRODUCER" if index < 8 * STREAMS => {
                let bell = (index / 8, index % 8, write.data & register.mask());
                self.doorbell = whole.then_some(bell);
            }
            "SEND_PRODUCER" if whole => {
                let stream = SEND_PRODUCER_STREAM.get(&[write.data]) as u32;
                let count = SEND_PRODUCER_COUNT.get(&[write.data]) as u32;
                self.send_doorbell = (stream < 256).then_some((stream, count));
            }
            "SEND_PRODUCER" => {}
            "ARGUMENT" | "COMMAND" | "INTERRUPT_TEST" | "RECEIVE_PRODUCER" => {}
            name => assert_eq!(register.access, Access::ReadOnly, "{name}"),
        }
    }

    /// What a read of `offset` finds in this cycle.
    pub fn read(&self, offset: u32, inputs: &Inputs) -> u32 {
        let Some((register, index, word)) = locate(offset) else {
            return 0;
        };
        if register.name == "CAPABILITIES" && self.receives_only {
            return 0;
        }
        if let Some(value) = identity(register) {
            return value;
        }
        if register.access == Access::WriteOnly {
            return 0;
        }
        let counter = |index: usize| self.counts[index];
        match register.name {
            "IDENTITY" => 0x5741_5250,
            "VERSION" => 0x0002_0000,
            "COMMAND" => {
                let mut words = [0];
                COMMAND_NUMBER.put(&mut words, self.number.into());
                COMMAND_FAILED.put(&mut words, inputs.failed.into());
                COMMAND_BUSY.put(&mut words, inputs.busy.into());
                words[0]
            }
            "ARGUMENT" => self.arguments[index],
            "COMPLETION_BASE_LOW" => self.base[0],
            "COMPLETION_BASE_HIGH" => self.base[1],
            "COMPLETION_ENTRIES" => self.entries,
            "COMPLETION_CONSUMER" => self.consumer,
            "COMPLETION_PRODUCER" => inputs.producer,
            "INTERRUPT_STATE" => inputs.happened.into(),
            "INTERRUPT_ENABLE" => self.enable,
            "INTERRUPT_HOLDOFF" => self.holdoff,
            "SEGMENTS" => counter(0),
            "OCTETS" => counter(1),
            "SEGMENTS_DROPPED" => counter(2),
            "FPDUS" => counter(3),
            "FPDUS_DISCARDED" => counter(4),
            "PAYLOAD_OCTETS" => counter(5),
            "ERRORS" => counter(6),
            "STREAM_EDGE" => inputs.edge.get(index).copied().unwrap_or(0),
            "STREAM_LIMIT" => inputs.limit.get(index).copied().unwrap_or(0),
            "TRANSMIT_STATE" => inputs.transmit.get(index).copied().unwrap_or(0),
            "ERROR_RECORD" if index < STREAMS => record_word(16 * index + word),
            "ERROR_RECORD" => 0,
            name => panic!("the model does not know {name}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Write {
    pub offset: u32,
    pub data: u32,
    pub strobe: u8,
}

/// A channel that the device drives: once valid it stays so, with the same payload, until it is taken.
#[derive(Default)]
pub struct Channel {
    pub waiting: Option<u64>,
}

impl Channel {
    pub fn watch(
        &mut self,
        name: &str,
        valid: bool,
        ready: bool,
        payload: u64,
        owed: usize,
    ) -> Result<(), String> {
        if let Some(before) = self.waiting {
            if !valid {
                return Err(format!("{name} withdrew its valid"));
            }
            if before != payload {
                return Err(format!(
                    "{name} changed from {before:#x} to {payload:#x} while it waited"
                ));
            }
        }
        if valid && owed == 0 {
            return Err(format!("{name} answers what was not asked"));
        }
        self.waiting = (valid && !ready).then_some(payload);
        Ok(())
    }
}

/// How fast the host's five channels go.
pub struct Paces {
    pub aw: Rhythm,
    pub w: Rhythm,
    pub b: Rhythm,
    pub ar: Rhythm,
    pub r: Rhythm,
}

impl Paces {
    pub fn all(pace: Pace) -> Self {
        let rhythm = || Rhythm::new(pace);
        Self {
            aw: rhythm(),
            w: rhythm(),
            b: rhythm(),
            ar: rhythm(),
            r: rhythm(),
        }
    }
}

pub struct Bench {
    pub sim: Lockstep<Registers<STREAMS>>,
    pub rng: Rng,
    pub paces: Paces,
    pub model: Model,
    pub inputs: Inputs,
    /// Neighbours that change at random; otherwise all is quiet.
    pub lively: bool,
    /// A planted fault: this bit of the edge of stream 2 is inverted on its way to the block.
    pub broken_wire: u32,
    pub running: u32,
    pub pending_busy: Option<u32>,

    pub writes: VecDeque<Write>,
    pub data: VecDeque<Write>,
    pub given: VecDeque<Write>,
    pub aw: Option<Write>,
    pub w: Option<Write>,
    pub aw_taken: usize,
    pub w_taken: usize,
    pub b_was_valid: bool,
    /// A cycle, and two cycles before: what is applied knows the latter.
    pub busy_before: bool,
    pub busy_then: bool,
    pub b_channel: Channel,

    pub reads: VecDeque<u32>,
    pub ar: Option<u32>,
    pub reading: Option<u32>,
    pub r_was_valid: bool,
    pub r_channel: Channel,
    /// What `reading` would have found in the last cycles, the latest last.
    pub history: VecDeque<u32>,
    pub rows: VecDeque<usize>,

    pub answered: Vec<u64>,
    pub got: Vec<(u64, u32)>,
    pub addressed: Vec<u64>,
    pub completed: Vec<u64>,
    pub starts: usize,
    pub ignored: usize,
    pub arms: usize,
    pub doorbells: usize,
    pub send_doorbells: usize,
}

impl Bench {
    pub fn new(top: &str, seed: u64, pace: Pace) -> Self {
        Self::of(top, seed, pace, &CONFIG)
    }

    pub fn of(top: &str, seed: u64, pace: Pace, config: &Config) -> Self {
        let block = Box::new(Registers::new(config));
        let sim = Lockstep::new(top, block, |b, level| b.clock.next = level.into())
            .unwrap_or_else(|e| panic!("{e}"));
        let mut bench = Self {
            sim,
            rng: Rng::with_seed(seed),
            paces: Paces::all(pace),
            model: Model {
                receives_only: !config.transmit,
                ..Model::default()
            },
            inputs: Inputs::default(),
            lively: false,
            broken_wire: 0,
            running: 0,
            pending_busy: None,
            writes: VecDeque::new(),
            data: VecDeque::new(),
            given: VecDeque::new(),
            aw: None,
            w: None,
            aw_taken: 0,
            w_taken: 0,
            b_was_valid: false,
            busy_before: false,
            busy_then: false,
            b_channel: Channel::default(),
            reads: VecDeque::new(),
            ar: None,
            reading: None,
            r_was_valid: false,
            r_channel: Channel::default(),
            history: VecDeque::new(),
            rows: VecDeque::new(),
            answered: vec![],
            got: vec![],
            addressed: vec![],
            completed: vec![],
            starts: 0,
            ignored: 0,
            arms: 0,
            doorbells: 0,
            send_doorbells: 0,
        };
        for _ in 0..2 {
            bench
                .sim
                .cycle(|b| b.reset.next = true, |_| ())
                .unwrap_or_else(|e| panic!("{e}"));
        }
        bench.sim.block.reset.next = false;
        bench
    }

    pub fn write(&mut self, offset: u32, data: u32, strobe: u8) {
        let write = Write {
            offset,
            data,
            strobe,
        };
        self.writes.push_back(write);
        self.data.push_back(write);
    }

    /// Runs until nothing is under way any more.
    pub fn finish(&mut self) -> Result<(), String> {
        let busy = |bench: &Self| {
            !bench.data.is_empty()
                || !bench.writes.is_empty()
                || !bench.given.is_empty()
                || !bench.reads.is_empty()
                || bench.aw.is_some()
                || bench.w.is_some()
                || bench.ar.is_some()
                || bench.reading.is_some()
        };
        let limit = self.sim.cycles() + 100_000;
        while busy(self) {
            self.cycle()?;
            if self.sim.cycles() > limit {
                return Err("the bus hangs".into());
            }
        }
        Ok(())
    }

    /// Reads `offset` and runs until the answer is there.
    pub fn read_now(&mut self, offset: u32) -> u32 {
        self.reads.push_back(offset);
        self.finish().unwrap_or_else(|e| panic!("{e}"));
        self.got[self.got.len() - 1].1
    }

    /// The neighbours move on.
    pub fn stir(&mut self) {
        let rng = &mut self.rng;
        self.inputs.amounts = [0; 7];
        if !self.lively {
            return;
        }
        for (index, amount) in self.inputs.amounts.iter_mut().enumerate() {
            *amount = match index {
                1 => rng.u32(0..256),
                5 => rng.u32(0..0x1_0000) * u32::from(rng.bool()),
                _ => rng.u32(0..2),
            };
        }
        if chance(rng, 20) {
            self.inputs.producer = rng.u32(..);
            self.inputs.happened = rng.u8(0..4);
            self.inputs.edge[rng.usize(0..STREAMS)] = rng.u32(..);
            self.inputs.limit[rng.usize(0..STREAMS)] = rng.u32(..);
            self.inputs.transmit[rng.usize(0..STREAMS)] = rng.u32(..);
        }
        self.running = self.running.saturating_sub(1);
        if let Some(cycles) = self.pending_busy.take() {
            // control is allowed to say so in the second cycle only
            if self.inputs.busy || chance(rng, 50) || cycles & 1 == 0 {
                self.running = cycles;
            } else {
                self.pending_busy = Some(cycles - 1);
            }
        }
        self.inputs.busy = self.running > 0;
        if !self.inputs.busy && chance(rng, 10) {
            self.inputs.failed = rng.bool();
        }
    }

    pub fn drive(&mut self) {
        self.stir();
        let rng = &mut self.rng;
        if self.aw.is_none() && !self.writes.is_empty() && self.paces.aw.go(rng) {
            self.aw = self.writes.pop_front();
        }
        if self.w.is_none() && !self.data.is_empty() && self.paces.w.go(rng) {
            self.w = self.data.pop_front();
        }
        if self.ar.is_none() && !self.reads.is_empty() && self.paces.ar.go(rng) {
            self.ar = self.reads.pop_front();
        }
        let noise = rng.u64(..);
        let block = &mut *self.sim.block;
        let bus = &mut block.s_axil;
        bus.awvalid.next = self.aw.is_some();
        bus.awaddr.next = (self.aw.map_or(noise, |w| w.offset.into()) & 0xfff).into();
        bus.awprot.next = (noise & 7).into();
        bus.wvalid.next = self.w.is_some();
        bus.wdata.next = (self.w.map_or(noise, |w| w.data.into()) & 0xffff_ffff).into();
        bus.wstrb.next = (self.w.map_or(noise, |w| w.strobe.into()) & 15).into();
        bus.bready.next = self.paces.b.go(rng);
        bus.arvalid.next = self.ar.is_some();
        bus.araddr.next = (self.ar.map_or(noise, u64::from) & 0xfff).into();
        bus.arprot.next = (noise & 7).into();
        bus.rready.next = self.paces.r.go(rng);
        let inputs = &self.inputs;
        block.busy.next = inputs.busy;
        block.failed.next = inputs.failed;
        block.completion_producer.next = u64::from(inputs.producer).into();
        block.interrupt_state.next = u64::from(inputs.happened).into();
        block.segments.next = inputs.amounts[0] == 1;
        block.octets.next = u64::from(inputs.amounts[1]).into();
        block.segments_dropped.next = inputs.amounts[2] == 1;
        block.fpdus.next = inputs.amounts[3] == 1;
        block.discarded.next = inputs.amounts[4] == 1;
        // an amount without its valid must not count
        block.payload_valid.next = inputs.amounts[5] != 0;
        block.payload.next = match inputs.amounts[5] {
            0 => (noise & 0xffff).into(),
            amount => u64::from(amount).into(),
        };
        block.errors.next = inputs.amounts[6] == 1;
        for stream in 0..STREAMS {
            let fault = if stream == 2 { self.broken_wire } else { 0 };
            block.edge_sequence[stream].next = u64::from(inputs.edge[stream] ^ fault).into();
            block.limit_sequence[stream].next = u64::from(inputs.limit[stream]).into();
            block.transmit_state[stream].next = u64::from(inputs.transmit[stream]).into();
        }
        let row = if self.rows.len() == 2 {
            self.rows.pop_front().unwrap_or(0)
        } else {
            0
        };
        block.record_data.next = u64::from(record_word(row)).into();
    }

    pub fn cycle(&mut self) -> Result<(), String> {
        self.drive();
        self.sim.settle().map_err(|e| e.to_string())?;
        let now = self.sim.cycles();
        let block = &*self.sim.block;
        let bus = &block.s_axil;

        // writes
        let (b_valid, b_ready) = (bus.bvalid.val(), bus.bready.val());
        let owed = self.aw_taken.min(self.w_taken);
        self.b_channel
            .watch("B", b_valid, b_ready, bus.bresp.val().into(), owed)?;
        if b_valid && bus.bresp.val() != 0 {
            return Err("BRESP is not OKAY".into());
        }
        let applied = (b_valid && !self.b_was_valid)
            .then(|| self.given.front().copied())
            .flatten();
        self.model.advance(applied, self.busy_then);
        if let Some(write) = applied {
            self.answered.push(now);
            let command = matches!(locate(write.offset), Some((r, ..)) if r.name == "COMMAND");
            self.ignored += usize::from(command && self.busy_then);
        }
        self.b_was_valid = b_valid && !b_ready;
        if b_valid && b_ready {
            self.given.pop_front();
            self.aw_taken -= 1;
            self.w_taken -= 1;
        }
        if bus.awvalid.val() && bus.awready.val() {
            self.aw_taken += 1;
            self.given.extend(self.aw.take());
            if self.w_taken >= self.aw_taken {
                self.completed.push(now);
            }
        }
        if bus.wvalid.val() && bus.wready.val() {
            self.w_taken += 1;
            self.w = None;
            if self.aw_taken >= self.w_taken {
                self.completed.push(now);
            }
        }
        self.busy_then = self.busy_before;
        self.busy_before = block.busy.val();

        // reads
        if let Some(offset) = self.reading {
            if self.history.len() == 3 {
                self.history.pop_front();
            }
            self.history
                .push_back(self.model.read(offset, &self.inputs));
        }
        let (r_valid, r_ready) = (bus.rvalid.val(), bus.rready.val());
        let word: u64 = bus.rdata.val().into();
        self.r_channel.watch(
            "R",
            r_valid,
            r_ready,
            word,
            usize::from(self.reading.is_some()),
        )?;
        if r_valid {
            let offset = self.reading.unwrap_or_default();
            if bus.rresp.val() != 0 {
                return Err("RRESP is not OKAY".into());
            }
            if !self.r_was_valid && u64::from(self.history[0]) != word {
                return Err(format!(
                    "cycle {now}: {offset:#05x} reads {word:#x} instead of {:#x}",
                    self.history[0]
                ));
            }
        }
        if r_valid && !self.r_was_valid {
            self.got.push((now, word as u32));
        }
        self.r_was_valid = r_valid && !r_ready;
        if r_valid && r_ready {
            self.reading = None;
        }
        if bus.arvalid.val() && bus.arready.val() {
            if self.reading.is_some() {
                return Err("a second read is taken while one is under way".into());
            }
            self.reading = self.ar.take();
            self.addressed.push(now);
            self.history.clear();
        }
        let row: u64 = block.record_row.val().into();
        self.rows.push_back(row as usize);

        self.compare_outputs(now)?;
        self.arms += usize::from(self.model.arm.is_some());
        self.doorbells += usize::from(self.model.doorbell.is_some());
        self.send_doorbells += usize::from(self.model.send_doorbell.is_some());
        if self.model.start {
            self.starts += 1;
            self.pending_busy = Some(self.rng.u32(1..60));
        }
        self.model.amounts.push_back(self.inputs.amounts);
        self.sim.edge().map_err(|e| e.to_string())
    }

    pub fn compare_outputs(&self, now: u64) -> Result<(), String> {
        let (block, model) = (&*self.sim.block, &self.model);
        let big = |words: &[u32]| BigUint::new(words.to_vec());
        let pulse = |pulse: bool| big(&[u32::from(pulse)]);
        let mut outputs: Vec<(&str, BigUint, BigUint)> = vec![
            ("start", pulse(block.start.val()), pulse(model.start)),
            ("restart", pulse(block.restart.val()), pulse(model.restart)),
            ("arm", pulse(block.arm.val()), pulse(model.arm.is_some())),
            (
                "doorbell",
                pulse(block.doorbell.val()),
                pulse(model.doorbell.is_some()),
            ),
            (
                "send_doorbell",
                pulse(block.send_doorbell.val()),
                pulse(model.send_doorbell.is_some()),
            ),
            (
                "interrupt_clear",
                block.interrupt_clear.val().into(),
                big(&[model.clear]),
            ),
            (
                "interrupt_test",
                block.interrupt_test.val().into(),
                big(&[model.test]),
            ),
            (
                "interrupt_enable",
                block.interrupt_enable.val().into(),
                big(&[model.enable]),
            ),
            ("holdoff", block.holdoff.val().into(), big(&[model.holdoff])),
            ("number", block.number.val().into(), big(&[model.number])),
            (
                "arguments",
                block.arguments.val().into(),
                big(&model.arguments),
            ),
            (
                "completion_base",
                block.completion_base.val().into(),
                big(&model.base),
            ),
            (
                "completion_entries",
                block.completion_entries.val().into(),
                big(&[model.entries]),
            ),
            (
                "completion_consumer",
                block.completion_consumer.val().into(),
                big(&[model.consumer]),
            ),
        ];
        if let Some(count) = model.arm {
            outputs.push(("armed_count", block.armed_count.val().into(), big(&[count])));
        }
        if let Some((stream, value)) = model.send_doorbell {
            outputs.extend([
                (
                    "send_doorbell_stream",
                    block.send_doorbell_stream.val().into(),
                    stream.into(),
                ),
                (
                    "send_doorbell_value",
                    block.send_doorbell_value.val().into(),
                    value.into(),
                ),
            ]);
        }
        if let Some((stream, queue, value)) = model.doorbell {
            outputs.extend([
                (
                    "doorbell_stream",
                    block.doorbell_stream.val().into(),
                    stream.into(),
                ),
                (
                    "doorbell_queue",
                    block.doorbell_queue.val().into(),
                    queue.into(),
                ),
                (
                    "doorbell_value",
                    block.doorbell_value.val().into(),
                    value.into(),
                ),
            ]);
        }
        match outputs.iter().find(|(_, is, should)| is != should) {
            None => Ok(()),
            Some((name, is, should)) => Err(format!(
                "cycle {now}: {name} is {is:#x} instead of {should:#x}"
            )),
        }
    }
}

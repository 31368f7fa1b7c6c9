//! The mailbox in front of `registers` itself: the latencies that both state fit, commands reach the device, and what
//! passes is what `registers` has.

use rust_hdl_core::prelude::*;
use warpline_hdl::Config;
use warpline_hdl::host::mailbox::{
    Mailbox, PASSED_READ_LATENCY, PASSED_WRITE_LATENCY, READ_LATENCY, WRITE_LATENCY,
};
use warpline_hdl::host::registers::Registers;
use warpline_hdl::parts::axi::{AxiLiteMaster, AxiLiteSlave};
use warpline_regmap::mailbox::{HOST_MESSAGE, MAILBOX};
use warpline_regmap::register::{
    ARGUMENT, COMMAND, COMMAND_BUSY, COMMAND_FAILED, COMMAND_NUMBER, COMPLETION_CONSUMER, IDENTITY,
    IDENTITY_VALUE, INTERRUPT_HOLDOFF,
};
use warpline_regmap::transmit::{CAPABILITIES, CAPABILITY_MAILBOX};
use warpline_sv_writer::Block;
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::Pace;

use crate::model::{CONTROL, HOST};
use crate::side::{Side, Write};

/// The two blocks.
#[derive(Block)]
#[block(config: &Config)]
struct Front {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The host.
    pub s_axil: AxiLiteSlave,
    /// The control program.
    pub s_axil_control: AxiLiteSlave,
    /// Pulse: execute a command.
    pub start: Signal<Out, Bit>,
    /// Its number.
    pub number: Signal<Out, Bits<8>>,
    /// Its arguments.
    pub arguments: Signal<Out, Bits<256>>,
    /// It is not done.
    pub busy: Signal<In, Bit>,
    /// It was refused.
    pub failed: Signal<In, Bit>,
    mailbox: Mailbox,
    #[value(Registers::new(config))]
    registers: Registers<4>,
}

impl Logic for Front {
    #[hdl_gen]
    fn update(&mut self) {
        AxiLiteSlave::link(&mut self.s_axil, &mut self.mailbox.s_axil);
        AxiLiteSlave::link(&mut self.s_axil_control, &mut self.mailbox.s_axil_control);
        AxiLiteMaster::join(&mut self.mailbox.m_axil, &mut self.registers.s_axil);
        self.mailbox.reset.next = self.reset.val();
        self.registers.reset.next = self.reset.val();
        self.registers.port_reset.next = self.reset.val();
        self.start.next = self.registers.start.val();
        self.number.next = self.registers.number.val();
        self.arguments.next = self.registers.arguments.val();
        self.registers.busy.next = self.busy.val();
        self.registers.failed.next = self.failed.val();
        self.registers.completion_producer.next = 0.into();
        self.registers.interrupt_state.next = 0.into();
        self.registers.segments.next = false;
        self.registers.octets.next = 0.into();
        self.registers.segments_dropped.next = false;
        self.registers.fpdus.next = false;
        self.registers.discarded.next = false;
        self.registers.payload.next = 0.into();
        self.registers.payload_valid.next = false;
        self.registers.errors.next = false;
        self.registers.record_data.next = 0.into();
        for i in 0..4 {
            self.registers.transmit_state[i].next = 0.into();
            self.registers.edge_sequence[i].next = 0.into();
            self.registers.limit_sequence[i].next = 0.into();
        }
    }
}

struct Bench {
    sim: Lockstep<Front>,
    rng: fastrand::Rng,
    sides: [Side; 2],
    /// Commands that the device was given.
    started: Vec<(u64, [u64; 8])>,
    /// Cycles for which the device carries out each command, and the cycle of its end.
    duration: u64,
    until: u64,
    /// The last word read, and the latency of the last access.
    word: u32,
    latency: u64,
}

impl Bench {
    fn new(duration: u64) -> Self {
        let block = Box::new(Front::assemble(&Config::simulated(64)));
        let sim = Lockstep::new("mailbox_front", block, |b, level| {
            b.clock.next = level.into()
        });
        let mut bench = Self {
            sim: sim.unwrap_or_else(|e| panic!("{e}")),
            rng: fastrand::Rng::with_seed(41),
            sides: [HOST, CONTROL].map(|_| Side::new("side", Pace::Always)),
            started: vec![],
            duration,
            until: 0,
            word: 0,
            latency: 0,
        };
        for _ in 0..10 {
            bench.sim.cycle(|b| b.reset.next = true, |_| ()).unwrap();
        }
        bench.sim.block.reset.next = false;
        bench
    }

    fn cycle(&mut self) {
        let now = self.sim.cycles();
        let block = &mut *self.sim.block;
        self.sides[HOST].drive(&mut block.s_axil, &mut self.rng);
        self.sides[CONTROL].drive(&mut block.s_axil_control, &mut self.rng);
        block.busy.next = now < self.until;
        // odd numbers are refused
        let odd = self
            .started
            .last()
            .is_some_and(|(number, _)| number % 2 == 1);
        block.failed.next = odd;
        self.sim.settle().unwrap();
        let block = &*self.sim.block;
        for (side, bus) in [(HOST, &block.s_axil), (CONTROL, &block.s_axil_control)] {
            let got = self.sides[side].sample(bus, now).unwrap();
            if let Some((_, given, response)) = got.write {
                assert_eq!(response, 0);
                self.latency = now - given;
            }
            if let Some((_, given, word, response)) = got.read {
                assert_eq!(response, 0);
                (self.word, self.latency) = (word, now - given);
            }
        }
        if block.start.val() {
            let argument = |index: usize| block.arguments.val().get_bits::<32>(32 * index).into();
            let arguments = std::array::from_fn(argument);
            self.started.push((block.number.val().into(), arguments));
            self.until = now + 1 + self.duration;
        }
        self.sim.edge().unwrap();
    }

    fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.sides.iter().all(Side::is_done) {
                return;
            }
            self.cycle();
        }
        panic!("the bus hangs");
    }

    fn write(&mut self, side: usize, offset: u32, data: u32) -> u64 {
        self.write_octets(side, offset, data, 15)
    }

    fn write_octets(&mut self, side: usize, offset: u32, data: u32, strobe: u8) -> u64 {
        self.sides[side].write(Write {
            offset,
            data,
            strobe,
        });
        self.finish();
        self.latency
    }

    fn read(&mut self, side: usize, offset: u32) -> u32 {
        self.sides[side].reads.push_back(offset);
        self.finish();
        self.word
    }
}

#[test]
fn accesses_pass_to_registers_in_the_time_that_is_stated() {
    let mut bench = Bench::new(0);
    for side in [HOST, CONTROL] {
        assert_eq!(bench.read(side, IDENTITY.offset), IDENTITY_VALUE);
        assert_eq!(bench.latency, PASSED_READ_LATENCY);
        let capabilities = bench.read(side, CAPABILITIES.offset);
        assert_eq!(capabilities, 1 << CAPABILITY_MAILBOX.lsb);
    }
    assert_eq!(
        bench.write(HOST, COMPLETION_CONSUMER.offset, 77),
        PASSED_WRITE_LATENCY
    );
    assert_eq!(bench.write(CONTROL, HOST_MESSAGE.offset, 2), WRITE_LATENCY);
    // the control program's write does nothing
    assert_eq!(
        bench.write(CONTROL, INTERRUPT_HOLDOFF.offset, 5),
        WRITE_LATENCY
    );
    assert_eq!(bench.read(CONTROL, INTERRUPT_HOLDOFF.offset), 0);
    assert_eq!(bench.read(CONTROL, COMPLETION_CONSUMER.offset), 77);
    bench.write(HOST, MAILBOX.at(255), 0xdead_beef);
    assert_eq!(bench.read(CONTROL, MAILBOX.at(255)), 0xdead_beef);
    assert_eq!(bench.latency, READ_LATENCY);
    for (side, other) in [(HOST, CONTROL), (CONTROL, HOST)] {
        for lane in 0..4 {
            bench.write_octets(side, MAILBOX.at(9), 0x1111_1111 * (lane + 1), 1 << lane);
        }
        assert_eq!(bench.read(other, MAILBOX.at(9)), 0x4433_2211);
    }
}

#[test]
fn the_device_is_given_the_commands_of_both_sides() {
    let mut bench = Bench::new(60);
    bench.write(CONTROL, HOST_MESSAGE.offset, 2);
    for round in 0..6 {
        let mut due = vec![];
        for side in [HOST, CONTROL] {
            let word = |index: u32| 1000 * round + 10 * index + side as u32;
            for index in 0..8 {
                bench.write(side, ARGUMENT.at(index), word(index));
            }
            let arguments = std::array::from_fn(|index| u64::from(word(index as u32)));
            due.push((u64::from(2 * round + side as u32), arguments));
        }
        bench.started.clear();
        for side in [HOST, CONTROL] {
            bench.write(side, COMMAND.offset, 2 * round + side as u32);
        }
        for side in [HOST, CONTROL] {
            let mut polls = 0;
            let word = loop {
                let word = [bench.read(side, COMMAND.offset)];
                if COMMAND_BUSY.get(&word) == 0 {
                    break word;
                }
                polls += 1;
                assert!(polls < 200, "the command of {side} is not done");
            };
            assert!(polls > 5, "the command of {side} has taken no time");
            assert_eq!(
                COMMAND_NUMBER.get(&word),
                u64::from(2 * round + side as u32)
            );
            assert_eq!(COMMAND_FAILED.get(&word), side as u64);
        }
        assert_eq!(bench.started, due, "round {round}");
    }
}

//! Kernels made of every construct that `hdl/KERNELS.md` lists as working, in lockstep: rust-hdl's simulator against
//! Verilator on the written text. The text is also free of warnings and the same on every run.

// precedence and double negation are what is tested here
#![allow(clippy::precedence, clippy::nonminimal_bool)]

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;
use warpline_sv_writer as writer;
use warpline_sv_writer::dff::Dff;
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::stimulus::{bits, chance};

/// A comment for the written text; nothing in simulation.
macro_rules! comment {
    ($text:literal) => {};
}

const CYCLES: u64 = 3000;

fn d<T: Default>() -> T {
    T::default()
}

fn array<T: Default, const N: usize>() -> [T; N] {
    std::array::from_fn(|_| T::default())
}

#[derive(LogicState, Clone, Copy, Debug, PartialEq)]
enum Mode {
    Idle,
    Fill,
    Drain,
}

#[derive(LogicStruct, Clone, Copy, Debug, Default, PartialEq)]
struct Header {
    length: Bits<16>,
    last: Bit,
    mode: Mode,
    marks: Bits<5>,
}

// ---- slices, shifts, arithmetic

#[derive(LogicBlock)]
struct Values {
    pub clock: Signal<In, Clock>,
    pub a: Signal<In, Bits<32>>,
    pub b: Signal<In, Bits<32>>,
    pub wide: Signal<In, Bits<512>>,
    pub at: Signal<In, Bits<5>>,
    pub lane: Signal<In, Bits<9>>,
    pub flag: Signal<In, Bit>,
    pub one: Signal<In, Bits<1>>,
    pub concatenation: Signal<Out, Bits<64>>,
    pub constant_slice: Signal<Out, Bits<8>>,
    pub slice_of_a_sum: Signal<Out, Bits<8>>,
    pub bit_of_a_sum: Signal<Out, Bit>,
    pub slice_at_a_constant: Signal<Out, Bits<8>>,
    pub dynamic_slice: Signal<Out, Bits<8>>,
    pub dynamic_slice_over_the_top: Signal<Out, Bits<100>>,
    pub dynamic_bit: Signal<Out, Bit>,
    pub replaced: Signal<Out, Bits<32>>,
    pub replaced_at: Signal<Out, Bits<32>>,
    pub shifted_by_constant: Signal<Out, Bits<32>>,
    pub shifted: Signal<Out, Bits<512>>,
    pub one_hot: Signal<Out, Bits<32>>,
    pub no_carry: Signal<Out, Bits<64>>,
    pub with_bit: Signal<Out, Bits<32>>,
    pub high_half_of_a_sum: Signal<Out, Bits<32>>,
    pub reductions: Signal<Out, Bits<3>>,
    pub compared: Signal<Out, Bit>,
    pub mixed: Signal<Out, Bits<32>>,
    pub from_bit: Signal<Out, Bits<1>>,
    pub to_bit: Signal<Out, Bit>,
    pub octets_summed: Signal<Out, Bits<16>>,
    sum: [Signal<Local, Bits<16>>; 5],
    octet: Signal<Local, Bits<8>>,
    three: Constant<Bits<3>>,
    offset: Constant<Bits<6>>,
    big: Constant<Bits<64>>,
}

impl Values {
    fn new() -> Self {
        Self {
            three: Constant::new(3.into()),
            offset: Constant::new(21.into()),
            big: Constant::new(0xFEDC_BA98_7654_3210.into()),
            clock: d(),
            a: d(),
            b: d(),
            wide: d(),
            at: d(),
            lane: d(),
            flag: d(),
            one: d(),
            concatenation: d(),
            constant_slice: d(),
            slice_of_a_sum: d(),
            bit_of_a_sum: d(),
            slice_at_a_constant: d(),
            dynamic_slice: d(),
            dynamic_slice_over_the_top: d(),
            dynamic_bit: d(),
            replaced: d(),
            replaced_at: d(),
            shifted_by_constant: d(),
            shifted: d(),
            one_hot: d(),
            no_carry: d(),
            with_bit: d(),
            high_half_of_a_sum: d(),
            reductions: d(),
            compared: d(),
            mixed: d(),
            from_bit: d(),
            to_bit: d(),
            octets_summed: d(),
            sum: d(),
            octet: d(),
        }
    }
}

impl Logic for Values {
    #[hdl_gen]
    fn update(&mut self) {
        self.concatenation.next =
            (bit_cast::<64, 32>(self.a.val()) << 32) | bit_cast::<64, 32>(self.b.val());
        self.constant_slice.next = self.wide.val().get_bits::<8>(500);
        self.slice_of_a_sum.next = (self.a.val() + self.b.val()).get_bits::<8>(4);
        self.bit_of_a_sum.next = (self.a.val() + self.b.val()).get_bit(31);
        self.slice_at_a_constant.next = self.a.val().get_bits::<8>(self.offset.val().index());
        self.dynamic_slice.next = self.wide.val().get_bits::<8>(self.at.val().index());
        self.dynamic_slice_over_the_top.next =
            self.wide.val().get_bits::<100>(self.lane.val().index());
        self.dynamic_bit.next = self.a.val().get_bit(self.at.val().index());
        self.replaced.next = self.a.val().replace_bit(7, self.flag.val());
        self.replaced_at.next = self
            .a
            .val()
            .replace_bit(self.at.val().index(), self.flag.val());
        self.shifted_by_constant.next = self.a.val() >> self.three.val();
        self.shifted.next = (self.wide.val() << self.lane.val()) ^ (self.wide.val() >> 13);
        self.one_hot.next = bit_cast::<32, 64>(1 << self.at.val());
        self.no_carry.next = bit_cast::<64, 32>(self.a.val() + self.b.val()) + self.big.val();
        self.with_bit.next = self.a.val() + self.flag.val();
        self.high_half_of_a_sum.next = (self.a.val() + self.b.val()) >> 16;
        self.reductions.next = (bit_cast::<3, 1>(self.a.val().any().into()) << 2)
            | (bit_cast::<3, 1>(self.b.val().all().into()) << 1)
            | bit_cast::<3, 1>(self.wide.val().xor().into());
        self.compared.next = ((self.a.val() < self.b.val()) & (self.a.val() != 0x1234))
            | (self.b.val().get_bits::<4>(3) >= 9)
            || (self.flag.val() && !(self.a.val() == self.b.val()));
        self.mixed.next = 5 + self.a.val() - (self.b.val() & 0xFF)
            | !(self.a.val() ^ self.b.val()) & self.b.val();
        self.from_bit.next = self.flag.val().into();
        self.to_bit.next = self.one.val().into();
        self.sum[0].next = 0.into();
        for i in 0..4 {
            self.octet.next = self.a.val().get_bits::<8>(8 * i);
            self.sum[i + 1].next = self.sum[i].val() + bit_cast::<16, 8>(self.octet.val());
        }
        self.octets_summed.next = self.sum[4].val();
    }
}

// ---- registers, arrays, structs, states

#[derive(LogicBlock, Default)]
struct Adder {
    pub a: Signal<In, Bits<16>>,
    pub b: Signal<In, Bits<16>>,
    pub sum: Signal<Out, Bits<16>>,
}

impl Logic for Adder {
    #[hdl_gen]
    fn update(&mut self) {
        self.sum.next = self.a.val() + self.b.val();
    }
}

#[derive(LogicBlock)]
struct Registers<const N: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub select: Signal<In, Bits<8>>,
    pub header: Signal<In, Header>,
    pub go: Signal<In, Bit>,
    pub index: Signal<In, Bits<2>>,
    pub taps: [Signal<Out, Bits<16>>; N],
    pub chosen: Signal<Out, Bits<16>>,
    pub key: Signal<Out, Bits<8>>,
    pub length: Signal<Out, Bits<16>>,
    pub out: Signal<Out, Header>,
    pub busy: Signal<Out, Bit>,
    pub code: Signal<Out, Bits<2>>,
    pub by_number: Signal<Out, Bits<8>>,
    pub by_bit: Signal<Out, Bits<2>>,
    pub total: Signal<Out, Bits<16>>,
    pub corner: Signal<Out, Bits<4>>,
    pub upcoming: Signal<Out, Bit>,
    line: [Dff<Bits<16>>; N],
    square: [[Dff<Bits<4>>; 2]; 2],
    held: Dff<Header>,
    mode: Dff<Mode>,
    count: Dff<Bits<4>>,
    adders: [Adder; N],
    keys: [Constant<Bits<8>>; N],
    next_length: Signal<Local, Bits<16>>,
}

impl<const N: usize> Default for Registers<N> {
    fn default() -> Self {
        Self {
            clock: d(),
            reset: d(),
            select: d(),
            header: d(),
            go: d(),
            index: d(),
            taps: array(),
            chosen: d(),
            key: d(),
            length: d(),
            out: d(),
            busy: d(),
            code: d(),
            by_number: d(),
            by_bit: d(),
            total: d(),
            corner: d(),
            upcoming: d(),
            line: array(),
            square: d(),
            held: d(),
            mode: d(),
            count: d(),
            adders: array(),
            keys: std::array::from_fn(|i| Constant::new((3 * i as u64 + 1).into())),
            next_length: d(),
        }
    }
}

impl<const N: usize> Logic for Registers<N> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, mode, count);
        for i in 0..N {
            self.line[i].clock.next = self.clock.val();
            self.line[i].d.next = self.line[i].q.val();
        }
        for i in 0..2 {
            for j in 0..2 {
                self.square[i][j].clock.next = self.clock.val();
                self.square[i][j].d.next = self.square[j][i].q.val() + 1;
            }
        }
        self.corner.next = self.square[1][0].q.val();

        comment!("a delay line: the first register takes the input, each other its neighbour");
        for i in 0..N {
            if i == 0 {
                self.line[i].d.next = self.header.val().length;
            } else {
                self.line[i].d.next = self.line[i - 1].q.val();
            }
            self.taps[i].next = self.line[i].q.val();
        }

        comment!("a multiplexer by loop index, one by table");
        self.chosen.next = 0.into();
        self.key.next = 0xFF.into();
        for i in 0..N {
            if self.select.val() == i.to_bits::<8>() {
                self.chosen.next = self.line[i].q.val();
            }
            if self.select.val() == self.keys[i].val() {
                self.key.next = self.keys[i].val() + 1;
            }
        }

        comment!("a chain of sub-blocks");
        for i in 0..N {
            self.adders[i].a.next = self.line[i].q.val();
            if i == 0 {
                self.adders[i].b.next = 1.into();
            } else {
                self.adders[i].b.next = self.adders[i - 1].sum.val();
            }
        }
        for last in (N - 1)..N {
            self.total.next = self.adders[last].sum.val();
        }

        comment!("fields of a register");
        self.next_length.next = self.held.q.val().length + 1;
        if self.go.val() {
            self.held.d.next = self.header.val();
            self.held.d.next.last = !self.header.val().last;
        } else if self.header.val().marks == 3 {
            self.held.d.next.length = self.next_length.val();
            self.held.d.next.mode = Mode::Drain;
        }
        self.length.next = self.held.q.val().length;
        self.out.next = self.held.q.val();
        self.out.next.marks = self.header.val().marks;

        comment!("a state machine");
        self.busy.next = self.mode.q.val() != Mode::Idle;
        self.code.next = self.mode.q.val().into();
        match self.mode.q.val() {
            Mode::Idle => {
                if self.go.val() {
                    self.mode.d.next = Mode::Fill;
                }
            }
            Mode::Fill => {
                self.count.d.next = self.count.q.val() + 1;
                if self.count.q.val().all() {
                    self.mode.d.next = self.held.q.val().mode;
                }
            }
            Mode::Drain => self.mode.d.next = Mode::Idle,
        }
        match self.index.val().index() {
            0 => self.by_number.next = self.select.val(),
            2 => self.by_number.next = !self.select.val(),
            _ => self.by_number.next = 0x55.into(),
        }
        match self.go.val() {
            true => self.by_bit.next = self.index.val(),
            false => self.by_bit.next = 2.into(),
        }
        if self.reset.val() {
            self.mode.d.next = Mode::Idle;
            self.count.d.next = 0.into();
        }
        self.upcoming.next = self.mode.d.val() == Mode::Fill;
    }
}

// ---- interfaces

#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "StreamOut"]
struct StreamIn<const W: usize> {
    pub tdata: Signal<In, Bits<W>>,
    pub tvalid: Signal<In, Bit>,
    pub tready: Signal<Out, Bit>,
}

#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "StreamIn"]
struct StreamOut<const W: usize> {
    pub tdata: Signal<Out, Bits<W>>,
    pub tvalid: Signal<Out, Bit>,
    pub tready: Signal<In, Bit>,
}

#[derive(LogicBlock, Default)]
struct Stage<const W: usize> {
    pub clock: Signal<In, Clock>,
    pub s_axis: StreamIn<W>,
    pub m_axis: StreamOut<W>,
    data: Dff<Bits<W>>,
    full: Dff<Bit>,
    go: Signal<Local, Bit>,
}

impl<const W: usize> Logic for Stage<W> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, data, full);
        self.go.next = !self.full.q.val() | self.m_axis.tready.val();
        self.s_axis.tready.next = self.go.val();
        self.m_axis.tdata.next = self.data.q.val();
        self.m_axis.tvalid.next = self.full.q.val();
        if self.go.val() {
            self.data.d.next = !self.s_axis.tdata.val();
            self.full.d.next = self.s_axis.tvalid.val();
        }
    }
}

#[derive(LogicBlock, Default)]
struct Pipeline<const W: usize> {
    pub clock: Signal<In, Clock>,
    pub s_axis: StreamIn<W>,
    pub m_axis: StreamOut<W>,
    pub middle: Signal<Out, Bits<8>>,
    first: Stage<W>,
    others: [Stage<W>; 2],
}

impl<const W: usize> Logic for Pipeline<W> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, first);
        for i in 0..2 {
            self.others[i].clock.next = self.clock.val();
        }
        StreamIn::<W>::link(&mut self.s_axis, &mut self.first.s_axis);
        StreamOut::<W>::join(&mut self.first.m_axis, &mut self.others[0].s_axis);
        StreamOut::<W>::join(&mut self.others[0].m_axis, &mut self.others[1].s_axis);
        StreamOut::<W>::link(&mut self.m_axis, &mut self.others[1].m_axis);
        self.middle.next = self.others[0].m_axis.tdata.val().get_bits::<8>(0);
    }
}

// ---- the runs

fn ok<T>(result: Result<T, LockstepError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn values() {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut bench = ok(Lockstep::new(
        "values",
        Box::new(Values::new()),
        |b, level| {
            b.clock.next = level.into();
        },
    ));
    for _ in 0..CYCLES {
        bench.block.a.next = bits(&mut rng);
        bench.block.b.next = bits(&mut rng);
        bench.block.wide.next = bits(&mut rng);
        bench.block.at.next = bits(&mut rng);
        bench.block.lane.next = bits(&mut rng);
        bench.block.flag.next = rng.bool();
        bench.block.one.next = bits(&mut rng);
        ok(bench.settle());
        ok(bench.edge());
    }
    assert_eq!(bench.compared(), 2 * CYCLES * 22);
}

#[test]
fn registers() {
    let mut rng = fastrand::Rng::with_seed(12);
    let block = Box::new(Registers::<5>::default());
    let mut bench = ok(Lockstep::new("registers", block, |b, level| {
        b.clock.next = level.into()
    }));
    for cycle in 0..CYCLES {
        let modes = [Mode::Idle, Mode::Fill, Mode::Drain];
        bench.block.reset.next = cycle < 2 || chance(&mut rng, 1);
        bench.block.select.next = u64::from(rng.u8(0..15)).into();
        bench.block.header.next = Header {
            length: bits(&mut rng),
            last: rng.bool(),
            mode: modes[rng.usize(0..3)],
            marks: u64::from(rng.u8(0..6)).into(),
        };
        bench.block.go.next = chance(&mut rng, 30);
        bench.block.index.next = bits(&mut rng);
        ok(bench.settle());
        ok(bench.edge());
    }
}

fn pipeline<const W: usize>() {
    let mut rng = fastrand::Rng::with_seed(13);
    let block = Box::new(Pipeline::<W>::default());
    let mut bench = ok(Lockstep::new("pipeline", block, |b, level| {
        b.clock.next = level.into()
    }));
    let (mut sent, mut received) = (vec![], vec![]);
    for _ in 0..CYCLES {
        let data: Bits<W> = bits(&mut rng);
        let (took, gave) = ok(bench.cycle(
            |b| {
                b.s_axis.tdata.next = data;
                b.s_axis.tvalid.next = chance(&mut rng, 60);
                b.m_axis.tready.next = chance(&mut rng, 60);
            },
            |b| {
                (
                    b.s_axis.tvalid.val() & b.s_axis.tready.val(),
                    (b.m_axis.tvalid.val() & b.m_axis.tready.val()).then(|| b.m_axis.tdata.val()),
                )
            },
        ));
        sent.extend(took.then_some(!data));
        received.extend(gave);
    }
    assert!(received.len() > CYCLES as usize / 4 && sent.starts_with(&received));
}

#[test]
fn pipeline_of_64_bits() {
    pipeline::<64>();
}

#[test]
fn pipeline_of_512_bits() {
    pipeline::<512>();
}

#[test]
fn equal_modules_are_written_once_and_the_same_each_time() {
    let design = writer::write(&Pipeline::<64>::default(), "pipeline").unwrap();
    let names: Vec<&str> = design
        .modules
        .iter()
        .map(|module| module.name.as_str())
        .collect();
    assert_eq!(names, ["pipeline_first", "pipeline"]);
    assert_eq!(
        design,
        writer::write(&Pipeline::<64>::default(), "pipeline").unwrap()
    );
    assert!(
        design.modules[0]
            .text
            .starts_with("// Instance: first and 2 more\n")
    );
    let files: Vec<String> = design.files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(files, ["pipeline_first.sv", "pipeline.sv", "pipeline.f"]);
}

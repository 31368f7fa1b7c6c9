//! `#[derive(Block)]`: what it builds and what it clocks, in rust-hdl's simulator and in the text.

use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Dff, Problem, code, write};

/// `step` a cycle up to `most`, in lanes.
#[derive(Block)]
#[block(most: u64)]
struct Lanes<const N: usize> {
    clk: Signal<In, Clock>,
    enable: Signal<In, Bit>,
    sums: [Signal<Out, Bits<8>>; N],
    value: [Dff<Bits<8>>; N],
    /// Its clock has another name.
    last: Last,
    at_most: [Signal<Local, Bit>; N],
    #[constant(most)]
    most: Constant<Bits<8>>,
    #[constant(|lane| lane + 1)]
    step: [Constant<Bits<8>>; N],
    #[value(most as usize)]
    _most: usize,
}

impl<const N: usize> Logic for Lanes<N> {
    #[hdl_gen]
    fn update(&mut self) {
        for lane in 0..N {
            self.at_most[lane].next = self.value[lane].q.val() >= self.most.val();
            if self.enable.val() & !self.at_most[lane].val() {
                self.value[lane].d.next = self.value[lane].q.val() + self.step[lane].val();
            }
            self.sums[lane].next = self.value[lane].q.val();
        }
        self.last.enable.next = self.enable.val();
        self.sums[0].next = self.value[0].q.val() + bit_cast::<8, 1>(self.last.was.val().into());
    }
}

/// A combinational part is left alone.
#[derive(Block)]
#[block(default)]
struct Inverter {
    i: Signal<In, Bit>,
    o: Signal<Out, Bit>,
}

impl Logic for Inverter {
    #[hdl_gen]
    fn update(&mut self) {
        self.o.next = !self.i.val();
    }
}

#[derive(Block)]
#[block(default)]
struct Last {
    clock: Signal<In, Clock>,
    enable: Signal<In, Bit>,
    was: Signal<Out, Bit>,
    held: Dff<Bit>,
    inverter: Inverter,
}

impl Logic for Last {
    #[hdl_gen]
    fn update(&mut self) {
        self.inverter.i.next = self.enable.val();
        self.held.d.next = !self.inverter.o.val();
        self.was.next = self.held.q.val();
    }
}

fn cycle<const N: usize>(lanes: &mut Lanes<N>) {
    for level in [false, true] {
        lanes.clk.next = level.into();
        assert!(simulate(lanes, 20), "it settles");
    }
}

fn sums<const N: usize>(lanes: &Lanes<N>) -> Vec<usize> {
    lanes.sums.iter().map(|sum| sum.val().index()).collect()
}

#[test]
fn a_register_holds_and_is_clocked_without_being_named() {
    let mut lanes = Lanes::<3>::assemble(4);
    lanes.connect_all();
    assert_eq!(lanes._most, 4);
    lanes.enable.next = true;
    cycle(&mut lanes);
    assert_eq!(sums(&lanes), [1 + 1, 2, 3]);
    cycle(&mut lanes);
    assert_eq!(sums(&lanes), [2 + 1, 4, 6]);
    lanes.enable.next = false;
    cycle(&mut lanes);
    cycle(&mut lanes);
    assert_eq!(sums(&lanes), [2, 4, 6], "they hold");
}

#[test]
fn the_text_has_the_same_clocks_and_defaults() {
    let text = code(&write(&Lanes::<2>::assemble(4), "lanes").unwrap().text());
    for line in [
        "value_0_d = value_0_q;",
        "value_1_d = value_1_q;",
        "always @(posedge clk) begin",
        "value_1_q <= value_1_d;",
        ".clock  (clk),",
        "localparam logic [7:0] most = 8'h4;",
        "localparam logic [7:0] step_1 = 8'h2;",
        "always @(posedge clock) begin",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn rust_hdl_finds_no_input_without_a_driver() {
    let mut lanes = Lanes::<2>::assemble(4);
    lanes.clk.connect();
    lanes.enable.connect();
    lanes.connect_all();
    check_all(&lanes).unwrap();
    let mut foreign = Foreign::default();
    foreign.clock.connect();
    foreign.a.connect();
    foreign.connect_all();
    assert!(check_all(&foreign).is_err(), "its register has no clock");
}

// ---- the example of the README

/// A watchdog for `N` channels: `late[i]` when channel `i` was not fed for `period` cycles.
#[derive(Block)]
#[block(period: u64)]
struct Watchdog<const N: usize> {
    clock: Signal<In, Clock>,
    fed: Signal<In, Bits<8>>,
    late: [Signal<Out, Bit>; N],
    #[value(Synchronizer::new(2))]
    synchronizer: Synchronizer<Bits<8>>,
    left: [Dff<Bits<32>>; N],
    #[constant(period)]
    period: Constant<Bits<32>>,
    #[constant(|i| 1 << i)]
    channel: [Constant<Bits<8>>; N],
}

impl<const N: usize> Watchdog<N> {
    fn new(period: u64) -> Self {
        assert!(N <= 8, "{N} channels: give up to 8");
        Self::assemble(period)
    }
}

impl<const N: usize> Logic for Watchdog<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.synchronizer.d.next = self.fed.val();
        for i in 0..N {
            if self.left[i].q.val().any() {
                self.left[i].d.next = self.left[i].q.val() - 1;
            }
            if (self.synchronizer.q.val() & self.channel[i].val()).any() {
                self.left[i].d.next = self.period.val();
            }
            self.late[i].next = !self.left[i].q.val().any();
        }
    }
}

/// Some cycles late.
#[derive(Block)]
#[block(cycles: usize)]
struct Synchronizer<T: Synth> {
    clock: Signal<In, Clock>,
    d: Signal<In, T>,
    q: Signal<Out, T>,
    #[value(vec![T::default(); cycles])]
    _stages: Vec<T>,
}

impl<T: Synth> Synchronizer<T> {
    fn new(cycles: usize) -> Self {
        Self::assemble(cycles)
    }
}

impl<T: Synth> Logic for Synchronizer<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self._stages.rotate_right(1);
            self._stages[0] = self.d.val();
            self.q.next = self._stages[self._stages.len() - 1];
        }
    }
    fn connect(&mut self) {
        self.q.connect();
    }
    fn hdl(&self) -> Verilog {
        let (stages, top) = (self._stages.len() - 1, T::BITS - 1);
        let mut text =
            format!("reg [{top}:0] stage_0 = 0;\nalways @(posedge clock) stage_0 <= d;\n");
        for stage in 1..stages {
            let before = stage - 1;
            text += &format!(
                "reg [{top}:0] stage_{stage} = 0;\nalways @(posedge clock) stage_{stage} <= stage_{before};\n"
            );
        }
        Verilog::Custom(format!(
            "{text}initial q = 0;\nalways @(posedge clock) q <= stage_{};",
            stages - 1
        ))
    }
}

#[test]
fn the_example_of_the_readme_works() {
    let mut watchdog = Watchdog::<2>::new(3);
    watchdog.connect_all();
    let mut late = vec![];
    for cycle in 0..7 {
        watchdog.fed.next = u64::from(cycle == 0).into();
        for level in [false, true] {
            watchdog.clock.next = level.into();
            assert!(simulate(&mut watchdog, 20));
        }
        late.push(
            watchdog
                .late
                .iter()
                .map(|late| late.val())
                .collect::<Vec<_>>(),
        );
    }
    let zero: Vec<bool> = late.iter().map(|late| late[0]).collect();
    assert_eq!(zero, [true, true, false, false, false, true, true]);
    assert!(late.iter().all(|late| late[1]), "never fed");
    let text = code(&write(&watchdog, "watchdog").unwrap().text());
    assert!(text.contains("left_1_d = left_1_q;"), "{text}");
    assert!(text.contains("period = 32'h3;"), "{text}");
}

/// Two clocks: the derive hands on neither.
#[derive(Block)]
#[block(default)]
struct TwoClocks {
    fast: Signal<In, Clock>,
    slow: Signal<In, Clock>,
    a: Signal<In, Bit>,
    o: Signal<Out, Bit>,
    r: Dff<Bit>,
}

impl Logic for TwoClocks {
    #[hdl_gen]
    fn update(&mut self) {
        self.r.d.next = self.a.val();
        self.o.next = self.r.q.val();
    }
}

/// The kernel says which one is whose.
#[derive(Block)]
#[block(default)]
struct Chosen {
    fast: Signal<In, Clock>,
    slow: Signal<In, Clock>,
    a: Signal<In, Bit>,
    o: Signal<Out, Bit>,
    r: Dff<Bit>,
}

impl Logic for Chosen {
    #[hdl_gen]
    fn update(&mut self) {
        self.r.clock.next = self.slow.val();
        self.r.d.next = self.a.val();
        self.o.next = self.r.q.val();
    }
}

/// rust-hdl's own derive: nothing is clocked in simulation, so nothing is in the text.
#[derive(LogicBlock, Default)]
struct Foreign {
    clock: Signal<In, Clock>,
    a: Signal<In, Bit>,
    o: Signal<Out, Bit>,
    r: Dff<Bit>,
}

impl Logic for Foreign {
    #[hdl_gen]
    fn update(&mut self) {
        self.r.d.next = self.a.val();
        self.o.next = self.r.q.val();
    }
}

/// The same block below one with our derive.
#[derive(Block)]
#[block(default)]
struct OwnerOfForeign {
    clock: Signal<In, Clock>,
    a: Signal<In, Bit>,
    o: Signal<Out, Bit>,
    foreign: ForeignWire,
}

impl Logic for OwnerOfForeign {
    #[hdl_gen]
    fn update(&mut self) {
        self.foreign.a.next = self.a.val();
        self.o.next = self.foreign.o.val();
    }
}

#[derive(LogicBlock, Default)]
struct ForeignWire {
    clock: Signal<In, Clock>,
    a: Signal<In, Bit>,
    o: Signal<Out, Bit>,
}

impl Logic for ForeignWire {
    #[hdl_gen]
    fn update(&mut self) {
        self.o.next = self.a.val();
    }
}

#[test]
fn a_clock_is_never_guessed() {
    let problem = |error: warpline_sv_writer::WriteError| error.problem;
    let no_clock = |name: &str| Some(Problem::NoClock(name.into()));
    let refused = |block: &dyn Fn() -> Result<_, _>| block().map_err(problem).err();
    assert_eq!(
        refused(&|| write(&TwoClocks::default(), "top")),
        no_clock("r_clock")
    );
    assert_eq!(
        refused(&|| write(&Foreign::default(), "top")),
        no_clock("r_clock")
    );
    assert_eq!(
        refused(&|| write(&OwnerOfForeign::default(), "top")),
        no_clock("foreign_clock")
    );
    let text = code(&write(&Chosen::default(), "top").unwrap().text());
    assert!(text.contains("always @(posedge slow) begin"), "{text}");
}

/// A register that the kernel clocks by another clock than the derive does.
#[derive(Block)]
#[block(default)]
struct Overridden {
    clock: Signal<In, Clock>,
    a: Signal<In, Bit>,
    o: Signal<Out, Bit>,
    divider: Divider,
    r: Dff<Bit>,
}

impl Logic for Overridden {
    #[hdl_gen]
    fn update(&mut self) {
        self.r.clock.next = self.divider.slow.val();
        self.r.d.next = self.a.val();
        self.o.next = self.r.q.val();
    }
}

/// Half the rate.
#[derive(Block)]
#[block(default)]
struct Divider {
    clock: Signal<In, Clock>,
    slow: Signal<Out, Clock>,
    _high: bool,
}

impl Logic for Divider {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self._high = !self._high;
            self.slow.next = self._high.into();
        }
    }
    fn connect(&mut self) {
        self.slow.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom("initial slow = 0;\nalways @(posedge clock) slow <= ~slow;".into())
    }
}

#[test]
fn what_the_kernel_assigns_wins() {
    let text = code(&write(&Overridden::default(), "top").unwrap().text());
    assert!(
        text.contains("always @(posedge divider_slow) begin"),
        "{text}"
    );
    assert!(text.contains(".clock (clock),"), "{text}");
    let mut block = Overridden::default();
    block.connect_all();
    block.a.next = true;
    let seen = (0..2).map(|_| {
        block.clock.next = true.into();
        assert!(simulate(&mut block, 20));
        let seen = block.o.val();
        block.clock.next = false.into();
        assert!(simulate(&mut block, 20));
        seen
    });
    assert_eq!(seen.collect::<Vec<_>>(), [true, true]);
}

//! What the writer refuses, each with a message that names the place; and that the checks of the harness can fail.

use rust_hdl_core::ast::{
    VerilogBlockOrConditional, VerilogCase, VerilogConditional, VerilogExpression as Ast,
    VerilogMatch, VerilogOp, VerilogOpUnary, VerilogStatement as Statement,
};
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;
use support::{Atomic, Kernel};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Faults, Problem, write, write_with_faults};
use warpline_testbenches::lockstep::{Lockstep, LockstepError, When, on_large_stack};
use warpline_testbenches::stimulus;

mod support;

// ---- hand-made kernels: inputs a, b (8 bits), p (1), s (3); local l (8); outputs o (8), q (1); constant c = 5 (3 bits)

fn signal(name: &str) -> Ast {
    Ast::Signal(name.into())
}

fn number(value: u64) -> Ast {
    Ast::Literal(value.into())
}

fn binary(left: Ast, op: VerilogOp, right: Ast) -> Ast {
    Ast::Binary(Box::new(left), op, Box::new(right))
}

fn assign(name: &str, value: Ast) -> Statement {
    Statement::Assignment(signal(&format!("{name}$next")), value)
}

fn when(test: Ast, then: Vec<Statement>) -> Statement {
    Statement::If(VerilogConditional {
        test,
        then,
        otherwise: VerilogBlockOrConditional::None,
    })
}

/// The kernel with `l`, `o` and `q` assigned first and `more` after that.
fn kernel(more: Vec<Statement>) -> Kernel {
    let atom = |(name, kind, width)| Atomic::new(name, kind, width);
    let mut atoms: Vec<Atomic> = [
        ("a", AtomKind::InputParameter, 8),
        ("b", AtomKind::InputParameter, 8),
        ("p", AtomKind::InputParameter, 1),
        ("s", AtomKind::InputParameter, 3),
        ("l", AtomKind::LocalSignal, 8),
        ("o", AtomKind::OutputParameter, 8),
        ("q", AtomKind::OutputParameter, 1),
        ("c", AtomKind::Constant, 3),
    ]
    .map(atom)
    .into();
    atoms[7].value = 5;
    let mut statements = vec![
        assign("l", signal("a")),
        assign("o", signal("b")),
        assign("q", signal("p")),
    ];
    statements.extend(more);
    Kernel { atoms, statements }
}

#[track_caller]
fn refused(kernel: &Kernel) -> Problem {
    let error = write(kernel, "top").expect_err("the writer refuses this");
    assert_eq!(error.module, "top");
    error.problem
}

#[track_caller]
fn value_refused(value: Ast) -> Problem {
    refused(&kernel(vec![assign("o", value)]))
}

#[test]
fn unknown_names() {
    let unknown = |name: &str| Problem::UnknownName(name.into());
    assert_eq!(value_refused(signal("W")), unknown("W"));
    assert_eq!(value_refused(signal("Self$WIDTH")), unknown("Self.WIDTH"));
    assert_eq!(
        value_refused(signal("a$val()$x$y")),
        Problem::NestedField("a.val().x.y".into())
    );
    assert_eq!(
        value_refused(signal("x[N-1]")),
        Problem::ArrayIndex("x[N-1]".into())
    );
    assert_eq!(
        value_refused(signal("x[s$val()]")),
        Problem::ArrayIndex("x[s.val()]".into())
    );
    let message = write(&kernel(vec![assign("o", signal("W"))]), "top")
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "top: unknown name `W` (a const generic or Rust constant inside hdl_gen? use a Constant field)"
    );
}

#[test]
fn names_that_systemverilog_does_not_have() {
    for name in ["tagged", "small", "bit", "global"] {
        let mut block = kernel(vec![]);
        block
            .atoms
            .push(Atomic::new(name, AtomKind::InputParameter, 1));
        assert_eq!(refused(&block), Problem::Keyword(name.into()));
    }
    let mut block = kernel(vec![]);
    block
        .atoms
        .push(Atomic::new("grüße", AtomKind::InputParameter, 1));
    assert_eq!(refused(&block), Problem::BadName("grüße".into()));
    let mut block = kernel(vec![]);
    block.atoms.push(Atomic::new("a", AtomKind::LocalSignal, 1));
    assert_eq!(refused(&block), Problem::NameTaken("a".into()));
    let mut block = kernel(vec![]);
    block
        .atoms
        .push(Atomic::new("unused_ok", AtomKind::InputParameter, 1));
    assert_eq!(refused(&block), Problem::NameTaken("unused_ok".into()));
    assert_eq!(
        write(&kernel(vec![]), "module").unwrap_err().problem,
        Problem::Keyword("module".into())
    );
}

#[test]
fn widths() {
    let mismatch = |place: &str, left, right| Problem::WidthMismatch {
        place: place.into(),
        left,
        right,
    };
    assert_eq!(value_refused(signal("s")), mismatch("o", 8, 3));
    let sum = binary(signal("a"), VerilogOp::Sub, signal("s"));
    assert_eq!(value_refused(sum), mismatch("-", 8, 3));
    let both = binary(signal("a"), VerilogOp::LogicalAnd, signal("b"));
    assert_eq!(
        refused(&kernel(vec![assign("q", both)])),
        mismatch("&&", 1, 8)
    );
    assert_eq!(
        refused(&kernel(vec![when(signal("a"), vec![])])),
        mismatch("if", 1, 8)
    );
    let does_not_fit = |value: &str, bits| Problem::DoesNotFit {
        value: value.into(),
        bits,
    };
    assert_eq!(value_refused(number(256)), does_not_fit("256", 8));
    let below = binary(number(1), VerilogOp::Sub, number(2));
    assert_eq!(value_refused(below), does_not_fit("-1", 8));
    let any = Ast::Unary(VerilogOpUnary::Any, Box::new(number(3)));
    assert_eq!(
        refused(&kernel(vec![assign("q", any)])),
        Problem::WidthUnknown("3".into())
    );
}

#[test]
fn slices() {
    let slice = |width, at| Ast::Slice(Box::new(signal("a")), width, Box::new(at));
    let out = |high, low| Problem::OutOfRange {
        name: "a".into(),
        high,
        low,
        width: 8,
    };
    assert_eq!(value_refused(slice(8, number(1))), out(8, 1));
    assert_eq!(
        value_refused(Ast::Cast(Box::new(slice(4, signal("c"))), 8)),
        out(8, 5)
    );
    let bit = Ast::Index(Box::new(signal("a")), Box::new(number(8)));
    assert_eq!(refused(&kernel(vec![assign("q", bit)])), out(8, 8));
    let bit = Ast::IndexReplace(
        Box::new(signal("a")),
        Box::new(number(9)),
        Box::new(signal("p")),
    );
    assert_eq!(value_refused(bit), out(9, 9));
    let moving = slice(1, binary(signal("s"), VerilogOp::Add, number(1)));
    assert_eq!(
        refused(&kernel(vec![assign("q", moving)])),
        Problem::IndexArithmetic("a".into())
    );
}

#[test]
fn operators() {
    let product = binary(signal("a"), VerilogOp::Mul, signal("b"));
    assert_eq!(value_refused(product), Problem::Operator("*"));
    let negative = Ast::Unary(VerilogOpUnary::Neg, Box::new(signal("a")));
    assert_eq!(value_refused(negative), Problem::Operator("unary -"));
    assert_eq!(
        value_refused(Ast::Signed(Box::new(signal("a")))),
        Problem::Signed("an expression".into())
    );
}

#[test]
fn latches() {
    let latch = |name: &str, bits: &str| Problem::Latch {
        name: name.into(),
        bits: bits.into(),
    };
    let without = |kept: usize, more: Vec<Statement>| {
        let mut kernel = kernel(more);
        kernel.statements.drain(..kept);
        refused(&kernel)
    };
    // o is assigned under a condition only
    let some = || {
        vec![
            assign("q", signal("p")),
            when(signal("p"), vec![assign("o", signal("a"))]),
        ]
    };
    let mut block = kernel(some());
    block.statements.remove(1);
    assert_eq!(refused(&block), latch("o", "it"));
    // in some arms only
    let case = |name: &str, block| VerilogCase {
        condition: name.into(),
        block,
    };
    let arms = Statement::Match(VerilogMatch {
        test: signal("s"),
        cases: vec![
            case("3", vec![assign("o", signal("a"))]),
            case("default", vec![]),
        ],
    });
    let mut block = kernel(vec![arms]);
    block.statements.remove(1);
    assert_eq!(refused(&block), latch("o", "it"));
    // only some of its bits
    let field = Statement::SliceAssignment {
        base: signal("o"),
        width: 3,
        offset: number(2),
        replacement: signal("s"),
    };
    let mut block = kernel(vec![field]);
    block.statements.remove(1);
    assert_eq!(refused(&block), latch("o", "its bits 7:5, 1:0"));
    // not at all
    assert_eq!(without(3, vec![]), latch("l", "it"));
}

#[test]
fn order() {
    let early = vec![assign("o", signal("l")), assign("l", signal("a"))];
    let mut block = kernel(early);
    block.statements.drain(..2);
    assert_eq!(refused(&block), Problem::ReadBeforeAssigned("l".into()));
    let not_exhaustive = Statement::Match(VerilogMatch {
        test: signal("s"),
        cases: vec![VerilogCase {
            condition: "1".into(),
            block: vec![],
        }],
    });
    assert_eq!(
        refused(&kernel(vec![not_exhaustive])),
        Problem::NotExhaustive("s".into())
    );
    assert_eq!(
        refused(&kernel(vec![assign("a", signal("b"))])),
        Problem::NotAssignable("a".into())
    );
    assert_eq!(
        refused(&kernel(vec![assign("c", number(1))])),
        Problem::NotAssignable("c".into())
    );
}

// ---- compiled blocks

#[derive(LogicBlock, Default)]
struct UsesConstGeneric<const W: usize> {
    pub a: Signal<In, Bits<W>>,
    pub o: Signal<Out, Bit>,
}

impl<const W: usize> Logic for UsesConstGeneric<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.o.next = self.a.val().get_bit(W - 1);
    }
}

#[derive(LogicBlock, Default)]
struct Feedback {
    pub clock: Signal<In, Clock>,
    pub a: Signal<In, Bit>,
    pub o: Signal<Out, Bit>,
    r: Dff<Bit>,
}

impl Logic for Feedback {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, r);
        self.o.next = self.r.d.val();
        self.r.d.next = self.a.val();
    }
}

#[derive(LogicBlock, Default)]
struct NoClock {
    pub a: Signal<In, Bit>,
    pub o: Signal<Out, Bit>,
    r: Dff<Bit>,
}

impl Logic for NoClock {
    #[hdl_gen]
    fn update(&mut self) {
        self.r.d.next = self.a.val();
        self.o.next = self.r.q.val();
    }
}

#[derive(LogicBlock, Default)]
struct Number {
    pub a: Signal<In, Signed<8>>,
    pub o: Signal<Out, Signed<8>>,
}

impl Logic for Number {
    #[hdl_gen]
    fn update(&mut self) {
        self.o.next = self.a.val();
    }
}

#[derive(LogicBlock, Default)]
struct Bidirectional {
    pub pad: Signal<InOut, Bit>,
    pub o: Signal<Out, Bit>,
}

impl Logic for Bidirectional {
    #[hdl_gen]
    fn update(&mut self) {
        self.o.next = self.pad.val();
    }
}

#[derive(LogicBlock, Default)]
struct Silent {
    pub o: Signal<Out, Bit>,
}

impl Logic for Silent {
    fn update(&mut self) {}
}

#[derive(LogicBlock, Default)]
struct Outer {
    pub o: Signal<Out, Bit>,
    inner: [Silent; 2],
}

impl Logic for Outer {
    #[hdl_gen]
    fn update(&mut self) {
        self.o.next = self.inner[0].o.val();
    }
}

#[test]
fn compiled_blocks() {
    let problem = |error: warpline_sv_writer::WriteError| error.problem;
    assert_eq!(
        write(&UsesConstGeneric::<4>::default(), "top").map_err(problem),
        Err(Problem::UnknownName("W".into()))
    );
    assert_eq!(
        write(&Feedback::default(), "top").map_err(problem),
        Err(Problem::ReadBeforeLastAssignment("r_d".into()))
    );
    assert_eq!(
        write(&NoClock::default(), "top").map_err(problem),
        Err(Problem::NoClock("r_clock".into()))
    );
    assert_eq!(
        write(&Number::default(), "top").map_err(problem),
        Err(Problem::Signed("a".into()))
    );
    assert_eq!(
        write(&Bidirectional::default(), "top").map_err(problem),
        Err(Problem::InOut("pad".into()))
    );
    let error = write(&Outer::default(), "top").unwrap_err();
    assert_eq!(error.module, "inner[0]");
    assert!(matches!(error.problem, Problem::Unsupported(_)));
}

// ---- the harness

#[derive(LogicBlock, Default)]
struct Compare {
    pub clock: Signal<In, Clock>,
    pub a: Signal<In, Bits<100>>,
    pub b: Signal<In, Bits<100>>,
    pub less: Signal<Out, Bit>,
    pub was_less: Signal<Out, Bit>,
    pub sum: Signal<Out, Bits<101>>,
    r: Dff<Bit>,
}

impl Logic for Compare {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, r);
        self.less.next = self.a.val() < self.b.val();
        self.r.d.next = self.a.val() < self.b.val();
        self.was_less.next = self.r.q.val();
        self.sum.next = bit_cast::<101, 100>(self.a.val() + self.b.val());
    }
}

fn run(faults: Faults, text: impl Fn(String) -> String) -> Result<u64, LockstepError> {
    let mut design = write_with_faults(&Compare::default(), "compare", faults)?;
    design.modules[0].text = text(design.modules[0].text.clone());
    let mut bench = Lockstep::with_design(
        "compare",
        Box::default(),
        &design,
        |b: &mut Compare, level| {
            b.clock.next = level.into();
        },
    )?;
    let mut rng = fastrand::Rng::with_seed(5);
    for cycle in 0..200 {
        let a = stimulus::bits(&mut rng);
        bench.block.a.next = a;
        bench.block.b.next = if cycle % 5 == 4 {
            a
        } else {
            stimulus::bits(&mut rng)
        };
        bench.settle()?;
        bench.edge()?;
    }
    Ok(bench.compared())
}

#[test]
fn the_harness_compares_every_output_twice_a_cycle() {
    assert_eq!(run(Faults::default(), |text| text).unwrap(), 200 * 3 * 2);
}

#[test]
fn the_harness_names_the_first_difference() {
    let wrong_compare = Faults {
        wrong_compare: true,
        ..Faults::default()
    };
    match run(wrong_compare, |text| text) {
        Err(LockstepError::Differ {
            cycle: 4,
            when: When::Settled,
            port,
            rust_hdl,
            verilator,
        }) => {
            assert_eq!(
                (port.as_str(), rust_hdl.as_str(), verilator.as_str()),
                ("less", "0x0", "0x1")
            );
        }
        other => panic!("{other:?}"),
    }
    // a register that is late shows at the edge, a lost top bit in the wide sum
    let late = |text: String| text.replace("@(posedge clock)", "@(negedge clock)");
    match run(Faults::default(), late) {
        Err(LockstepError::Differ { port, .. }) => assert_eq!(port, "was_less"),
        other => panic!("{other:?}"),
    }
    let carry = |text: String| text.replace("{1'b0, a + b}", "101'(a) + 101'(b)");
    match run(Faults::default(), carry) {
        Err(LockstepError::Differ { port, .. }) => assert_eq!(port, "sum"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_harness_refuses_text_with_warnings() {
    let narrow =
        |text: String| text.replace("assign was_less = r_q;", "assign was_less = 2'(r_q);");
    match run(Faults::default(), narrow) {
        Err(LockstepError::Lint { warnings, .. }) => assert_eq!(warnings[0].code, "WIDTHTRUNC"),
        other => panic!("{other:?}"),
    }
}

#[derive(LogicBlock, Default)]
struct Oscillator {
    pub o: Signal<Out, Bit>,
}

impl Logic for Oscillator {
    fn update(&mut self) {
        self.o.next = !self.o.val();
    }
    fn connect(&mut self) {
        self.o.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom("assign o = 1'b0;".into())
    }
}

#[test]
fn the_harness_notices_what_never_settles() {
    let mut bench = Lockstep::new("oscillator", Box::<Oscillator>::default(), |_, _| ()).unwrap();
    assert!(matches!(
        bench.settle(),
        Err(LockstepError::NotSettling { cycle: 0 })
    ));
}

#[test]
fn a_large_stack_holds_what_the_usual_does_not() {
    let sum = on_large_stack(|| {
        let numbers = std::hint::black_box([1u8; 64 << 20]);
        numbers.iter().map(|n| u64::from(*n)).sum::<u64>()
    });
    assert_eq!(sum, 64 << 20);
}

//! Why a block cannot be written.

use thiserror::Error;

/// A block that the writer refuses, with the module's instance path and the offending name or value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{module}: {problem}")]
pub struct WriteError {
    /// Instance path of the module, for example `rx.crc.step[3]`.
    pub module: String,
    /// What is wrong there.
    pub problem: Problem,
}

/// What the writer refuses. Each message says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// A kernel names something that is no signal, constant, loop variable or enum member of its block.
    #[error(
        "unknown name `{0}` (a const generic or Rust constant inside hdl_gen? use a Constant field)"
    )]
    UnknownName(String),
    /// A field of a field, as in `.val().a.b`.
    #[error("`{0}` reads a nested field; copy the outer field to a Local signal first")]
    NestedField(String),
    /// An index in square brackets that is not made of loop variables and numbers.
    #[error("array index `{0}` must be made of loop variables and numbers only")]
    ArrayIndex(String),
    /// Two signals, constants or instances end up with one name.
    #[error("two things are called `{0}`; rename a field")]
    NameTaken(String),
    /// The name means something else in SystemVerilog.
    #[error("`{0}` is a SystemVerilog keyword; rename the field")]
    Keyword(String),
    /// The name contains something SystemVerilog does not accept in a name.
    #[error("`{0}` is not a SystemVerilog name; rename the field")]
    BadName(String),
    /// Two enums of one name, with members in a different order, meet in one module.
    #[error("enum member `{0}` has two different values here; rename one of the enums")]
    EnumClash(String),
    /// Two records of one name with different fields.
    #[error("two different records are called `{0}`; rename one of the structs")]
    RecordClash(String),
    /// A signal of no bits, such as a `LogicState` with a single state.
    #[error("`{0}` has no bits (a LogicState with one state?)")]
    NoBits(String),
    /// Signed numbers.
    #[error("`{0}` is signed, which the writer does not support; use Bits")]
    Signed(String),
    /// Bidirectional signals.
    #[error("`{0}` is InOut, which the writer does not support; use an In, an Out and an enable")]
    InOut(String),
    /// A block without text, or with a kind of text that the writer does not support.
    #[error("{0}")]
    Unsupported(&'static str),
    /// A number that needs more bits than its place has.
    #[error("{value} does not fit into {bits} bits")]
    DoesNotFit {
        /// The number, decimal.
        value: String,
        /// Bits there are.
        bits: usize,
    },
    /// A number of which the width cannot be told.
    #[error("the width of the number {0} cannot be told; write bits::<N>(…)")]
    WidthUnknown(String),
    /// Two operands, or the sides of an assignment, differ in width.
    #[error("{place}: {left} bits meet {right} bits; use bit_cast")]
    WidthMismatch {
        /// Operator, or name of the assigned signal.
        place: String,
        /// Bits of the left operand or of the target.
        left: usize,
        /// Bits of the right operand or of the value.
        right: usize,
    },
    /// A constant slice or index beyond the top bit.
    #[error("bits {high}:{low} of `{name}`, which has {width} bits")]
    OutOfRange {
        /// The sliced signal or expression.
        name: String,
        /// Highest bit asked for.
        high: usize,
        /// Lowest bit asked for.
        low: usize,
        /// Bits there are.
        width: usize,
    },
    /// Arithmetic in an index. Rust may do it on `usize`, hardware on the width of the signal.
    #[error(
        "arithmetic in an index of `{0}` has no certain width; assign the index to a Local signal first"
    )]
    IndexArithmetic(String),
    /// Operators that `Bits` does not have.
    #[error("operator `{0}` is not supported")]
    Operator(&'static str),
    /// A `match` that neither ends in `_` nor names every value.
    #[error("match on `{0}` does not name every value and has no `_`")]
    NotExhaustive(String),
    /// A signal that keeps its old value on some path through the kernel.
    #[error("`{name}` is not assigned on every path (a latch); give {bits} a default first")]
    Latch {
        /// The signal.
        name: String,
        /// The bits concerned, for example `bits 7:4`.
        bits: String,
    },
    /// A signal read before the kernel has given it a value.
    #[error("`{0}` is read before it is assigned on every path")]
    ReadBeforeAssigned(String),
    /// The input of a sub-block, read before its last assignment. The simulator shows the final value at once.
    #[error(
        "`{0}` is read before its last assignment; use a Local signal for the value in between"
    )]
    ReadBeforeLastAssignment(String),
    /// An input port of the block itself, a constant, or the output of a sub-block is assigned.
    #[error("`{0}` is assigned but not driven by this block")]
    NotAssignable(String),
    /// A clock that is neither passed on whole nor fed from a clock input.
    #[error(
        "clock `{0}` must be assigned once, from a clock input or a sub-block's clock output, and never used as data"
    )]
    Clock(String),
    /// The clock input of a sub-block gets no clock.
    #[error(
        "clock `{0}` is not connected; derive `Block` for the sub-block and for its owner, which hands on its only clock, or assign it in the kernel"
    )]
    NoClock(String),
}

//! Registers of the device's first BAR, as an AXI4-Lite slave of 4 KiB shows them.
//!
//! A command is given by writing its arguments to `ARGUMENT`, then its number to `COMMAND`; it is done when
//! `COMMAND.BUSY` reads 0, and was refused when `COMMAND.FAILED` reads 1. While a command runs, the device ignores
//! writes to both: the running command is not disturbed, and the other one is not remembered.
//!
//! All registers are 32 bits wide; the low two bits of an address do not count, octet strobes do. Addresses without a
//! register, elements of streams that the device does not have, and bits outside of a register's fields read 0 and ignore
//! writes. A register that is only written takes effect when all octets of its fields are written at once; in one whose
//! bits are cleared by 1, an octet that is not written clears nothing.

use crate::layout::error_record;
use crate::{Field, Layout, Value};

/// What the host may do with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only; writes are ignored.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
    /// Writes only; reads 0. A write takes effect with all octets of the register's fields, and is ignored otherwise.
    WriteOnly,
    /// Reads; writing 1 to a bit clears it, writing 0 leaves it.
    WriteOneToClear,
}

/// A register, or an array of them.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Name as the documentation shows it.
    pub name: &'static str,
    /// Octet offset of the first register in the BAR.
    pub offset: u32,
    /// Number of elements, 1 for a single register.
    pub count: u32,
    /// Distance of two elements in octets.
    pub stride: u32,
    /// Access of the host.
    pub access: Access,
    /// What it reads after reset; `None` where that is a matter of the device's configuration.
    pub reset: Option<u32>,
    /// Fields, where the register is not one plain number. An element of more than one word has its fields in all of them.
    pub fields: &'static [Field],
    /// Those of `fields` that the host only reads, in a register that it writes.
    pub status: &'static [Field],
    /// What the register is for.
    pub doc: &'static str,
}

impl Register {
    /// Offset of element `index` of an array.
    #[must_use]
    pub const fn at(&self, index: u32) -> u32 {
        self.offset + index * self.stride
    }

    /// Words of an element: as many as its fields take.
    #[must_use]
    pub const fn words(&self) -> u32 {
        let (mut words, mut index) = (1, 0);
        while index < self.fields.len() {
            let field = &self.fields[index];
            let end = (field.lsb + field.width).div_ceil(32) as u32;
            if end > words {
                words = end;
            }
            index += 1;
        }
        words
    }

    /// Bits of an element's first word that mean something: those of its fields, all of a plain number.
    #[must_use]
    pub const fn mask(&self) -> u32 {
        if self.fields.is_empty() {
            return u32::MAX;
        }
        let (mut mask, mut index) = (0, 0);
        while index < self.fields.len() {
            let field = &self.fields[index];
            if field.lsb < 32 {
                mask |= (field.max() << field.lsb) as u32;
            }
            index += 1;
        }
        mask
    }

    /// Bits of an element's first word that the host writes: none where the register is only read.
    #[must_use]
    pub const fn writable(&self) -> u32 {
        if matches!(self.access, Access::ReadOnly) {
            return 0;
        }
        let (mut mask, mut index) = (self.mask(), 0);
        while index < self.status.len() {
            let field = &self.status[index];
            mask &= !((field.max() << field.lsb) as u32);
            index += 1;
        }
        mask
    }

    /// Octets of an element's first word that its fields lie in, one bit each: the strobes that a write to a register that
    /// is only written needs.
    #[must_use]
    pub const fn octets(&self) -> u8 {
        let (mask, mut octets, mut lane) = (self.mask(), 0, 0);
        while lane < 4 {
            if mask >> (8 * lane) & 0xff != 0 {
                octets |= 1 << lane;
            }
            lane += 1;
        }
        octets
    }
}

/// `SHAPE`: width of the data path in octets.
pub const SHAPE_WIDTH: Field = field("WIDTH", 0, 16, "width of the data path in octets");
/// `SHAPE`: number of streams.
pub const SHAPE_STREAMS: Field = field("STREAMS", 16, 8, "number of streams");
/// `SHAPE`: number of untagged queues of each stream.
pub const SHAPE_QUEUES: Field = field("QUEUES", 24, 8, "number of untagged queues of each stream");
/// `COMMAND`: number of the command, see [`command`].
pub const COMMAND_NUMBER: Field = field("NUMBER", 0, 8, "number of the command; a write starts it");
/// `COMMAND`: the last command was refused.
pub const COMMAND_FAILED: Field = field("FAILED", 30, 1, "the last command was refused");
/// `COMMAND`: the last command is not done yet.
pub const COMMAND_BUSY: Field = field("BUSY", 31, 1, "the last command is not done yet");

/// `INTERRUPT_*`: vector 0, see [`interrupt::COMPLETION`].
pub const INTERRUPT_COMPLETION: Field = field(
    "COMPLETION",
    0,
    1,
    "the completion queue has entries that the host asked to be told of",
);
/// `INTERRUPT_*`: vector 1, see [`interrupt::FAULT`].
pub const INTERRUPT_FAULT: Field = field(
    "FAULT",
    1,
    1,
    "the bus refused a completion entry: the completion queue cannot be trusted any more",
);
/// `INTERRUPT_HOLDOFF`: cycles.
pub const HOLDOFF_CYCLES: Field = field(
    "CYCLES",
    0,
    24,
    "cycles from one COMPLETION message to the next",
);
/// `RECEIVE_PRODUCER`: descriptors.
pub const RECEIVE_PRODUCER_COUNT: Field = field(
    "COUNT",
    0,
    16,
    "descriptors that the host has written since `SET_RECEIVE_RING`, modulo 2^16",
);

const fn field(name: &'static str, lsb: usize, width: usize, doc: &'static str) -> Field {
    Field {
        name,
        lsb,
        width,
        doc,
    }
}

/// The first where nothing else is said.
macro_rules! or {
    ($usual:expr) => {
        $usual
    };
    ($usual:expr, $value:expr) => {
        $value
    };
}

macro_rules! registers {
    ($( $(#[doc = $doc:literal])+ $name:ident: $offset:literal [$count:literal x $stride:literal] $access:ident $fields:expr $(, reset $reset:expr)? $(, status $status:expr)?; )+) => {
        $(
            $(#[doc = $doc])+
            pub const $name: Register = Register {
                name: stringify!($name), offset: $offset, count: $count, stride: $stride,
                access: Access::$access, reset: or!(Some(0) $(, $reset)?), fields: $fields,
                status: or!(&[] $(, $status)?), doc: concat!($($doc),+),
            };
        )+
        /// All registers, in ascending order of offset.
        pub const REGISTERS: &[Register] = &[$($name),+];
    };
}

/// The slot of an STag, of a table of `slots`, a power of two: what [`STAG_SLOTS`] says (AMB-50).
#[must_use]
pub const fn stag_slot(stag: u32, slots: u32) -> u32 {
    (stag >> 8) & (slots - 1)
}

registers! {
    /// Reads `IDENTITY_VALUE`: "WARP".
    IDENTITY: 0x000 [1 x 4] ReadOnly &[], reset Some(IDENTITY_VALUE);
    /// Reads `VERSION_VALUE`: version of this register map.
    VERSION: 0x004 [1 x 4] ReadOnly &[], reset Some(VERSION_VALUE);
    /// Width, streams and queues of this device.
    SHAPE: 0x008 [1 x 4] ReadOnly &[SHAPE_WIDTH, SHAPE_STREAMS, SHAPE_QUEUES], reset None;
    /// Octets of each stream's assembly ring: the largest TCP window that the device can hold.
    RING_OCTETS: 0x00c [1 x 4] ReadOnly &[], reset None;
    /// Slots of the STag table, a power of two; an STag's slot is `(STag >> 8) mod STAG_SLOTS`.
    STAG_SLOTS: 0x010 [1 x 4] ReadOnly &[], reset None;
    /// Buffers that each untagged queue can hold, a power of two.
    RECEIVE_SLOTS: 0x014 [1 x 4] ReadOnly &[], reset None;
    /// Largest ULPDU_Length that is accepted. An FPDU that is longer than `RING_OCTETS` is refused as `TOO_LARGE`, whatever this says.
    MAX_ULPDU: 0x018 [1 x 4] ReadOnly &[], reset None;
    /// A write to the lowest octet starts the command of that number with the words of `ARGUMENT`; reads give the number of the last command started and tell how it goes. Writes while `BUSY` is 1 are ignored; an unknown number is refused.
    COMMAND: 0x020 [1 x 4] ReadWrite &[COMMAND_NUMBER, COMMAND_FAILED, COMMAND_BUSY], status &[COMMAND_FAILED, COMMAND_BUSY];
    /// Arguments of the next command, laid out as its record says. Writes while `COMMAND.BUSY` is 1 are ignored.
    ARGUMENT: 0x040 [8 x 4] ReadWrite &[];
    /// Bus address of the completion queue, low word; 64-octet aligned.
    COMPLETION_BASE_LOW: 0x080 [1 x 4] ReadWrite &[];
    /// Bus address of the completion queue, high word.
    COMPLETION_BASE_HIGH: 0x084 [1 x 4] ReadWrite &[];
    /// Entries of the completion queue, a power of two up to 65536; 0 = no queue, completions wait. A write, also of the same number, starts the queue anew: `COMPLETION_CONSUMER` and `COMPLETION_PRODUCER` become 0 and the first entry carries phase 1.
    COMPLETION_ENTRIES: 0x088 [1 x 4] ReadWrite &[];
    /// Number of entries that the host has consumed, counted modulo 2^32; the device never overwrites an entry that is not consumed.
    COMPLETION_CONSUMER: 0x08c [1 x 4] ReadWrite &[];
    /// Number of entries that the device has written, counted modulo 2^32.
    COMPLETION_PRODUCER: 0x090 [1 x 4] ReadOnly &[];
    /// Asks for one COMPLETION interrupt. Write the number of entries that the host has consumed: as soon as `COMPLETION_PRODUCER` is another number, at once if it is one already, `INTERRUPT_STATE.COMPLETION` is set, once. A later write replaces an earlier one that has not come true, a write to `COMPLETION_ENTRIES` takes it back.
    COMPLETION_ARM: 0x094 [1 x 4] WriteOnly &[];
    /// Interrupts that have happened. A bit that becomes 1, or happens again, asks for the message of its vector while `INTERRUPT_ENABLE` has it; clearing the bit forgets a message that has not left yet.
    INTERRUPT_STATE: 0x0a0 [1 x 4] WriteOneToClear &[INTERRUPT_COMPLETION, INTERRUPT_FAULT];
    /// Interrupts whose messages are sent. Enabling one that waits sends its message.
    INTERRUPT_ENABLE: 0x0a4 [1 x 4] ReadWrite &[INTERRUPT_COMPLETION, INTERRUPT_FAULT];
    /// Makes the interrupts written as 1 happen.
    INTERRUPT_TEST: 0x0a8 [1 x 4] WriteOnly &[INTERRUPT_COMPLETION, INTERRUPT_FAULT];
    /// Moderation: between two COMPLETION messages lie at least so many cycles; what happens meanwhile shares the next one.
    INTERRUPT_HOLDOFF: 0x0ac [1 x 4] ReadWrite &[HOLDOFF_CYCLES];
    /// Segments taken in, modulo 2^32.
    SEGMENTS: 0x0c0 [1 x 4] ReadOnly &[];
    /// Stream octets accepted for the first time, modulo 2^32.
    OCTETS: 0x0c4 [1 x 4] ReadOnly &[];
    /// Segments of which octets were dropped that are no duplicates: outside the window, or behind one gap too many; modulo 2^32.
    SEGMENTS_DROPPED: 0x0c8 [1 x 4] ReadOnly &[];
    /// FPDUs that left the assembly rings, modulo 2^32.
    FPDUS: 0x0cc [1 x 4] ReadOnly &[];
    /// FPDUs discarded because their stream was frozen, modulo 2^32.
    FPDUS_DISCARDED: 0x0d0 [1 x 4] ReadOnly &[];
    /// Payload octets accepted for placement, modulo 2^32.
    PAYLOAD_OCTETS: 0x0d4 [1 x 4] ReadOnly &[];
    /// Streams that met an error, modulo 2^32.
    ERRORS: 0x0d8 [1 x 4] ReadOnly &[];
    /// Doorbell of an untagged queue's receive ring, element `RECEIVE_PRODUCER_STRIDE * stream + queue`, that is 8 elements a stream. Ignored while the queue has no ring.
    RECEIVE_PRODUCER: 0x200 [128 x 4] WriteOnly &[RECEIVE_PRODUCER_COUNT];
    /// Sequence number behind the last in-order octet of a stream.
    STREAM_EDGE: 0x400 [16 x 16] ReadOnly &[];
    /// Sequence number behind the last octet that the stream's ring has room for; `RING_OCTETS` after reset.
    STREAM_LIMIT: 0x404 [16 x 16] ReadOnly &[], reset None;
    /// Error records, one a stream, laid out as `layout::error_record`.
    ERROR_RECORD: 0x800 [16 x 64] ReadOnly error_record::LAYOUT.fields;
}

/// What `IDENTITY` reads.
pub const IDENTITY_VALUE: u32 = 0x5741_5250;
/// What `VERSION` reads: major number in the high half, minor in the low half.
pub const VERSION_VALUE: u32 = 0x0002_0000;

/// Interrupt vectors: each has a bit of its number in `INTERRUPT_STATE` and a message of its own.
pub mod interrupt {
    /// A completion was written that the host asked for with `COMPLETION_ARM`.
    pub const COMPLETION: usize = 0;
    /// A completion entry could not be written.
    pub const FAULT: usize = 1;
    /// Number of vectors.
    pub const COUNT: usize = 2;
}

/// Elements of `RECEIVE_PRODUCER` for each stream, whatever number of queues the device has.
pub const RECEIVE_PRODUCER_STRIDE: u32 = 8;
/// Size of the register space in octets.
pub const SPACE: u32 = 0x1000;

/// What lies at an octet offset: the register, the element, and the word of the element.
#[must_use]
pub fn locate(offset: u32) -> Option<(&'static Register, u32, u32)> {
    REGISTERS.iter().find_map(|register| {
        let from_first = offset.checked_sub(register.offset)?;
        let (index, word) = (
            from_first / register.stride,
            from_first % register.stride / 4,
        );
        let there = index < register.count && word < register.words();
        there.then_some((register, index, word))
    })
}

/// A command and what it takes.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Name, number and purpose.
    pub value: Value,
    /// Layout of its words in `ARGUMENT`.
    pub arguments: Layout,
}

macro_rules! commands {
    ($( $(#[doc = $doc:literal])+ $name:ident = $number:literal takes $layout:ident; )+) => {
        /// Numbers of the commands.
        pub mod command {
            use super::Command;
            use crate::{Value, layout};
            $(
                $(#[doc = $doc])+
                pub const $name: u32 = $number;
            )+
            /// All commands, in ascending order of number.
            pub const COMMANDS: &[Command] = &[$(
                Command {
                    value: Value { name: stringify!($name), value: $name, doc: concat!($($doc),+) },
                    arguments: layout::$layout::LAYOUT,
                }
            ),+];
        }
    };
}

commands! {
    /// Writes an entry of the STag table.
    WRITE_STAG = 1 takes stag_entry;
    /// Clears an entry and waits until no write validated with it is under way (AMB-42). The wait includes completions in front of it, so the host keeps consuming them.
    REVOKE_STAG = 2 takes revoke;
    /// Starts a stream; refused when there is no such stream or it is armed.
    ARM_STREAM = 3 takes stream_context;
    /// Stops a stream and waits until nothing of it is under way, completions in front of that included; refused when there is no such stream. It can then be armed again.
    CLOSE_STREAM = 4 takes close;
    /// Appends a buffer to an untagged queue that has no ring; refused when the queue is full.
    POST_RECEIVE = 5 takes receive_buffer;
    /// Gives an untagged queue its receive ring, empty; refused when the stream is not armed with that queue, the queue has a ring already, or `receive_ring` does not allow the ring. `CLOSE_STREAM` takes the rings of its stream away.
    SET_RECEIVE_RING = 6 takes receive_ring;
}

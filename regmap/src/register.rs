//! Registers of the device's first BAR: an AXI4-Lite slave of 4 KiB.
//!
//! To start a command, the host writes its arguments to `ARGUMENT`, then its number to `COMMAND`. The command is done when
//! `COMMAND.BUSY` reads 0; it was refused if `COMMAND.FAILED` then reads 1. While a command runs, the device ignores writes
//! to both registers: they neither disturb the running command nor queue another one.
//!
//! All registers are 32 bits wide. The device ignores the low two bits of an address and honours octet strobes. Addresses
//! without a register, elements of streams that the device does not have, and bits outside a register's fields read 0 and
//! ignore writes. A write-only register takes effect when all octets of its fields are written at once. In a register whose
//! bits are cleared by writing 1, an octet whose strobe is low clears nothing.

use crate::layout::error_record;
use crate::{Field, Layout, Value};

/// What the host may do with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only; writes are ignored.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
    /// Writes only; reads 0. A write takes effect if it has all octets of the register's fields, and is ignored otherwise.
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
    /// Octets from one element to the next.
    pub stride: u32,
    /// Access of the host.
    pub access: Access,
    /// Value after reset; `None` where it depends on the device's configuration.
    pub reset: Option<u32>,
    /// Fields; none if the register is one plain number. The fields of an element of several words lie in all of them.
    pub fields: &'static [Field],
    /// Those of `fields` that are read-only although the host writes the register.
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

    /// Words of an element: enough for its fields.
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

    /// Bits of an element's first word that have a meaning: those of its fields, or all 32 of a plain number.
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

    /// Bits of an element's first word that the host can write: none in a read-only register.
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

    /// Octets of an element's first word that hold its fields, one bit each: the strobes that a write to a write-only
    /// register needs.
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
    "the completion queue has entries, and the host asked for an interrupt",
);
/// `INTERRUPT_*`: vector 1, see [`interrupt::FAULT`].
pub const INTERRUPT_FAULT: Field = field(
    "FAULT",
    1,
    1,
    "the bus refused a completion entry: the completion queue is no longer valid",
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

pub(crate) const fn field(
    name: &'static str,
    lsb: usize,
    width: usize,
    doc: &'static str,
) -> Field {
    Field {
        name,
        lsb,
        width,
        doc,
    }
}

/// The second expression if there is one, else the first.
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

/// Bits of an STag below those that choose its slot: its key (AMB-50).
pub const STAG_KEY_BITS: usize = 8;

/// The slot of an STag, of a table of `slots`, a power of two: what [`STAG_SLOTS`] says (AMB-50).
#[must_use]
pub const fn stag_slot(stag: u32, slots: u32) -> u32 {
    (stag >> STAG_KEY_BITS) & (slots - 1)
}

registers! {
    /// Reads `IDENTITY_VALUE`: "WARP".
    IDENTITY: 0x000 [1 x 4] ReadOnly &[], reset Some(IDENTITY_VALUE);
    /// Reads `VERSION_VALUE`: version of this register map.
    VERSION: 0x004 [1 x 4] ReadOnly &[], reset Some(VERSION_VALUE);
    /// Width, streams and queues of this device.
    SHAPE: 0x008 [1 x 4] ReadOnly &[SHAPE_WIDTH, SHAPE_STREAMS, SHAPE_QUEUES], reset None;
    /// Octets of each stream's assembly ring, which is also the largest TCP window.
    RING_OCTETS: 0x00c [1 x 4] ReadOnly &[], reset None;
    /// Slots of the STag table, a power of two; an STag's slot is `(STag >> 8) mod STAG_SLOTS`.
    STAG_SLOTS: 0x010 [1 x 4] ReadOnly &[], reset None;
    /// Buffers that each untagged queue holds at most, a power of two.
    RECEIVE_SLOTS: 0x014 [1 x 4] ReadOnly &[], reset None;
    /// Largest ULPDU_Length that the device accepts. It refuses an FPDU longer than `RING_OCTETS` as `TOO_LARGE` in any case.
    MAX_ULPDU: 0x018 [1 x 4] ReadOnly &[], reset None;
    /// A write to the lowest octet starts the command of that number with the words of `ARGUMENT`. A read returns the number and the state of the last command. The device ignores writes while `BUSY` is 1, and refuses an unknown number.
    COMMAND: 0x020 [1 x 4] ReadWrite &[COMMAND_NUMBER, COMMAND_FAILED, COMMAND_BUSY], status &[COMMAND_FAILED, COMMAND_BUSY];
    /// Arguments of the next command, in the layout of its record. Writes while `COMMAND.BUSY` is 1 are ignored.
    ARGUMENT: 0x040 [8 x 4] ReadWrite &[];
    /// Bus address of the completion queue, low word; 64-octet aligned. Written before `COMPLETION_ENTRIES`: a write ends the queue, and `COMPLETION_ENTRIES` becomes 0.
    COMPLETION_BASE_LOW: 0x080 [1 x 4] ReadWrite &[];
    /// Bus address of the completion queue, high word. A write ends the queue, as one to the low word does.
    COMPLETION_BASE_HIGH: 0x084 [1 x 4] ReadWrite &[];
    /// Entries of the completion queue, a power of two up to 65536; 0: no queue, completions stall. Any write, even of the same number, restarts the queue: `COMPLETION_CONSUMER` and `COMPLETION_PRODUCER` become 0, and the first entry has phase 1. The device refuses any other number, and a queue whose base is not aligned: the register then reads 0, and there is no queue.
    COMPLETION_ENTRIES: 0x088 [1 x 4] ReadWrite &[];
    /// Entries that the host has consumed, modulo 2^32. The device never overwrites an entry before the host has consumed it.
    COMPLETION_CONSUMER: 0x08c [1 x 4] ReadWrite &[];
    /// Entries that the device has written, modulo 2^32.
    COMPLETION_PRODUCER: 0x090 [1 x 4] ReadOnly &[];
    /// Requests one COMPLETION interrupt. The host writes the number of entries that it has consumed; the device sets `INTERRUPT_STATE.COMPLETION` once, as soon as `COMPLETION_PRODUCER` differs from it, which may be at once. A later write replaces a request that is still pending; a write to `COMPLETION_ENTRIES` or to the base cancels it.
    COMPLETION_ARM: 0x094 [1 x 4] WriteOnly &[];
    /// Interrupts that have occurred. When a bit is set, or its interrupt occurs again, the device sends the message of its vector if `INTERRUPT_ENABLE` has the bit. Clearing a bit cancels a message that is not offered yet.
    INTERRUPT_STATE: 0x0a0 [1 x 4] WriteOneToClear &[INTERRUPT_COMPLETION, INTERRUPT_FAULT];
    /// Interrupts whose messages the device sends. Enabling sends the message of an interrupt that occurred while it was disabled; a message that has left is not sent again.
    INTERRUPT_ENABLE: 0x0a4 [1 x 4] ReadWrite &[INTERRUPT_COMPLETION, INTERRUPT_FAULT];
    /// Raises the interrupts written as 1.
    INTERRUPT_TEST: 0x0a8 [1 x 4] WriteOnly &[INTERRUPT_COMPLETION, INTERRUPT_FAULT];
    /// Moderation: least number of cycles between two COMPLETION messages. Completions in between share the next message.
    INTERRUPT_HOLDOFF: 0x0ac [1 x 4] ReadWrite &[HOLDOFF_CYCLES];
    /// TCP segments received, modulo 2^32.
    SEGMENTS: 0x0c0 [1 x 4] ReadOnly &[];
    /// Stream octets accepted for the first time, modulo 2^32.
    OCTETS: 0x0c4 [1 x 4] ReadOnly &[];
    /// TCP segments of which octets were dropped that are not duplicates: octets outside the window, after one gap too many, or of a stream that is not armed; modulo 2^32.
    SEGMENTS_DROPPED: 0x0c8 [1 x 4] ReadOnly &[];
    /// FPDUs judged in order, those included that are discarded or too long, modulo 2^32.
    FPDUS: 0x0cc [1 x 4] ReadOnly &[];
    /// FPDUs discarded because their stream was frozen, modulo 2^32.
    FPDUS_DISCARDED: 0x0d0 [1 x 4] ReadOnly &[];
    /// Payload octets accepted for placement, modulo 2^32.
    PAYLOAD_OCTETS: 0x0d4 [1 x 4] ReadOnly &[];
    /// Streams frozen by an error, modulo 2^32.
    ERRORS: 0x0d8 [1 x 4] ReadOnly &[];
    /// Doorbell of an untagged queue's receive ring, element `RECEIVE_PRODUCER_STRIDE * stream + queue`: 8 elements for each stream. Ignored while the queue has no ring.
    RECEIVE_PRODUCER: 0x200 [128 x 4] WriteOnly &[RECEIVE_PRODUCER_COUNT];
    /// Sequence number after the last in-order octet of a stream.
    STREAM_EDGE: 0x400 [16 x 16] ReadOnly &[];
    /// Sequence number after the last octet that the stream's ring has room for; `RING_OCTETS` after reset.
    STREAM_LIMIT: 0x404 [16 x 16] ReadOnly &[], reset None;
    /// Error records, one for each stream, in the layout `layout::error_record`.
    ERROR_RECORD: 0x800 [16 x 64] ReadOnly error_record::LAYOUT.fields;
}

/// What `IDENTITY` reads.
pub const IDENTITY_VALUE: u32 = 0x5741_5250;
/// What `VERSION` reads: major number in the high half, minor in the low half.
pub const VERSION_VALUE: u32 = 0x0002_0000;

/// Most entries of a completion queue, a power of two.
pub const COMPLETION_ENTRIES_MAX: u32 = 1 << 16;
/// Alignment of a completion queue's bus address, in octets.
pub const COMPLETION_ALIGNMENT: u32 = 64;

/// Interrupt vectors: each has the bit of its number in `INTERRUPT_STATE`, and its own message.
pub mod interrupt {
    /// The device wrote a completion after a request in `COMPLETION_ARM`.
    pub const COMPLETION: usize = 0;
    /// The bus refused a completion entry.
    pub const FAULT: usize = 1;
    /// Number of vectors.
    pub const COUNT: usize = 2;
}

/// Elements of `RECEIVE_PRODUCER` for each stream, independent of the number of queues.
pub const RECEIVE_PRODUCER_STRIDE: u32 = 8;
/// Size of the register space in octets.
pub const SPACE: u32 = 0x1000;

/// What lies at an octet offset of a device without the transmit interface: the register, the element, and the word of the
/// element.
#[must_use]
pub fn locate(offset: u32) -> Option<(&'static Register, u32, u32)> {
    locate_in(REGISTERS, offset)
}

/// What lies at an octet offset of a device with these registers.
pub fn locate_in(
    registers: impl IntoIterator<Item = &'static Register>,
    offset: u32,
) -> Option<(&'static Register, u32, u32)> {
    registers.into_iter().find_map(|register| {
        let from_first = offset.checked_sub(register.offset)?;
        let (index, word) = (
            from_first / register.stride,
            from_first % register.stride / 4,
        );
        let there = index < register.count && word < register.words();
        there.then_some((register, index, word))
    })
}

/// A command and its arguments.
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
    /// Writes an entry of the STag table. The slot must not be in use: a request or a Read Response that is looked up in the same cycle fails, and the entry of another STag of the slot is replaced.
    WRITE_STAG = 1 takes stag_entry;
    /// Clears an entry and waits until every write and every read that it has allowed is done (AMB-42). The wait includes earlier completions, so the host must keep consuming them.
    REVOKE_STAG = 2 takes revoke;
    /// Starts a stream; refused if there is no such stream, or if it is armed.
    ARM_STREAM = 3 takes stream_context;
    /// Stops a stream and waits until its writes, its reads and all earlier completions are done; refused if there is no such stream. Requests that it has not sent are flushed, and octets in its transmit ring are gone: end the connection first to have them sent. The stream can then be armed again.
    CLOSE_STREAM = 4 takes close;
    /// Appends a buffer to an untagged queue; refused if there is no such stream or queue, or if the queue is full. A queue gets its buffers by this command or from a ring, never by both: the device does not check that, and a mixture can stall all streams.
    POST_RECEIVE = 5 takes receive_buffer;
    /// Attaches an empty receive ring to an untagged queue to which nothing was posted since `ARM_STREAM`; refused if the stream is not armed with that queue, if the queue has a ring, or if `receive_ring` does not allow the ring. `CLOSE_STREAM` detaches the rings of its stream.
    SET_RECEIVE_RING = 6 takes receive_ring;
}

//! The transmit interface: send queues, of devices that are built with the transmit path. On others
//! [`CAPABILITIES`] has no such bit, the other registers below read 0 and ignore writes, and the commands are refused.
//! Registers and records of it are in lists of their own, beside [`register::REGISTERS`](crate::register::REGISTERS)
//! and [`layout::LAYOUTS`](crate::layout::LAYOUTS), which every device has.
//!
//! A send queue is a ring of slots in host memory, one for each stream. A slot is a request: one DDP
//! message with up to 8 pieces of local memory, or with up to 64 octets in the slot itself.
//!
//! ```text
//!   host:  write slots ──► SEND_PRODUCER = stream, slots written (mod 2^16)
//!                                   │
//!   card:  ◄── read the slot ◄──────┘        ◄── read the elements' memory, check it in the STag table
//!          ──► DDP segments of the message, in the order of slots
//!          ──► send_event in the completion queue: request, status, slots that are free again
//!
//!   octet   0      4      8        16        20       24        32                 64              160   256
//!   slot    ├ head ┼ STag ┼ offset ┼ RsvdULP ┼ length ┼ request ┼ element 0, 1 ────┼ element 2 … 7 ┼ ─── ┤
//!           │      │  QN  │        │         │        │         ├ octets of an inline request ─┤ (to 96)
//!           ├────────────────── first cache line ─────────────────────────────────┤
//! ```
//!
//! Why slots look like this: the reader is an engine in hardware that fetches by AXI bursts.
//!
//! - **All slots have 256 octets.** The address of a request is its number shifted, so the engine can fetch
//!   the next one before it has understood this one. A ring is aligned to slots, so no slot crosses a
//!   4 KiB boundary, where a burst must end, and a slot is one burst at every width of the bus: 32 beats
//!   at 64 bits, 4 at 512.
//! - **The first 64 octets are enough for most requests**: everything about the message, and two elements or
//!   32 inline octets, room for the 28 of an RDMA Read Request. All 64 inline octets have room for any Terminate
//!   (52 at most), so it needs no memory region. The first word says how much the slot holds (`COUNT`), so the
//!   engine reads 64 octets, and the rest only if there is one.
//! - **`LENGTH` repeats the sum of the elements.** The first DDP segment needs to know whether it is the
//!   last one of its message, before the later elements are here. The engine adds up what it reads, and a
//!   difference ends the stream.
//! - **An element is 16 octets, aligned**: it lies in one beat from 128 bits on, and in two whole beats at
//!   64 bits. The same holds for the fields of 64 bits: none crosses a beat.
//! - **Every choice is made by the first word**, which arrives first: what the second word means, whether the rest
//!   is elements or octets, and how many.
//! - **Local memory has an STag and a Tagged Offset**, as the peer's has, so that one table and one check of bounds
//!   serve both directions.
//!
//! A request that fails ends the send queue: its `send_event` has the reason, and those of the requests
//! behind it have [`status::FLUSHED`]. When the stream is frozen by an error of its receive side, requests
//! are flushed as well, up to one with `TERMINATE`, which is sent as the stream's last message.
//!
//! ```
//! use warpline_regmap::transmit::{Element, Flags, Gather, Payload, SendRequest, Target};
//!
//! let element = Element { stag: 0x0100, length: 4096, offset: 0x7000 };
//! let request = SendRequest::new(
//!     Target::Tagged { stag: 0x2300, offset: 0, rsvd_ulp: 0x40 },
//!     Flags { signalled: true, ..Flags::default() },
//!     7,
//!     Payload::Gather(Gather::new(&[element])?),
//! )?;
//! let slot = request.emit();
//! assert_eq!(SendRequest::parse(&slot)?, request);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod payload;
mod request;
mod slot_error;

pub use payload::{Element, Gather, Inline, Payload};
pub use request::{Flags, HEAD_BITS, SendRequest, Slot, Target};
pub use slot_error::SlotError;

use crate::register::{Command, field};
use crate::{Access, Field, Register, Value};

/// `CAPABILITIES`: the device has the transmit interface.
pub const CAPABILITY_TRANSMIT: Field = field("TRANSMIT", 0, 1, "the device has send queues");
/// `CAPABILITIES`: the device has a mailbox, and a control program behind it.
pub const CAPABILITY_MAILBOX: Field = field("MAILBOX", 1, 1, "the device has a mailbox");
/// `CAPABILITIES`: the device answers Read Requests.
pub const CAPABILITY_READ_RESPONDER: Field = field(
    "READ_RESPONDER",
    2,
    1,
    "the device can answer RDMA Read Requests by itself",
);
/// `TRANSMIT_STATE`: armed.
pub const TRANSMIT_ARMED: Field = field("ARMED", 0, 1, "`ARM_TRANSMIT` was carried out");
/// `TRANSMIT_STATE`: gate.
pub const TRANSMIT_OPEN: Field = field(
    "OPEN",
    1,
    1,
    "the gate is open: FPDUs may be sent (MPA-START-10)",
);
/// `TRANSMIT_STATE`: idle.
pub const TRANSMIT_IDLE: Field = field(
    "IDLE",
    2,
    1,
    "all requests that the host has announced are done, and no segment of the stream is under way: 1 after reset. It says nothing of Read Requests that the device has not answered yet, nor of TCP; the simulated card clears it until TCP has accepted all octets, too",
);
/// `TRANSMIT_STATE`: ended.
pub const TRANSMIT_ENDED: Field = field(
    "ENDED",
    3,
    1,
    "a request or a Read Response has failed, or the last segment of a request with `TERMINATE` is cut: later requests are flushed. A frozen stream alone does not set it",
);
/// `SEND_PRODUCER`: slots.
pub const SEND_PRODUCER_COUNT: Field = field(
    "COUNT",
    0,
    16,
    "slots that the host has written since `SET_SEND_RING`, modulo 2^16",
);
/// `SEND_PRODUCER`: stream.
pub const SEND_PRODUCER_STREAM: Field = field("STREAM", 16, 16, "stream number");

registers! {
    /// What the device can do beyond receiving. An address without a register reads 0, so this reads 0 on a device without it.
    CAPABILITIES: 0x01c [1 x 4] ReadOnly &[CAPABILITY_TRANSMIT, CAPABILITY_MAILBOX, CAPABILITY_READ_RESPONDER], reset None;
    /// Doorbell of all send rings: the stream is in the value, so one address serves all streams. Ignored while the stream has no send ring.
    SEND_PRODUCER: 0x0e0 [1 x 4] WriteOnly &[SEND_PRODUCER_COUNT, SEND_PRODUCER_STREAM];
    /// State of the transmit side of a stream.
    TRANSMIT_STATE: 0x500 [16 x 4] ReadOnly &[TRANSMIT_ARMED, TRANSMIT_OPEN, TRANSMIT_IDLE, TRANSMIT_ENDED], reset None;
}

/// Number of the command that attaches a send ring.
pub const SET_SEND_RING: u32 = 7;
/// Number of the command that starts the transmit side of a stream.
pub const ARM_TRANSMIT: u32 = 8;
/// Number of the command that changes a stream's EMSS.
pub const SET_EMSS: u32 = 9;
/// Number of the command that hands a stream's Read Requests to the device, or takes them back.
pub const SET_READ_RESPONDER: u32 = 10;

/// Commands of the transmit interface.
pub const COMMANDS: &[Command] = &[
    Command {
        value: Value {
            name: "SET_SEND_RING",
            value: SET_SEND_RING,
            doc: "Attaches an empty send ring to a stream; refused if the stream is not armed, if it has a ring, or if `send_ring` does not allow the ring. `CLOSE_STREAM` flushes and detaches the ring of its stream.",
        },
        arguments: send_ring::LAYOUT,
    },
    Command {
        value: Value {
            name: "ARM_TRANSMIT",
            value: ARM_TRANSMIT,
            doc: "Starts the transmit side of a stream that `ARM_STREAM` has armed; refused if the stream is not armed, if its transmit side is, or if `EMSS` is out of range. `CLOSE_STREAM` ends it. The card's control program issues it.",
        },
        arguments: transmit_context::LAYOUT,
    },
    Command {
        value: Value {
            name: "SET_EMSS",
            value: SET_EMSS,
            doc: "Changes the EMSS of a stream; later FPDUs go by it. Refused if the transmit side of the stream is not armed, or if `EMSS` is below 128.",
        },
        arguments: emss::LAYOUT,
    },
    Command {
        value: Value {
            name: "SET_READ_RESPONDER",
            value: SET_READ_RESPONDER,
            doc: "Hands the RDMA Read Requests of a stream to the device, which answers them and posts their buffers again; or returns later ones to the host. Refused without `READ_RESPONDER` in `CAPABILITIES`, or if the stream is not armed; with `ON`, also if the stream is handed over already, while earlier Read Requests of it are under way, or if `read_responder` does not allow the array. `CLOSE_STREAM` ends it.",
        },
        arguments: read_responder::LAYOUT,
    },
];

/// Fewest slots of a send ring.
pub const ENTRIES_MIN: u32 = 4;
/// Most slots of a send ring.
pub const ENTRIES_MAX: u32 = 4096;
/// Octets of a slot, and alignment of a ring.
pub const SLOT_OCTETS: u64 = 4 * send_slot::WORDS as u64;
/// Most elements of a request.
pub const ELEMENTS_MAX: usize = 8;
/// Most octets of an inline request.
pub const INLINE_MAX: usize = 64;
/// Untagged queues of a stream whose messages are counted: Queue Numbers below this.
pub const QUEUES: u32 = 256;
/// Octets of a buffer of queue 1 that the device reads Read Requests from.
pub const READ_BUFFER_OCTETS: usize = 64;
/// Read Requests of a stream that the device holds: so many buffers may be announced to it (IRD).
pub const READ_REQUESTS_MAX: usize = 16;
/// Word of a slot where elements, or inline octets, begin.
pub const PAYLOAD_WORD: usize = 8;

/// Octet offset in a ring of `entries` slots, a power of two, of the slot with this number.
#[must_use]
pub const fn slot_offset(number: u16, entries: u32) -> u64 {
    (number as u64 & (entries as u64).wrapping_sub(1)) * SLOT_OCTETS
}

layout! {
    /// Arguments of `SET_SEND_RING`: where a stream reads its requests from.
    send_ring [4] {
        /// Stream number.
        STREAM: 0 [0; 8],
        /// Slots in the ring: a power of two, 4 to 4096.
        ENTRIES: 1 [0; 16],
        /// Bus address of the ring; 256-octet aligned.
        BASE: 2 [0; 64],
    }
}

layout! {
    /// Arguments of `ARM_TRANSMIT`: what start-up has settled for the sending direction.
    transmit_context [4] {
        /// Stream number.
        STREAM: 0 [0; 8],
        /// 1: markers are inserted (MPA-MRK-15).
        MARKERS: 0 [8; 1],
        /// 1: CRCs are computed; 0: the field is 0 (AMB-12).
        CRC: 0 [9; 1],
        /// 1: the gate is closed. It opens when MPA accepts an FPDU that arrives after this command (MPA-START-10, AMB-56), so the command
        /// comes before TCP passes the peer's first octet to the device. 0: the gate is open.
        GATE: 0 [10; 1],
        /// Octets of a TCP segment's payload, at least 128 (RFC 5044 §7.3). FPDUs are sized so that one fits a segment, but MULPDU is never
        /// below 128: from 136 on one fits, with markers from 140 on. The transmit ring bounds MULPDU, too.
        EMSS: 1 [0; 16],
        /// TCP sequence number of the first octet of full operation.
        SEQUENCE_START: 2 [0; 32],
        /// MSN of the first message of every queue; 1, except in tests of the wrap.
        FIRST_MSN: 3 [0; 32],
    }
}

layout! {
    /// Arguments of `SET_EMSS`.
    emss [2] {
        /// Stream number.
        STREAM: 0 [0; 8],
        /// Octets of a TCP segment's payload, at least 128.
        EMSS: 1 [0; 16],
    }
}

layout! {
    /// Arguments of `SET_READ_RESPONDER`. The descriptors of the stream's ring of queue 1 name buffers of 64 octets that follow each
    /// other: the message with `FIRST_MSN` lies in the first one, and the one after the last one in the first one again. Before the
    /// command the host writes all descriptors of the ring and announces at most 16. From then on, and until the stream is closed, it
    /// no longer rings the doorbell of that queue: the device posts a buffer again when its response is cut into segments. A request that
    /// is malformed, that finds 16 others, that the bus does not let the device read, or that names memory which the STag table does not let
    /// the peer read, goes to the host as a completion, with all later ones, and ends this.
    read_responder [4] {
        /// Stream number.
        STREAM: 0 [0; 8],
        /// 1: the device answers. 0: later Read Requests go to the host; the device still answers those that it has accepted.
        ON: 0 [8; 1],
        /// log2 of the buffers, which are as many as the ring has descriptors: 4 to 15.
        ENTRIES_LOG: 0 [16; 8],
        /// MSN of the message in the first buffer.
        FIRST_MSN: 1 [0; 32],
        /// Bus address of the first buffer; 64-octet aligned.
        BASE: 2 [0; 64],
    }
}

layout! {
    /// A slot of a send ring in host memory: one request. The device reads it once, after the doorbell is rung. From word 8 on
    /// lie the elements, each in the layout `send_element`, or the octets of an inline request, first octet in bits 7:0.
    send_slot [64] {
        /// Kind of DDP message: see [`target`](super::target).
        KIND: 0 [0; 4],
        /// 1: a completion entry reports the request. A request that fails is reported in any case.
        SIGNALLED: 0 [4; 1],
        /// 1: the request begins after all earlier ones of the stream, and the Read Responses under way, lie in the transmit ring. This is not
        /// RDMAP's fence: the ULP itself waits for the peer's Read Responses.
        FENCE: 0 [5; 1],
        /// 1: last message of the stream; later requests are flushed. The device sends it even after an error of the receive side has
        /// frozen the stream, if the gate is open and no earlier request or Read Response has failed. Otherwise it flushes it:
        /// reset the connection.
        TERMINATE: 0 [6; 1],
        /// 1: the payload lies in the slot; 0: in the memory of the elements.
        INLINE: 0 [7; 1],
        /// Elements, at most 8; with `INLINE`, octets, at most 64.
        COUNT: 0 [8; 8],
        /// RsvdULP bits 0 to 7: the octet after the control field.
        RSVD_ULP_FIRST: 0 [24; 8],
        /// Tagged: STag of the peer's buffer.
        STAG: 1 [0; 32],
        /// Untagged: Queue Number, below 256.
        QUEUE: 1 [0; 32],
        /// Tagged: Tagged Offset of the first octet.
        OFFSET: 2 [0; 64],
        /// Untagged: RsvdULP bits 8 to 39, in network order.
        RSVD_ULP_LOW: 4 [0; 32],
        /// Octets of the message: the sum of the elements, or `COUNT` with `INLINE`.
        LENGTH: 5 [0; 32],
        /// The host's name for the request; `send_event` returns it.
        REQUEST: 6 [0; 64],
    }
}

layout! {
    /// One piece of local memory, at word 8 + 4·n of a `send_slot`.
    send_element [4] {
        /// STag of the local region.
        STAG: 0 [0; 32],
        /// Octets, at least 1.
        LENGTH: 1 [0; 32],
        /// Tagged Offset in the region.
        OFFSET: 2 [0; 64],
    }
}

layout! {
    /// A completion entry with `KIND` = `SEND`: a request is done. With status `OK` its memory was read and may change; that
    /// does not say that the peer has the message (RFC 5040 §5.5).
    send_event [8] {
        /// `kind::SEND`.
        KIND: 0 [0; 4],
        /// Stream number.
        STREAM: 0 [8; 8],
        /// How it ended: see [`status`](super::status).
        STATUS: 0 [16; 4],
        /// 1: the request is a Read Response that the device made; it is reported only if it failed or was flushed. A failed one ends the send
        /// queue as a failed request does. `REQUEST` is the MSN of its Read Request.
        RESPONSE: 0 [20; 1],
        /// Slots that the device has read since `SET_SEND_RING`, modulo 2^16: they are free.
        CONSUMED: 1 [0; 16],
        /// Octets of the message.
        LENGTH: 3 [0; 32],
        /// The host's name for the request. It has no meaning when the bus has refused the slot itself (`STATUS` is
        /// `BUS`): `CONSUMED` says which slot that is.
        REQUEST: 4 [0; 64],
        /// Inverts each time the device wraps to the start of the queue; 1 in the first pass.
        PHASE: 7 [31; 1],
    }
}

values! {
    /// Values of `completion::KIND` that the transmit interface adds.
    kind {
        /// A request of a send queue is done.
        SEND = 5;
    }
}

values! {
    /// Values of `send_slot::KIND`.
    target {
        /// A tagged message.
        TAGGED = 1;
        /// An untagged message; the device counts its MSN.
        UNTAGGED = 2;
    }
}

values! {
    /// Values of `send_event::STATUS`.
    status {
        /// The message is on its way, and its memory was read.
        OK = 0;
        /// The stream or the queue ended before the whole message was in the transmit ring. As with every failure, the peer may have its
        /// first segments.
        FLUSHED = 1;
        /// The slot is not a valid request: a field has no legal value, bits 23:16 of word 0 are not 0, an element is empty, the sum of the
        /// elements is not `LENGTH` (found when the element is used), or a tagged message passes 2^64.
        MALFORMED = 2;
        /// No valid entry of the STag table has an element's STag.
        STAG = 3;
        /// An element's STag belongs to another stream or another protection domain.
        ASSOC = 4;
        /// An element leaves its region.
        BOUNDS = 5;
        /// The bus refused a read.
        BUS = 6;
        /// The region of a Read Response's element lacks the remote read right.
        ACCESS = 7;
    }
}

layout! {
    /// Arguments of `WRITE_STAG`, beside those of `stag_entry`.
    transmit_stag_entry [8] {
        /// Remote read right: the device may answer Read Requests from the region (RFC 5040 §5.2). A device whose host answers them ignores it:
        /// there the host checks it. The host's own send requests need no right.
        REMOTE_READ: 1 [26; 1],
    }
}

pub use transmit_stag_entry::REMOTE_READ;

/// All records of the transmit interface.
pub const LAYOUTS: &[crate::Layout] = &[
    transmit_stag_entry::LAYOUT,
    send_ring::LAYOUT,
    transmit_context::LAYOUT,
    emss::LAYOUT,
    read_responder::LAYOUT,
    send_slot::LAYOUT,
    send_element::LAYOUT,
    send_event::LAYOUT,
];

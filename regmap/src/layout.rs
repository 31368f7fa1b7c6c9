//! Layouts of records: arguments of commands, completion entries, error records.
//!
//! Each record is a module: one constant for each field, `WORDS` and `LAYOUT`.

macro_rules! layout {
    ($(#[doc = $doc:literal])+ $module:ident [$words:literal] { $( $(#[doc = $field_doc:literal])+ $field:ident: $word:literal [$lsb:literal; $width:literal], )+ }) => {
        $(#[doc = $doc])+
        pub mod $module {
            use crate::{Field, Layout};
            /// Size in 32-bit words.
            pub const WORDS: usize = $words;
            $(
                $(#[doc = $field_doc])+
                pub const $field: Field = Field {
                    name: stringify!($field), lsb: 32 * $word + $lsb, width: $width, doc: concat!($($field_doc),+),
                };
            )+
            /// The whole record.
            pub const LAYOUT: Layout = Layout {
                name: stringify!($module), words: WORDS, fields: &[$($field),+], doc: concat!($($doc),+),
            };
        }
    };
}

layout! {
    /// Arguments of `WRITE_STAG`: one entry of the STag table.
    stag_entry [8] {
        /// The whole 32-bit STag; its low 8 bits are the key, the bits above select the slot (AMB-50).
        STAG: 0 [0; 32],
        /// Protection domain of the memory region.
        PROTECTION_DOMAIN: 1 [0; 16],
        /// The only stream that may use the STag when `STREAM_SCOPE` is set.
        STREAM: 1 [16; 8],
        /// 1: the STag belongs to one stream of its protection domain (AMB-59); 0: to all of them (RFC 5041 §8.2).
        STREAM_SCOPE: 1 [24; 1],
        /// Remote write right (RFC 5041 §8.3.1).
        REMOTE_WRITE: 1 [25; 1],
        /// Tagged Offset of the region's first octet.
        BASE: 2 [0; 64],
        /// Length of the region in octets; `BASE + LENGTH` is at most 2^64.
        LENGTH: 4 [0; 64],
        /// Bus address of the region's first octet.
        ADDRESS: 6 [0; 64],
    }
}

layout! {
    /// Argument of `REVOKE_STAG`.
    revoke [1] {
        /// The STag to revoke; it selects its slot as for `WRITE_STAG`.
        STAG: 0 [0; 32],
    }
}

layout! {
    /// Arguments of `ARM_STREAM`: the context of a stream that enters full operation.
    stream_context [4] {
        /// Stream number.
        STREAM: 0 [0; 8],
        /// 1: the peer inserts markers (MPA-MRK-15).
        MARKERS: 0 [8; 1],
        /// 1: CRCs are checked (MPA-CRC-10).
        CRC: 0 [9; 1],
        /// 1: the last segment (L = 1) of a tagged message generates a completion (AMB-44).
        TAGGED_COMPLETIONS: 0 [10; 1],
        /// 1: an untagged segment is an error unless its MO equals the octets placed so far (AMB-07).
        STRICT_MO: 0 [11; 1],
        /// 1: an untagged segment may target any posted buffer of the queue, at most the first `RECEIVE_SLOTS`; 0: only the
        /// first one (AMB-04).
        MSN_WINDOW: 0 [12; 1],
        /// 1: without markers, ULPDUs above `MAX_ULPDU` are accepted, up to the 65535 octets of ULPDU_Length, where the ring holds
        /// their FPDU. RFC 5044 allows no sender that (MPA-SEG-06), and no marker could point across one, so it changes nothing
        /// with `MARKERS` (AMB-21).
        LONG_ULPDUS: 0 [13; 1],
        /// One bit for each queue number; 1: the stream has that untagged queue.
        QUEUES: 0 [16; 8],
        /// Protection domain of the stream.
        PROTECTION_DOMAIN: 1 [0; 16],
        /// TCP sequence number of the first octet of full operation (AMB-16).
        SEQUENCE_START: 2 [0; 32],
        /// MSN of the first message of every queue; 1, except in tests of the wrap (DDP-UNT-11).
        FIRST_MSN: 3 [0; 32],
    }
}

layout! {
    /// Argument of `CLOSE_STREAM`.
    close [1] {
        /// Stream number.
        STREAM: 0 [0; 8],
    }
}

layout! {
    /// Arguments of `POST_RECEIVE`: one buffer, appended to an untagged queue.
    receive_buffer [4] {
        /// Stream number.
        STREAM: 0 [0; 8],
        /// Queue number.
        QUEUE: 0 [8; 8],
        /// Length of the buffer in octets.
        LENGTH: 1 [0; 32],
        /// Bus address of the buffer.
        ADDRESS: 2 [0; 64],
    }
}

layout! {
    /// Arguments of `SET_RECEIVE_RING`: where an untagged queue reads its buffers from.
    receive_ring [4] {
        /// Stream number.
        STREAM: 0 [0; 8],
        /// Queue number.
        QUEUE: 0 [8; 8],
        /// Descriptors in the ring: a power of two, 16 to 32768.
        ENTRIES: 1 [0; 16],
        /// Bus address of the ring; 256-octet aligned.
        BASE: 2 [0; 64],
    }
}

layout! {
    /// An entry of a receive ring in host memory: one buffer. The device reads it once, after the doorbell is rung.
    receive_descriptor [4] {
        /// Bus address of the buffer.
        ADDRESS: 0 [0; 64],
        /// Length of the buffer in octets.
        LENGTH: 2 [0; 32],
    }
}

layout! {
    /// An entry of the completion queue in host memory. The device writes the last word, which has `PHASE`, last.
    completion [8] {
        /// What the entry reports: see [`kind`](super::kind).
        KIND: 0 [0; 4],
        /// Stream number.
        STREAM: 0 [8; 8],
        /// 1: the last tagged segment was empty; its STag and TO were not checked (AMB-02).
        UNVERIFIED: 0 [16; 1],
        /// 1: the segments of the untagged message carried more or fewer octets than `LENGTH` (AMB-07).
        HOLE: 0 [17; 1],
        /// 1: more segments of the untagged message arrived after its L = 1 segment (AMB-06).
        ANOMALY: 0 [18; 1],
        /// Tagged: STag of the L = 1 segment.
        STAG: 1 [0; 32],
        /// Untagged: queue number.
        QUEUE: 1 [0; 32],
        /// Untagged: message sequence number.
        MSN: 2 [0; 32],
        /// Untagged: length of the message. Tagged: payload octets of the L = 1 segment.
        LENGTH: 3 [0; 32],
        /// Tagged: Tagged Offset of the L = 1 segment.
        OFFSET: 4 [0; 64],
        /// RsvdULP bits 8 to 39 of an untagged segment, in network order.
        RSVD_ULP_LOW: 6 [0; 32],
        /// RsvdULP bits 0 to 7: the octet after the control field.
        RSVD_ULP_FIRST: 7 [0; 8],
        /// Inverts each time the device wraps to the start of the queue; 1 in the first pass.
        PHASE: 7 [31; 1],
    }
}

layout! {
    /// A completion entry with `KIND` = `ERROR`: the stream had its first error and is frozen.
    error_event [8] {
        /// `kind::ERROR`.
        KIND: 0 [0; 4],
        /// Stream number.
        STREAM: 0 [8; 8],
        /// Error code (RFC 5041 §7.2).
        CODE: 1 [0; 8],
        /// Error type (RFC 5041 §7.2).
        TYPE: 1 [8; 4],
        /// Failed checks: see [`check`](super::check). 0 for an MPA error, for the end of a connection and for a bus access
        /// that was refused.
        CHECKS: 2 [0; 16],
        /// ULPDU_Length of the failing FPDU.
        LENGTH: 3 [0; 32],
        /// Stream position of the failing FPDU.
        POSITION: 4 [0; 32],
        /// Inverts each time the device wraps to the start of the queue; 1 in the first pass.
        PHASE: 7 [31; 1],
    }
}

layout! {
    /// A completion entry with `KIND` = `CLOSED`: the peer's FIN follows the last octet of an FPDU, all earlier FPDUs are
    /// placed, and their completions precede this one (MPA-ERR-17).
    close_event [8] {
        /// `kind::CLOSED`.
        KIND: 0 [0; 4],
        /// Stream number.
        STREAM: 0 [8; 8],
        /// Stream position after the last octet.
        POSITION: 4 [0; 32],
        /// Inverts each time the device wraps to the start of the queue; 1 in the first pass.
        PHASE: 7 [31; 1],
    }
}

layout! {
    /// The sticky error record of a stream (AMB-09), read through registers. When the bus refused a payload write or a descriptor
    /// read, `VALID` is all it holds: type 0x0, code 0x00, and every other bit is 0.
    error_record [12] {
        /// Error code (RFC 5041 §7.2).
        CODE: 0 [0; 8],
        /// Error type (RFC 5041 §7.2).
        TYPE: 0 [8; 4],
        /// Why MPA refused the FPDU or the stream ended, if no check failed: see [`refused`](super::refused).
        REFUSED: 0 [12; 3],
        /// 1: the record holds an error.
        VALID: 0 [31; 1],
        /// Failed checks: see [`check`](super::check). 0 for an MPA error, for the end of a connection and for a bus access
        /// that was refused.
        CHECKS: 1 [0; 16],
        /// ULPDU_Length of the failing FPDU.
        LENGTH: 2 [0; 16],
        /// Number of zero dwords that entered the CRC register after the FPDU. Meaningful with error 0x3/0x02 only, as are
        /// `CRC_RECEIVED` and `CRC_STATE`; with other errors they are stale.
        CRC_ZEROS: 2 [16; 4],
        /// Stream position of the FPDU's first octet; a leading marker belongs to the FPDU.
        POSITION: 3 [0; 32],
        /// The five dwords from ULPDU_Length on, as received; the first octet is the most significant one. Over SCTP the DDP-SSN stands in place of ULPDU_Length. They mean nothing if `REFUSED` is not 0.
        HEADER_0: 4 [0; 32],
        /// Second dword.
        HEADER_1: 5 [0; 32],
        /// Third dword.
        HEADER_2: 6 [0; 32],
        /// Fourth dword.
        HEADER_3: 7 [0; 32],
        /// Fifth dword.
        HEADER_4: 8 [0; 32],
        /// FPDUPTR that the first wrong marker should have had. Meaningful with error 0x3/0x03 and `REFUSED` 0 only, as is
        /// `MARKER_RECEIVED`; otherwise stale.
        MARKER_EXPECTED: 9 [0; 16],
        /// FPDUPTR that it held, low two bits cleared.
        MARKER_RECEIVED: 9 [16; 16],
        /// CRC field as received, as the register value (first octet least significant).
        CRC_RECEIVED: 10 [0; 32],
        /// CRC register after the FPDU and `CRC_ZEROS` zero dwords.
        CRC_STATE: 11 [0; 32],
    }
}

macro_rules! values {
    ($(#[doc = $module_doc:literal])+ $module:ident { $( $(#[doc = $doc:literal])+ $name:ident = $value:literal; )+ }) => {
        $(#[doc = $module_doc])+
        pub mod $module {
            use crate::Value;
            $(
                $(#[doc = $doc])+
                pub const $name: u32 = $value;
            )+
            /// All of them, in ascending order.
            pub const VALUES: &[Value] = &[$(
                Value { name: stringify!($name), value: $name, doc: concat!($($doc),+) }
            ),+];
        }
    };
}

values! {
    /// Values of `completion::KIND`.
    kind {
        /// A tagged message was delivered.
        TAGGED = 1;
        /// An untagged message was delivered.
        UNTAGGED = 2;
        /// The stream had its first error.
        ERROR = 3;
        /// The peer closed the stream.
        CLOSED = 4;
    }
}

values! {
    /// Values of `error_record::REFUSED`. Values from 3 on end the stream (AMB-31); 3 is not an error and appears in no
    /// record.
    refused {
        /// MPA accepted the FPDU, and the stream does not end here.
        NO = 0;
        /// ULPDU_Length exceeds the device's largest ULPDU (AMB-21).
        LENGTH = 1;
        /// The FPDU exceeds the device's buffers (AMB-22).
        TOO_LARGE = 2;
        /// The peer's FIN follows the last octet of an FPDU.
        CLOSED = 3;
        /// The peer's FIN cuts an FPDU.
        TRUNCATED = 4;
        /// The connection ended without FIN: RST, time-out.
        LOST = 5;
        /// Octets arrived after the peer's FIN, or a second FIN at another position (DDP-TEAR-08).
        BEHIND_FIN = 6;
        /// A chunk of SCTP has a DDP-SSN that no chunk under way can have (RFC 5043 §10, AMB-34).
        SSN = 7;
    }
}

values! {
    /// Bits of `error_record::CHECKS` and `error_event::CHECKS`, by number (RFC 5041 §7.1). SHORT, VERSION, STAG, QN, NOBUF and
    /// MSN stand alone; ASSOC to END are evaluated side by side (AMB-01), and so are MO and LEN.
    check {
        /// The ULPDU is shorter than its DDP header.
        SHORT = 0;
        /// DV is not 1.
        VERSION = 1;
        /// No valid entry of the table has this STag.
        STAG = 2;
        /// The STag belongs to another stream or another protection domain.
        ASSOC = 3;
        /// No remote write right, or an empty region.
        ACCESS = 4;
        /// TO lies outside the region.
        TO = 5;
        /// TO plus payload length exceeds 2^64.
        WRAP = 6;
        /// TO plus payload length exceeds the end of the region.
        END = 7;
        /// The stream has no such queue.
        QN = 8;
        /// No buffer is posted for the MSN.
        NOBUF = 9;
        /// MO lies outside the buffer, or is not the expected one with `STRICT_MO`.
        MO = 10;
        /// MO plus payload length exceeds the buffer.
        LEN = 11;
        /// With `MSN_WINDOW`, a message that was completed before; without, not the next one.
        MSN = 12;
    }
}

/// All records, for documentation and exhaustive tests.
pub const LAYOUTS: &[crate::Layout] = &[
    stag_entry::LAYOUT,
    revoke::LAYOUT,
    stream_context::LAYOUT,
    close::LAYOUT,
    receive_buffer::LAYOUT,
    receive_ring::LAYOUT,
    receive_descriptor::LAYOUT,
    completion::LAYOUT,
    error_event::LAYOUT,
    close_event::LAYOUT,
    error_record::LAYOUT,
];

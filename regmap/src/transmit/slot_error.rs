//! Why a request must not be posted, or why a slot is not a request.

use super::{ELEMENTS_MAX, INLINE_MAX};
use core::fmt;

/// A request must not be posted, or a slot is not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotError {
    /// `KIND` is neither tagged nor untagged.
    Kind {
        /// `KIND` as found.
        kind: u64,
    },
    /// Bits of the first word that have no meaning are not 0.
    Reserved {
        /// Those that are 1.
        bits: u32,
    },
    /// A request has at most 8 elements.
    Elements {
        /// Elements given or announced.
        count: usize,
    },
    /// An inline request has at most 64 octets.
    Inline {
        /// Octets given or announced.
        count: usize,
    },
    /// An element has no octets: leave it out.
    EmptyElement {
        /// Its index.
        index: usize,
    },
    /// An element runs past 2^64.
    ElementWrap {
        /// Its index.
        index: usize,
        /// Its Tagged Offset.
        offset: u64,
        /// Its octets.
        length: u32,
    },
    /// A DDP message has fewer than 2^32 octets (DDP-SEG-02).
    TooLong {
        /// Sum of the elements.
        length: u64,
    },
    /// `LENGTH` differs from the octets of the payload.
    Length {
        /// `LENGTH` as found.
        announced: u32,
        /// Sum of the elements, or octets of an inline request.
        found: u32,
    },
    /// A tagged message runs past 2^64.
    Wrap {
        /// Its Tagged Offset.
        offset: u64,
        /// Its octets.
        length: u32,
    },
}

impl fmt::Display for SlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Kind { kind } => write!(f, "kind {kind} of a send slot does not exist"),
            Self::Reserved { bits } => {
                write!(f, "reserved bits {bits:#010x} of a send slot are set")
            }
            Self::Elements { count } => {
                write!(
                    f,
                    "{count} elements exceed {ELEMENTS_MAX}: split the message"
                )
            }
            Self::Inline { count } => {
                write!(
                    f,
                    "{count} inline octets exceed {INLINE_MAX}: use an element"
                )
            }
            Self::EmptyElement { index } => {
                write!(f, "element {index} is empty: leave it out")
            }
            Self::ElementWrap {
                index,
                offset,
                length,
            } => write!(
                f,
                "element {index} of {length} octets at {offset:#x} runs past 2^64"
            ),
            Self::TooLong { length } => {
                write!(f, "message of {length} octets: split it below 2^32 octets")
            }
            Self::Length { announced, found } => {
                write!(f, "slot announces {announced} octets and has {found}")
            }
            Self::Wrap { offset, length } => write!(
                f,
                "tagged message of {length} octets at {offset:#x} runs past 2^64"
            ),
        }
    }
}

impl core::error::Error for SlotError {}

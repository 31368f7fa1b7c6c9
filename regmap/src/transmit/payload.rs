//! What a message carries: elements of local memory, or octets in the slot.

use super::slot_error::SlotError;
use super::{ELEMENTS_MAX, INLINE_MAX};

/// One piece of local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// STag of the region.
    pub stag: u32,
    /// Octets, at least 1.
    pub length: u32,
    /// Tagged Offset in the region.
    pub offset: u64,
}

/// Up to 8 elements of less than 2^32 octets together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gather {
    elements: [Element; ELEMENTS_MAX],
    count: usize,
    length: u32,
}

impl Gather {
    /// Checks the number of elements, each element, and their sum.
    pub fn new(elements: &[Element]) -> Result<Self, SlotError> {
        let mut gather = Self::default();
        let count = elements.len();
        let Some(slots) = gather.elements.get_mut(..count) else {
            return Err(SlotError::Elements { count });
        };
        let mut length = 0;
        for (index, (slot, element)) in slots.iter_mut().zip(elements).enumerate() {
            check_element(index, element)?;
            length += u64::from(element.length);
            *slot = *element;
        }
        gather.length = u32::try_from(length).map_err(|_| SlotError::TooLong { length })?;
        gather.count = count;
        Ok(gather)
    }

    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> &[Element] {
        self.elements.get(..self.count).unwrap_or_default()
    }
}

fn check_element(index: usize, element: &Element) -> Result<(), SlotError> {
    let Element { length, offset, .. } = *element;
    if length == 0 {
        return Err(SlotError::EmptyElement { index });
    }
    if wraps(offset, length) {
        return Err(SlotError::ElementWrap {
            index,
            offset,
            length,
        });
    }
    Ok(())
}

/// Whether `length` octets at `offset` run past 2^64.
pub(super) fn wraps(offset: u64, length: u32) -> bool {
    u128::from(offset) + u128::from(length) > 1 << 64
}

/// Up to 64 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inline {
    pub(super) octets: [u8; INLINE_MAX],
    pub(super) count: usize,
}

impl Inline {
    /// Checks the number of octets.
    pub fn new(octets: &[u8]) -> Result<Self, SlotError> {
        let count = octets.len();
        let mut inline = Self {
            octets: [0; INLINE_MAX],
            count,
        };
        let Some(slots) = inline.octets.get_mut(..count) else {
            return Err(SlotError::Inline { count });
        };
        slots.copy_from_slice(octets);
        Ok(inline)
    }

    /// The octets.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.octets.get(..self.count).unwrap_or_default()
    }
}

/// What a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Local memory; no element for an empty message.
    Gather(Gather),
    /// Octets in the slot.
    Inline(Inline),
}

impl Payload {
    /// Octets of the message.
    #[must_use]
    pub fn length(&self) -> u32 {
        match self {
            Self::Gather(gather) => gather.length,
            Self::Inline(inline) => inline.count as u32,
        }
    }
}

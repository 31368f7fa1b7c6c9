//! A DDP segment among the octets, what its header says, and the STags in it.

use warpline_wire::Field as Place;
use warpline_wire::ddp::{Control, field};
use warpline_wire::rdmap;

use super::field::{Field, Octets};
use super::name;

/// Where a DDP segment is.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    /// Its first octet, among those without markers.
    pub start: usize,
    /// Its octets, whether they are there or not; of a header that a Terminate returns, those of the header.
    pub length: usize,
    /// It is a header that a Terminate returns, not one that was received: its checks do not count.
    pub returned: bool,
}

impl Segment {
    pub(super) fn place(&self, place: Place) -> Place {
        self.start + place.start..self.start + place.end
    }

    pub(super) fn octet(&self, at: usize) -> Place {
        self.place(at..at + 1)
    }
}

/// What the header says, as far as it is there.
#[derive(Clone, Copy, Default)]
pub(super) struct Header {
    pub control: Option<Control>,
    /// The octet that RDMAP has in RsvdULP.
    pub rdmap: Option<rdmap::Control>,
    /// Queue number, if the segment is untagged.
    pub qn: Option<u32>,
    /// Message offset, if the segment is untagged.
    pub mo: Option<u32>,
}

/// An STag and its parts.
pub(super) fn stag(
    fields: &mut Vec<Field>,
    octets: &Octets<'_>,
    [name, index, key]: name::StagNames,
    place: Place,
) {
    let start = place.start;
    let Some(field) = octets.field(name, place) else {
        return;
    };
    let whole = !field.cut;
    fields.push(field.hexadecimal().meaning("names a Tagged Buffer"));
    if whole {
        for (name, part) in [(index, field::stag::INDEX), (key, field::stag::KEY)] {
            let part = octets.field(name, start + part.start..start + part.end);
            fields.extend(part.map(Field::hexadecimal));
        }
    }
}

//! A field: where its octets are, what value they have, and what that means.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use warpline_wire::Field as Place;

use super::amount::in_octets;
use super::finding::Finding;
use super::name::Name;

/// Octets of a payload that are kept, unless all are asked for.
const SHORT: usize = 8;

/// Octets without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Offset of the first one in the unit.
    pub offset: usize,
    /// How many.
    pub length: usize,
}

/// One field of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Layer and field, for programs; the names in [`ALL`](super::ALL). A field of the header that a Terminate returns has
    /// `terminated.` in front.
    pub name: Cow<'static, str>,
    /// For people.
    #[serde(skip)]
    pub label: &'static str,
    /// Where its octets are. A marker splits a field into two pieces.
    pub pieces: Vec<Piece>,
    /// Its octets as received, in hexadecimal; of a payload the first ones, unless all are asked for.
    #[serde(serialize_with = "hex")]
    pub octets: Vec<u8>,
    /// Octets of the field that are there.
    pub length: usize,
    /// Which bits of them, counted from the last bit of the last octet; all if absent.
    pub bits: Option<u32>,
    /// Its value, if it is a number and all of its octets are there.
    pub value: Option<u64>,
    /// Its value for people.
    #[serde(skip)]
    pub shown: String,
    /// What the value means.
    pub meaning: String,
    /// What is wrong with it, or worth knowing.
    pub findings: Vec<Finding>,
    /// Some of its octets are missing.
    pub cut: bool,
}

fn hex<S: Serializer>(octets: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    use std::fmt::Write;
    let mut text = String::with_capacity(2 * octets.len());
    for octet in octets {
        let _ = write!(text, "{octet:02x}"); // a String takes all
    }
    serializer.serialize_str(&text)
}

impl Field {
    /// The value, from the octets: big-endian, without the other bits.
    fn number(&self) -> Option<u64> {
        if self.cut || self.octets.len() > 8 || self.octets.len() != self.length {
            return None;
        }
        let all = self
            .octets
            .iter()
            .fold(0, |value: u64, octet| value << 8 | u64::from(*octet));
        Some(match self.bits {
            None => all,
            Some(0) => 0,
            Some(bits) => (all & u64::from(bits)) >> bits.trailing_zeros(),
        })
    }

    /// With its value in decimal.
    pub(super) fn decimal(mut self) -> Self {
        self.value = self.number();
        self.shown = self
            .value
            .map_or_else(String::new, |value| value.to_string());
        self
    }

    /// With its value in hexadecimal.
    pub(super) fn hexadecimal(mut self) -> Self {
        self.value = self.number();
        let digits = 2 + 2 * self.length;
        self.shown = self
            .value
            .map_or_else(String::new, |value| format!("{value:#0digits$x}"));
        self
    }

    /// With another value than the octets have in their order.
    pub(super) fn valued(mut self, value: u64, shown: String) -> Self {
        (self.value, self.shown) = (Some(value), shown);
        self
    }

    /// With octets of any number, which are data.
    pub(super) fn data(mut self, whole: bool) -> Self {
        if !whole {
            self.octets.truncate(SHORT);
        }
        self.shown = in_octets(self.length);
        self
    }

    /// With what it means, unless it is cut.
    pub(super) fn meaning(mut self, meaning: impl Into<String>) -> Self {
        self.meaning = match self.cut {
            true => "cut off".into(),
            false => meaning.into(),
        };
        self
    }

    /// With a finding.
    pub(super) fn finding(mut self, finding: impl Into<Option<Finding>>) -> Self {
        self.findings.extend(finding.into());
        self
    }

    /// With a finding if something is so, which can be said of a whole field only.
    pub(super) fn finding_if(self, so: bool, finding: impl FnOnce() -> Finding) -> Self {
        let so = so && !self.cut;
        self.finding(so.then(finding))
    }

    /// Whether any of its bits is set.
    pub(super) fn is_set(&self) -> bool {
        self.number().is_some_and(|value| value != 0)
    }
}

/// The octets of a unit without its markers, and where they are in it.
pub(super) struct Octets<'a> {
    /// Those that are there.
    pub present: &'a [u8],
    /// First octet of each run between markers: among those present, and in the unit. Never empty.
    pub runs: Vec<(usize, usize)>,
}

impl<'a> Octets<'a> {
    /// Octets without markers.
    pub(super) fn plain(present: &'a [u8]) -> Self {
        Self {
            present,
            runs: vec![(0, 0)],
        }
    }

    /// A field, if at least one of its octets is there, or it has none.
    pub(super) fn field(&self, name: Name, place: Place) -> Option<Field> {
        let end = place.end.min(self.present.len());
        if place.start > end || (place.start == end && place.end > end) {
            return None;
        }
        let octets = &self.present[place.start..end];
        Some(Field {
            name: Cow::Borrowed(name.id),
            label: name.label,
            pieces: self.pieces(place.start, end),
            octets: octets.to_vec(),
            length: octets.len(),
            bits: None,
            value: None,
            shown: String::new(),
            meaning: String::new(),
            findings: Vec::new(),
            cut: end < place.end,
        })
    }

    /// Some bits of the octets at `place`.
    pub(super) fn bits(&self, name: Name, place: Place, bits: u32) -> Option<Field> {
        let field = self.field(name, place)?;
        let bits = Some(bits);
        (!field.cut).then_some(Field { bits, ..field })
    }

    fn pieces(&self, start: usize, end: usize) -> Vec<Piece> {
        let ends = self.runs.iter().skip(1).map(|(first, _)| *first);
        let runs = self.runs.iter().zip(ends.chain([usize::MAX]));
        let pieces = runs.filter_map(|((first, offset), next)| {
            let (from, to) = (start.max(*first), end.min(next));
            let empty_here = start == end && from == start && start < next;
            (from < to || empty_here).then(|| Piece {
                offset: offset + from - first,
                length: to.saturating_sub(from),
            })
        });
        let mut pieces: Vec<_> = pieces.collect();
        if start == end {
            pieces.truncate(1);
        }
        pieces
    }
}

//! An explanation as one JSON document.
//!
//! ```text
//!  { "format": "warpline explain 1", "source": { … }, "units": [ { … }, … ], "tally": { … } }
//! ```
//!
//! Units are written one at a time: the document may be larger than memory.

use std::cell::{Cell, RefCell};
use std::io::Write;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::unit::{Tally, Unit};

/// The document's `format`. The number rises when a name gets another meaning or goes away; new names may come without it.
pub const FORMAT: &str = "warpline explain 1";

/// Where the octets are from, and how they were taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// `capture` or `octets`.
    pub kind: &'static str,
    /// The connection in a capture, from 1, if MPA start-up succeeded.
    pub connection: Option<usize>,
    /// `initiator` or `responder`: whose octets the FPDUs of a capture are.
    pub direction: Option<&'static str>,
    /// Address of the Initiator in a capture.
    pub initiator: Option<String>,
    /// Address of the Responder in a capture.
    pub responder: Option<String>,
    /// The FPDUs are taken to carry markers.
    pub markers: bool,
    /// Their CRCs are checked.
    pub crc: bool,
    /// What is left out of a capture, a line each.
    pub warnings: Vec<String>,
}

/// The units, each serialized when it is explained.
struct Streamed<'a, I> {
    units: RefCell<I>,
    tally: &'a Cell<Tally>,
}

impl<I: Iterator<Item = Unit>> Serialize for Streamed<'_, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut units = self.units.borrow_mut();
        serializer.collect_seq(units.by_ref().inspect(|unit| {
            let mut tally = self.tally.get();
            tally.count(unit);
            self.tally.set(tally);
        }))
    }
}

/// Writes the document, and returns what it counts.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(
    out: impl Write,
    source: &Source,
    units: impl Iterator<Item = Unit>,
) -> serde_json::Result<Tally> {
    let tally = Cell::new(Tally::default());
    let mut serializer = serde_json::Serializer::new(out);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("format", FORMAT)?;
    map.serialize_entry("source", source)?;
    let streamed = Streamed {
        units: RefCell::new(units),
        tally: &tally,
    };
    map.serialize_entry("units", &streamed)?;
    map.serialize_entry("tally", &tally.get())?;
    map.end()?;
    Ok(tally.get())
}

//! All recorded figures as one HTML page: `warpline report`.
//!
//! ```text
//!  docs/**.json, constraints/reports/*.json ─► record ─► records ─┬─► a section for each subject ─► page ─► HTML
//!  SystemVerilog of this program ─► rtl: its keys ────────────────┘    tables, and charts of SVG
//! ```
//!
//! A figure stands on the page as its record has it, rounded at most; nothing is measured anew. What a record lacks is said
//! where its figures would be, and once more in the list of records at the end. The page names no date and no machine: the
//! same records and the same program give the same octets.
//!
//! Records are input from outside: one that is missing, too long or of another form is a line on the page.

mod area;
mod conformance;
mod coverage;
mod figures;
mod glance;
mod host;
mod latency;
mod mutants;
mod page;
mod receive;
mod record;
mod records;
mod rtl;
mod runs;
mod state;
mod table;
mod tools;
mod transmit;

use std::path::Path;

use self::page::Section;
use self::records::Records;
use crate::Error;

/// A written page.
pub(crate) struct Page {
    /// Its text.
    pub html: String,
    /// Records that are missing or unusable, a line for each.
    pub complaints: Vec<String>,
}

/// Writes the page of the records below `root`.
///
/// # Errors
/// [`Error::NoRecords`] when there is none; [`Error::Design`], [`Error::Chart`].
pub(crate) fn page(root: &Path) -> Result<Page, Error> {
    let records = Records::read(root)?;
    let sections: [Section; 11] = [
        receive::section(&records)?,
        transmit::section(&records)?,
        latency::section(&records),
        area::section(&records),
        coverage::section(&records),
        mutants::section(&records),
        conformance::section(&records),
        runs::section(&records),
        host::section(&records),
        tools::section(&records),
        state::section(&records),
    ];
    Ok(Page {
        html: page::html(&glance::tiles(&records), &sections),
        complaints: records.complaints(),
    })
}

//! What a stream consists of: start frames and FPDUs, over SCTP chunks.

use serde::Serialize;

use super::field::Field;
use super::finding::{Check, Finding, Severity};

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The Initiator's start frame.
    Request,
    /// The Responder's start frame.
    Reply,
    /// Start Key of draft-culley-iwarp-mpa-03.
    DraftKey,
    /// An FPDU, or octets in an FPDU's place.
    Fpdu,
    /// A DATA chunk of SCTP, or its user data.
    Chunk,
}

/// A start frame, an FPDU or a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// What it is.
    pub unit: Kind,
    /// Number of an FPDU in its stream, from 1.
    pub number: Option<u64>,
    /// Stream position where an FPDU begins, its leading marker included.
    pub position: Option<u64>,
    /// TCP sequence number of the first octet, if it is known.
    pub sequence: Option<u32>,
    /// Octets that are there.
    pub length: usize,
    /// Octets that are missing at the end.
    pub missing: usize,
    /// So many are missing at least: the field that says how many is missing, too.
    pub missing_at_least: bool,
    /// In one line.
    pub summary: String,
    /// Its fields in the order of their octets.
    pub fields: Vec<Field>,
    /// What concerns the unit and not one field.
    pub findings: Vec<Finding>,
}

impl Unit {
    /// All findings, those of the fields first.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        let of_fields = self.fields.iter().flat_map(|field| &field.findings);
        of_fields.chain(&self.findings)
    }

    /// The fault that decides: of several, the one that a receiver checks first.
    #[must_use]
    pub fn verdict(&self) -> Option<&Finding> {
        self.all_findings()
            .filter(|finding| finding.severity == Severity::Fault)
            .min_by_key(|finding| finding.check)
    }

    /// The first field with a name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Counts units and findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Start frames.
    pub start_frames: u64,
    /// FPDUs.
    pub fpdus: u64,
    /// Chunks of SCTP.
    #[serde(skip_serializing_if = "is_none")]
    pub chunks: u64,
    /// Units with a fault.
    pub faulty_units: u64,
    /// The first FPDU that a receiver refuses, by its number: it drops what follows (MPA-ERR-12, DDP-ERR-20).
    pub first_refused: Option<u64>,
    /// Faults.
    pub faults: u64,
    /// Notes.
    pub notes: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Tally {
    /// Counts a unit.
    pub fn count(&mut self, unit: &Unit) {
        match unit.unit {
            Kind::Fpdu => self.fpdus += 1,
            Kind::Chunk => self.chunks += 1,
            Kind::Request | Kind::Reply | Kind::DraftKey => self.start_frames += 1,
        }
        if let Some(fault) = unit.verdict() {
            self.faulty_units += 1;
            if fault.check != Check::Complete && self.first_refused.is_none() {
                self.first_refused = unit.number;
            }
        }
        for finding in unit.all_findings() {
            match finding.severity {
                Severity::Fault => self.faults += 1,
                Severity::Note => self.notes += 1,
            }
        }
    }
}

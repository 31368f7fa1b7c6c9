//! What is wrong with a field, or worth knowing: the rule, and what a receiver makes of it.

use serde::Serialize;
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::rdmap::{self, Layer};

/// Whether a receiver refuses the octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A receiver refuses them, or the rest of them is missing.
    Fault,
    /// A receiver accepts them: the sender has broken a rule, or something has another meaning than usual.
    Note,
}

/// The check that fails, in the order in which a receiver makes them: the first one decides what it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A start frame is none.
    Start,
    /// ULPDU_Length is above the limit.
    Length,
    /// The octets end inside the frame.
    Complete,
    /// A chunk of SCTP is none of DDP's two kinds.
    Chunk,
    /// The CRC.
    Crc,
    /// A marker's FPDUPTR.
    Marker,
    /// The ULPDU holds a whole DDP header.
    DdpHeader,
    /// DV.
    DdpVersion,
    /// QN.
    Queue,
    /// The payload ends inside the space of TO, or of MO.
    Bounds,
    /// RV, opcode, and how the message is addressed.
    Rdmap,
    /// The length of an RDMAP header.
    RdmapLength,
    /// Nothing that a receiver checks.
    None,
}

/// The error that a receiver reports, as a Terminate has it (RFC 5040 §4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reports {
    /// Layer: 0 RDMAP, 1 DDP, 2 MPA.
    pub layer: u8,
    /// Error type.
    pub error_type: u8,
    /// Error code.
    pub error_code: u8,
    /// The same in words.
    pub name: &'static str,
}

impl Reports {
    fn new(cause: rdmap::Cause) -> Self {
        let (layer, error_type, error_code) = cause.parts();
        Self {
            layer,
            error_type,
            error_code,
            name: cause.name().unwrap_or_default(),
        }
    }

    /// Name of the layer.
    #[must_use]
    pub fn layer_name(&self) -> &'static str {
        Layer::from_number(self.layer).map_or("unknown layer", Layer::name)
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Fault or note.
    pub severity: Severity,
    /// The check that fails.
    pub check: Check,
    /// What was found, and what should be there.
    pub text: String,
    /// The rule in the project's conformance table; RDMAP's rules have no row there.
    pub requirement: Option<&'static str>,
    /// Section of an RFC.
    pub section: &'static str,
    /// The error that a receiver reports, if it reports one.
    pub reports: Option<Reports>,
}

impl Finding {
    /// Something that a receiver accepts.
    pub(super) fn note(
        requirement: Option<&'static str>,
        section: &'static str,
        text: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Note,
            check: Check::None,
            text: text.into(),
            requirement,
            section,
            reports: None,
        }
    }

    /// Something that a receiver refuses.
    pub(super) fn fault(
        check: Check,
        requirement: &'static str,
        section: &'static str,
        text: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Fault,
            check,
            text: text.into(),
            requirement: Some(requirement),
            section,
            reports: None,
        }
    }

    /// Something that RDMAP refuses.
    pub(super) fn refused_by_rdmap(
        check: Check,
        section: &'static str,
        error: &rdmap::Error,
    ) -> Self {
        Self {
            requirement: None,
            reports: error.cause().map(Reports::new),
            ..Self::fault(check, "", section, error.to_string())
        }
    }

    /// The error that a receiver of DDP or MPA reports.
    pub(super) fn reported_as(self, number: ErrorNumber) -> Self {
        Self {
            reports: Some(Reports::new(rdmap::Cause::Lower(number))),
            ..self
        }
    }
}

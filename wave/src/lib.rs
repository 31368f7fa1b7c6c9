//! Timing diagrams of waveforms: FST or VCD in, SVG out.
//!
//! ```text
//!  file ─► Trace ─ signal names ─► Samples: values by clock cycle ─► Line, Lane ─► Diagram ─► SVG
//! ```
//!
//! A cycle of the clock ends with a rising edge, and its values are those just before that edge: what registers see. The first
//! cycle of a file is cycle 0. Nothing here knows iWARP.
//!
//! ```no_run
//! use warpline_wave::{Diagram, Trace, rows};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut trace = Trace::open("run.fst", None)?;
//! let names = ["s_axis_segment_tvalid", "s_axis_segment_tready", "s_axis_segment_tdata"];
//! let mut diagram = Diagram::new("Segment in", trace.window(100, 120)?);
//! diagram.rows = rows(&mut trace, &names, true)?;
//! std::fs::write("segment.svg", diagram.svg())?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod columns;
mod diagram;
mod error;
mod samples;
mod signals;
mod svg;
mod trace;

pub use columns::{Column, KEEP, columns};
pub use diagram::{Diagram, Ink, Lane, Level, Line, Row, Span};
pub use error::Error;
pub use samples::{Samples, Value};
pub use signals::rows;
pub use trace::{Signal, Trace};

//! The life of an FPDU in the device, as a timing diagram.
//!
//! ```text
//!  waveform of a replay ─► Signals ─► Life: its cycles at each port ─► Diagram
//!  captured stream ──────► Fpdu: number, position, length ┘
//! ```
//!
//! Blocks keep the order of FPDUs, so the n-th start of `fetch` is the n-th run of beats and the n-th verdict. Decisions are
//! recognised by the rows of the commit buffer that they release, bursts by the running number that `place` gives with each
//! decision, and bursts of the shared bus by their addresses.

mod fpdu;
mod life;
mod picture;
mod signals;

pub use fpdu::{Fpdu, fpdus};
pub use life::{Life, Stage};
pub use picture::diagram;

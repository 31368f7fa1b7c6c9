//! `frame`: ULPDUs of every length at every position become the FPDUs that `warpline_wire::send::FpduWriter` writes and the
//! reference receiver's framing reads, at the four widths, with idle cycles and back-pressure, and without both at one beat
//! a cycle.
//!
//! ```text
//!  ULPDUs ─┬─► s_ulpdu, s_data ─► frame ─► m_beat, m_data ─► as due? stable? ─► Framing ─► the same ULPDU?
//!          └─► FpduWriter ─► beats that are due ─────────────────┘
//! ```

mod faults;
mod random;
mod rate;
mod support;
mod vectors;

//! `transmit_ring`: any range of any FPDU that is complete, first or again, against a plain model of the streams; boundaries,
//! acknowledgements, failed FPDUs, arming and closing, with idle cycles and back-pressure on all ports, and without at one
//! beat a cycle.
//!
//! ```text
//!  FpduWriter ─► FPDUs ─┬─► s_beat ──────► transmit_ring ─► complete, freed, quiet ─┬─► as the model says?
//!  commands ────────────┼─► s_axis_send ─►               ─► m_axis_transmit ────────┤   stable?
//!                       │                                ─► m_axis_status ──────────┤
//!                       └─► model: octets, edges, boundaries, what is acknowledged ─┘
//! ```

mod checks;
mod directed;
mod faults;
mod model;
mod random;
mod rate;
mod support;
mod wrap;

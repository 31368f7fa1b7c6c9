//! DDP over SCTP through the whole device: chunks and TCP segments at its ports, registers and memory as a host has them, against the
//! reference receiver `wire::sctp`.
//!
//! ```text
//!  chunks ────► s_axis_sctp ──►┌────────┐──► m_axi ──► memory, completions ─► as the reference has them?
//!  segments ──► s_axis_segment►│ device │
//!  commands ──► s_axil ───────►└────────┘──► m_axis_chunk ─► status: as wire::sctp::Order judges?
//!  send rings ► m_axi, s_axis_send ─────────► m_axis_transmit ─► chunks: as wire::sctp::Sender has them? ─► s_axis_sctp
//! ```

mod directed;
mod duplex;
mod faults;
mod random;
mod rate;
mod reference;
mod support;
mod transmit;

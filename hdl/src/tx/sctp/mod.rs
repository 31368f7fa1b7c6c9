//! DDP over SCTP on the transmit side (RFC 5043): FPDUs of the transmit ring in, user data of chunks out.
//!
//! ```text
//!  transmit_ring: range_read ─ an FPDU ─► chunks ─ DDP-SSN · DDP segment ─► m_axis_transmit
//! ```
//!
//! A device has it as an option, [`Config::sctp`](crate::Config::sctp) with [`Config::transmit`](crate::Config::transmit).

pub mod chunks;

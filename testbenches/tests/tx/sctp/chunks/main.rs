//! `chunks`: SENDs of TCP streams and of sessions of SCTP in turns; what leaves, against the sender of `wire::sctp`.
//!
//! ```text
//!  SENDs, accepted ahead ─►┌────────┐
//!  their octets, idle ────►│ chunks │─► packets ─► as wire::sctp::Sender numbers them, as wire::mpa has their lengths?
//!  sessions armed anew ───►└────────┘   ▲ back-pressure
//! ```

mod faults;
mod random;
mod support;
mod timing;

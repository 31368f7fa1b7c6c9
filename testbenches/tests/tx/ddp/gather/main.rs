//! `gather`: pieces of every length, from every lane to every lane, come out as the octets of their ULPDUs, at the four
//! widths, whatever the bus does; without idle cycles at one source beat a cycle.
//!
//! ```text
//!  pieces ─┬─► s_piece ─► gather ─► m_data, m_failed ─► as due? stable?
//!          │                ▲ AR, R
//!          │              ReadBus ─► AXI's rules, and only the beats of the pieces?
//!          └─► octets, verdicts that are due
//! ```

mod faults;
mod random;
mod rate;
mod support;

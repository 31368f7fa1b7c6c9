//! `scan`: every kind of length at random positions, octets landing one by one or in heaps, streams that come and go,
//! against `warpline_wire::mpa::fpdu_len`.
//!
//! ```text
//!  Source of each stream ─ landed, header rows ─►┌──────┐─ issued ─► whole by then? next in its stream?
//!    plan of FPDUs         arm, close ──────────►│ scan │─ Fpdu ──► as planned, in the order of `issued`
//!                                                └──────┘◄─ fpdu_ready
//! ```

mod full_and_closed;
mod gates;
mod lengths;
mod look_ahead;
mod rate;
mod support;

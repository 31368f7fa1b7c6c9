//! `order`: chunks of several streams in any order, against the order machine of `wire::sctp`, slots, and a model of
//! `fetch` and `check`.
//!
//! ```text
//!  keys ──►┌───────┐─ answer, report ─► as wire::sctp::Order judges, and as there are slots?
//!  ends ──►│ order │─ Fpdu ─► due? ─► read: tail ─┐
//!          └───────┘◄── verdicts, tail ───────────┘
//! ```

mod directed;
mod faults;
mod random;
mod support;
mod timing;

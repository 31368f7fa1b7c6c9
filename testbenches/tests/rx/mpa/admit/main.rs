//! `admit`: random segments of four streams, in order and not, against positions that never wrap.
//!
//! ```text
//!  Sender ─ beats, arm, close, tails ─►┌───────┐─ beats, pulses, edges, limits ─► equal to what Model says?
//!    │ positions as i64                │ admit │
//!    └───────────────────────────────► Model   LATENCY cycles later
//! ```

mod directed;
mod random;
mod support;

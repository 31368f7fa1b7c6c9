//! `ingress`: TCP streams with and without markers, cut, sent twice, too early or too late, in lockstep; what reaches the
//! commit buffer is what `warpline_wire` finds in the streams.
//!
//! ```text
//!  FpduWriter ─► faults ─► TCP sender ─ segments ─►┌─────────┐─ DdpSegment ─┐
//!      └──────► Framing                  arm,close │ ingress │─ Verdict ────┴► Host: as Framing says?
//!               └─► Expected ◄─ edge, limit ───────└─────────┘◄ rows, freed, consumed ─┘
//! ```

mod random;
mod rate;
mod support;

//! DDP over SCTP on the receive side (RFC 5043): chunks in any order in, FPDUs for `fetch` out.
//!
//! ```text
//!  s_axis_sctp ─► intake ─ RingBeat ─► slot of the stream's ring ═► fetch
//!                  ▲ │                                               ▲
//!                  │ └► order ─ Fpdu, in order or ahead ─────────────┘
//!                  └──── answer
//! ```

pub mod intake;
pub mod order;

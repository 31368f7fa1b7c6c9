//! DDP over SCTP on the receive side (RFC 5043): chunks in any order in, FPDUs for `fetch` out.
//!
//! ```text
//!  s_axis_sctp ─► intake ─ RingBeat ─► slot of the stream's ring ═► fetch
//!                  ▲ │                                               ▲
//!                  │ └► order ─ Fpdu, in order or ahead ─────────────┘
//!                  └──── answer
//! ```
//!
//! [`receive`](receive::Receive) is both, and their connections to the path that they share with TCP. A device has it as an option,
//! [`Config::sctp`](crate::Config::sctp).

pub mod intake;
pub mod order;
pub mod receive;

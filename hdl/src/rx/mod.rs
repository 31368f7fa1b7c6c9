//! The receive path: from TCP segments, and chunks of SCTP, to payload in host memory.
//!
//! ```text
//!  s_axis_segment ─► mpa: FPDUs found, checked, markers removed ─► ddp: judged, placed, delivered ─► host
//!  s_axis_sctp ────► sctp: chunks put in order ──► ring ┘
//! ```

pub mod ddp;
pub mod mpa;
pub mod sctp;

//! The receive path: from TCP segments to payload in host memory.
//!
//! ```text
//!  s_axis_segment ─► mpa: FPDUs found, checked, markers removed ─► ddp: judged, placed, delivered ─► host
//! ```

pub mod ddp;
pub mod mpa;

//! Tables that both directions read.

pub mod stag_copy;

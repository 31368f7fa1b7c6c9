//! Tables that both directions read, and what is checked against them.

pub mod stag_copy;
pub mod stag_table;
pub mod tagged_checks;

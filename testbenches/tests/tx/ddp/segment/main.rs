//! `segment`: requests of several streams become the DDP segments that RFC 5041 §5.2 asks for, as large as MULPDU allows, in the
//! order of the requests, with idle cycles and back-pressure; what is not sent is reported with its status.
//!
//! ```text
//!  requests ─┬─► slots ─► head, rows ─► segment ─► pieces, SendSegment ─► as due? room? gate? order?
//!            └─► header and payload of each segment, by `warpline_wire` ─────┘
//! ```

mod bench;
mod faults;
mod hazards;
mod model;
mod parts;
mod random;
mod rate;
mod requests;
mod rules;

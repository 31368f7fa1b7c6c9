//! `local_access`: segments whose pieces the STag table allows come out with bus addresses, the others do not, and each has
//! its verdict, whatever their number, with idle cycles and back-pressure; without them at a piece a cycle.
//!
//! ```text
//!  LocalPieces ─┬─► local_access ─► Piece, status ─► as due? stable?
//!               │      ▲ entries of a table of the bench
//!               └─► the same checks in 128 bits
//! ```

mod faults;
mod judging;
mod segments;
mod support;

//! `settle`: every request has its completion, with the status of its first failure or as flushed, in the order of the
//! requests; nothing behind a failure stays in the ring; with idle cycles and back-pressure.
//!
//! ```text
//!  messages of streams ─► SendSegment, status ─► settle ─► Ulpdu ─► a ring ─► complete
//!                   └─► entries that are due ─────┴─────► send_event
//! ```

mod cases;
mod faults;
mod random;
mod support;

//! `intake`: random chunks, answers after random times, and closes; what is written into the slots, and which ends are told.
//!
//! ```text
//!  chunks, idle cycles ─►┌────────┐─ keys ─► due? ─► answers ─┐
//!                        │ intake │◄──────────────────────────┘
//!                        └────────┘─ beats, ends ─► due, and no end before its last beat?
//! ```

mod faults;
mod random;
mod support;
mod timing;

//! `read_responder`: each Read Request of a stream whose responder is on becomes one slot of its Read Response, in order, and
//! its buffer is given back once; every other event passes unchanged, and what is not a Read Request goes to the host with all
//! behind it, whatever the memory's delays, idle cycles and back-pressure.
//!
//! ```text
//!  events, fences ─►┌────────────────┐─► events, fences, compared with what must pass
//!  set, close ─────►│ read_responder │─► head, rows ─► SendRequest::parse ─► as the peer's request says
//!  doorbells ──────►└───────┬────────┘─► doorbells, counted
//!              ReadBus: requests that the bench's peer wrote
//! ```

mod captured;
mod checks;
mod faults;
mod model;
mod planted;
mod random;
mod rate;
mod support;

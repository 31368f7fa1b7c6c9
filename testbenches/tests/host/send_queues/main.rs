//! `send_queues`: every slot that a doorbell announces is read once, in order, with exactly the beats that it needs, and given
//! with its rows, its bus errors and its number; `head` rises in exactly the cycle that the block states, no stream stops
//! another one, and a ring can be replaced.
//!
//! ```text
//!  host: set, doorbell, freeze, detach ─►┌─────────────┐─ head, rows ─► consumer, compared row by row
//!                                        │ send_queues │◄ pop ────────┘
//!                                        └──────┬──────┘
//!                                Memory: rings of requests and of noise, several bursts under way
//! ```

mod checks;
mod directed;
mod faults;
mod host;
mod memory;
mod model;
mod random;
mod rate;
mod slots;
mod support;

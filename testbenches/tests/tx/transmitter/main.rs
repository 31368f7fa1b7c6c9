//! The transmit path as a whole: what hosts post in send rings leaves `m_axis_transmit` as the FPDUs that
//! `warpline_wire::send` makes of it, in any ranges and again, and every request has its completion.
//!
//! ```text
//!  requests ─┬─► send rings, doorbells ─► transmitter ◄──► TCP: SEND, ACKNOWLEDGE ─► octets as due?
//!            │        memory, STag table ◄─► │  └─► send_event ─► as due?
//!            └─► segments, FpduWriter ───────┴─────────────────────────┘
//! ```
//!
//! At 64 bits. Its blocks are simulated at all widths; the whole device is at 512 bits in `sim/tests/transmit`, at all widths by
//! `make long-transmit`.

mod model;
mod streams;
mod support;

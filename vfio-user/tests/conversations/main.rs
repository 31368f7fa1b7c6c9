//! Client and server against each other, and each against peers that break the rules.
//!
//! ```text
//!  round_trips      Client ◄─► serve ─► model       every call, every refusal
//!  property         Client ◄─► serve ─► model       random calls against a second model; a client that ignores errors is detected
//!  hostile_server   Client ◄─► messages that a server must not send
//!  hostile_client   messages that a client must not send ─► serve ─► model
//!  listener         the socket file
//!  fuzz_smoke       the bodies of the fuzz targets over pseudo-random inputs
//! ```

mod fuzz_smoke;
mod hostile_client;
mod hostile_server;
mod listener;
mod model;
mod property;
mod raw;
mod round_trips;

//! Client and server against each other, and each against peers that break the rules.
//!
//! ```text
//!  round_trips      Client ◄─► serve ─► model       every call, every refusal
//!  property         Client ◄─► serve ─► model       random calls against a second reckoning; a deaf client is found out
//!  hostile_server   Client ◄─► what a server must not say
//!  hostile_client   what a client must not say ─► serve ─► model
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

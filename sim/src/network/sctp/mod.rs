//! DDP over SCTP (RFC 5043) at the card.
//!
//! ```text
//!  peer ◄─► UDP ◄─► usrsctp ◄─► associations: sessions, DDP-SSNs ─► chunks ─► s_axis_sctp
//!                                    ▲                                ▲ ◄──── m_axis_chunk
//!                                    └──────── fpdu ◄── transmit ring
//! ```

#[cfg(feature = "sctp")]
pub(crate) mod associations;
#[cfg_attr(
    not(feature = "sctp"),
    allow(dead_code, reason = "associations pass chunks")
)]
pub(crate) mod chunks;
#[cfg(feature = "sctp")]
pub(crate) mod error;
#[cfg(feature = "sctp")]
pub(crate) mod event;
#[cfg(feature = "sctp")]
mod fpdu;
#[cfg(feature = "sctp")]
pub(crate) mod options;
#[cfg(feature = "sctp")]
mod session;
#[cfg(feature = "sctp")]
mod table;

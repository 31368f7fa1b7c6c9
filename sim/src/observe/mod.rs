//! A view of the card from outside: what its registers read, what hosts have done to streams, and what TCP has accepted.
//!
//! ```text
//!  accesses ─► Follow ──────────┐
//!  completion entries on m_axi ─┼─► activity ─┐
//!  octets that TCP has accepted ┘             ├─► Observation ─► who draws or prints it
//!  registers, read as a host reads them ──────┘
//! ```
//!
//! Nothing that a host sees changes: registers are only read, and no read of one has an effect. `COMMAND` is not read, since
//! that is how a host learns that its command is done. Time advances by the cycles of the reads, as for any access.

pub(crate) mod activity;
pub(crate) mod observation;
mod observer;

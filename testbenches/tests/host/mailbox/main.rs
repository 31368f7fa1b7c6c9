//! `mailbox`: accesses of the host and of the control program against a model of `warpline_regmap::mailbox`, in front
//! of a stand-in for `registers` whose commands take random time and are refused at random.
//!
//! ```text
//!  host ────► s_axil ─────────►┌─────────┐
//!                              │ mailbox │─► m_axil ─► stand-in: words at random, commands
//!  control ─► s_axil_control ─►└─────────┘─► interrupt, compared in every cycle
//! ```
//!
//! The block states in which cycle before its response an access takes effect, so the model is exact: every word read,
//! every access of `m_axil` and every output has one right value. The simulated card has a mailbox in software
//! (`sim/src/transmit`), of which the model differs here:
//!
//! * the card clears `HOST_MESSAGE.RESET` whatever the strobes are; its control port has none. Here the strobe of the
//!   octet counts, as `regmap::register` says.
//! * the card sends a message of vector 2 each time that the host enables it while it is pending. `interrupts` of the
//!   RTL sends one for each time that it occurs, of its other vectors as well.
//! * accesses of the card follow each other. Here two may be in the same cycle: what clears a bit is first, what sets it
//!   second, and of two commands that start in the same cycle the one of the side that was not last.

mod directed;
mod faults;
mod model;
mod random;
mod rate;
mod side;
mod stand_in;
mod support;
mod with_registers;

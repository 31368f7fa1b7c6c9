//! The sending direction, of a device that has it in RTL, and of one that only receives: for that, what it lacks is software.
//!
//! ```text
//!  a device with the transmit path:
//!  host ────────────► s_axil ─────────► RTL ─► m_axi ──────────► host memory
//!  control program ─► s_axil_control ─►  └───► ring ───────────► connections
//!
//!  one without, opened with CardOptions::transmit:
//!  host ────────────► ┌────────┐ ─► s_axil ─► RTL ─► m_axi ────► host memory
//!  control program ─► │ access ├─► mailbox, commands
//!                     └────────┘─► software ─► FPDUs ──────────► connections
//! ```
//!
//! - `access`: which accesses are answered here, which pass, and which do both.
//! - `commands`: one pair of `ARGUMENT` and `COMMAND` for each side, in front of the RTL's only one.
//! - `mailbox`, `software`: mailbox and send queues, on a device that has none.
//! - `ring`: TCP's side of the transmit ring, on a device that has one.
//! - `outgoing`: octets that TCP has not accepted, of either engine.

pub(crate) mod access;
pub(crate) mod commands;
mod mailbox;
pub(crate) mod octets;
mod outgoing;
pub(crate) mod port;
pub(crate) mod ring;
pub(crate) mod software;

use warpline_hdl::Config;

use commands::Commands;
use mailbox::Mailbox;
use software::Software;

/// What a device without the transmit path lacks, in software.
#[derive(Debug)]
pub(crate) struct Transmit {
    pub commands: Commands,
    pub mailbox: Mailbox,
    pub software: Software,
}

impl Transmit {
    /// As after reset.
    pub fn new(config: &Config) -> Self {
        Self {
            commands: Commands::default(),
            mailbox: Mailbox::default(),
            software: Software::new(config),
        }
    }

    /// Whether a command is under way, or the software engine has work that nothing holds up.
    pub fn is_busy(&self) -> bool {
        !self.commands.under_way.is_empty() || self.software.is_busy()
    }
}

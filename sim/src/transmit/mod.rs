//! What stands between the register ports and the RTL: the mailbox, the control program's register port, and either engine of the
//! send queues. Only cards opened with [`CardOptions::transmit`](crate::CardOptions::transmit) have it.
//!
//! ```text
//!  host ────────────► ┌────────┐ ─► s_axil ─► RTL ─► m_axi ──────────────────► host memory
//!  control program ─► │ access │                │ m_axis_transmit
//!                     └───┬────┘                └─► ring ──────► connections      a device with the transmit path
//!                         ├─► mailbox
//!                         └─► software: send queues ─► FPDUs ─► connections       one without
//! ```
//!
//! - `access`: which accesses are answered here, which pass, and which do both.
//! - `commands`: one pair of `ARGUMENT` and `COMMAND` for each side, in front of the RTL's only one.
//! - `software`: send queues, on a device that has none.
//! - `ring`: TCP's side of the transmit ring, on a device that has one, whatever the options are.
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

/// Commands and mailbox, and the engine if it is not the RTL's.
#[derive(Debug)]
pub(crate) struct Transmit {
    pub commands: Commands,
    pub mailbox: Mailbox,
    /// The engine of a device without the transmit path.
    pub software: Option<Software>,
}

impl Transmit {
    /// As after reset.
    pub fn new(config: &Config) -> Self {
        Self {
            commands: Commands::default(),
            mailbox: Mailbox::default(),
            software: (!config.transmit).then(|| Software::new(config)),
        }
    }

    /// Whether a command is under way, or the software engine has work that nothing holds up.
    pub fn is_busy(&self) -> bool {
        let engine = self.software.as_ref().is_some_and(Software::is_busy);
        !self.commands.under_way.is_empty() || engine
    }
}

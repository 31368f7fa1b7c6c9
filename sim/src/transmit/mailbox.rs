//! The mailbox: two messages of 1 KiB, and who has which.

use warpline_regmap::mailbox::{HOST_MESSAGE_PENDING, HOST_MESSAGE_RESET, INTERRUPT, MAILBOX};

use super::commands::Side;
use super::octets::merged;

const WORDS: usize = MAILBOX.count as usize;

/// The mailbox.
#[derive(Debug)]
pub(crate) struct Mailbox {
    from_host: [u32; WORDS],
    from_card: [u32; WORDS],
    pub host_pending: bool,
    /// `HOST_MESSAGE.RESET`.
    pub reset: bool,
    pub card_pending: bool,
    /// `INTERRUPT_STATE.MAILBOX` and `INTERRUPT_ENABLE.MAILBOX`.
    pub state: bool,
    pub enable: bool,
    /// A message of the vector is due.
    due: bool,
}

impl Default for Mailbox {
    fn default() -> Self {
        Self {
            from_host: [0; WORDS],
            from_card: [0; WORDS],
            host_pending: false,
            reset: true,
            card_pending: false,
            state: false,
            enable: false,
            due: false,
        }
    }
}

impl Mailbox {
    /// Bit of its interrupt.
    pub const BIT: u32 = 1 << INTERRUPT;

    /// A word that `side` reads: the other one's message.
    pub fn read(&self, side: Side, index: usize) -> u32 {
        let words = match side {
            Side::Host => &self.from_card,
            Side::Control => &self.from_host,
        };
        words.get(index).copied().unwrap_or_default()
    }

    /// `HOST_MESSAGE` as `side` reads it.
    pub fn host_message(&self, side: Side) -> u32 {
        let mut word = [0];
        let reset = self.reset && side == Side::Control;
        HOST_MESSAGE_PENDING.put(&mut word, (self.host_pending && !reset).into());
        HOST_MESSAGE_RESET.put(&mut word, reset.into());
        word[0]
    }

    /// A word of `side`'s message. While it is pending, it stays as it is.
    pub fn write(&mut self, side: Side, index: usize, value: u32, strobes: u8) {
        let (words, pending) = match side {
            Side::Host => (&mut self.from_host, self.host_pending),
            Side::Control => (&mut self.from_card, self.card_pending),
        };
        if let Some(word) = words.get_mut(index).filter(|_| !pending) {
            *word = merged(*word, value, strobes);
        }
    }

    /// The interrupt occurs.
    pub fn interrupt(&mut self) {
        self.state = true;
        self.due |= self.enable;
    }

    /// Writes `INTERRUPT_ENABLE.MAILBOX`.
    pub fn set_enable(&mut self, enable: bool) {
        self.due |= enable && !self.enable && self.state;
        self.enable = enable;
    }

    /// Clears `INTERRUPT_STATE.MAILBOX`.
    pub fn acknowledge(&mut self) {
        (self.state, self.due) = (false, false);
    }

    /// Whether a message is to be sent now.
    pub fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }
}

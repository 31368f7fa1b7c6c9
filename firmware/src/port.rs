//! The control program's side of the mailbox and of the command registers.
//!
//! ```text
//!  HOST_MESSAGE.RESET ───► noticed(): cleared
//!  HOST_MESSAGE.PENDING ─► take(): words, PENDING cleared     start(): ARGUMENT, COMMAND
//!  post(): words, CARD_MESSAGE.PENDING set                    outcome(): Busy … Done or Refused
//! ```
//!
//! Only words that a message uses cross the port: a processor on a slow bus reads and writes a dozen for most messages.

use crate::bus::Bus;
use warpline_regmap::mailbox::records::{HEAD_WORDS, PRIVATE_MAX, PRIVATE_WORD, message_private};
use warpline_regmap::mailbox::{
    CARD_MESSAGE, CARD_MESSAGE_PENDING, HOST_MESSAGE, HOST_MESSAGE_PENDING, HOST_MESSAGE_RESET,
    MAILBOX, MESSAGE_WORDS, Words,
};
use warpline_regmap::register::{ARGUMENT, COMMAND, COMMAND_BUSY, COMMAND_FAILED, COMMAND_NUMBER};

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Busy,
    Done,
    Refused,
}

/// What the host's side of the mailbox has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doorbell {
    Silent,
    /// A message of the host is there.
    Message,
    /// The device was reset, and that is not noticed yet.
    Reset,
}

/// What the port remembers.
pub(crate) struct Port {
    /// Words of the card's window that may be other than 0, in front of this one; `None` before the first message.
    used: Option<usize>,
}

fn at(word: usize) -> u32 {
    MAILBOX.offset.wrapping_add(4_u32.wrapping_mul(word as u32))
}

impl Port {
    pub const fn new() -> Self {
        Self { used: None }
    }

    /// What the host's side of the mailbox has.
    pub fn doorbell(bus: &mut impl Bus) -> Doorbell {
        let word = [bus.read(HOST_MESSAGE.offset)];
        match (
            HOST_MESSAGE_RESET.get(&word),
            HOST_MESSAGE_PENDING.get(&word),
        ) {
            (0, 0) => Doorbell::Silent,
            (0, _) => Doorbell::Message,
            _ => Doorbell::Reset,
        }
    }

    /// The reset is noticed: from now on the port works again.
    pub fn noticed(bus: &mut impl Bus) {
        let mut word = [0];
        HOST_MESSAGE_RESET.put(&mut word, 1);
        bus.write(HOST_MESSAGE.offset, word[0]);
    }

    /// Takes the host's message, which is there.
    pub fn take(bus: &mut impl Bus) -> Words {
        let mut words = [0; MESSAGE_WORDS];
        for (index, word) in words.iter_mut().enumerate().take(HEAD_WORDS) {
            *word = bus.read(at(index));
        }
        let octets = (message_private::LENGTH.get(&words) as usize).min(PRIVATE_MAX);
        let private = words.iter_mut().enumerate().skip(PRIVATE_WORD);
        for (index, word) in private.take(octets.div_ceil(4)) {
            *word = bus.read(at(index));
        }
        bus.write(HOST_MESSAGE.offset, HOST_MESSAGE_PENDING.max() as u32);
        words
    }

    /// Whether the host has read the last message.
    pub fn is_free(bus: &mut impl Bus) -> bool {
        CARD_MESSAGE_PENDING.get(&[bus.read(CARD_MESSAGE.offset)]) == 0
    }

    /// Passes a message to the host, which has read the last one.
    pub fn post(&mut self, bus: &mut impl Bus, words: &Words) {
        let last = words.iter().rposition(|word| *word != 0);
        let used = last.map_or(0, |last| last.saturating_add(1));
        let dirty = self.used.unwrap_or(MESSAGE_WORDS);
        for (index, word) in words.iter().enumerate().take(used.max(dirty)) {
            bus.write(at(index), *word);
        }
        self.used = Some(used);
        bus.write(CARD_MESSAGE.offset, CARD_MESSAGE_PENDING.max() as u32);
    }

    /// Starts a command; none is running.
    pub fn start(bus: &mut impl Bus, number: u32, arguments: &[u32]) {
        for (index, word) in (0..ARGUMENT.count).zip(arguments) {
            let offset = 4_u32.wrapping_mul(index);
            bus.write(ARGUMENT.offset.wrapping_add(offset), *word);
        }
        bus.write(COMMAND.offset, number);
    }

    /// Number of the last command.
    pub fn last_command(bus: &mut impl Bus) -> u32 {
        COMMAND_NUMBER.get(&[bus.read(COMMAND.offset)]) as u32
    }

    /// First argument of the last command, or of one that was to be started.
    pub fn argument(bus: &mut impl Bus) -> u32 {
        bus.read(ARGUMENT.offset)
    }

    /// What has become of the command.
    pub fn outcome(bus: &mut impl Bus) -> Outcome {
        let word = [bus.read(COMMAND.offset)];
        match (COMMAND_BUSY.get(&word), COMMAND_FAILED.get(&word)) {
            (0, 0) => Outcome::Done,
            (0, _) => Outcome::Refused,
            _ => Outcome::Busy,
        }
    }
}

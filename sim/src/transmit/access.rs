//! Register accesses of the host and of the control program: answered here, passed to the RTL, or both.

use warpline_regmap::layout::{close, revoke, stream_context};
use warpline_regmap::mailbox::{self, CARD_MESSAGE, HOST_MESSAGE, MAILBOX};
use warpline_regmap::register::{self, Register, command};
use warpline_regmap::transmit::{
    self, ARM_TRANSMIT, CAPABILITIES, SEND_PRODUCER, SET_EMSS, SET_SEND_RING, TRANSMIT_STATE,
};

use super::Transmit;
use super::commands::{Side, Stage};
use super::mailbox::Mailbox;
use super::octets::merged;
use crate::error::Error;
use crate::simulation::Simulation;

/// Element of an array of single words at an offset.
fn element(register: &Register, offset: u32) -> Option<usize> {
    let index = offset.checked_sub(register.offset)? / register.stride;
    (index < register.count && offset % register.stride < 4).then_some(index as usize)
}

/// Octets of a write-only register's value.
const ALL: u8 = 0b1111;

impl Simulation {
    /// A register as `side` reads it.
    pub fn shared_read(&mut self, side: Side, offset: u32) -> Result<u32, Error> {
        if offset == register::COMMAND.offset {
            self.progress()?;
        }
        let Some(transmit) = &mut self.transmit else {
            return self.read_rtl(offset);
        };
        if let Some(index) = element(&register::ARGUMENT, offset) {
            return Ok(transmit.commands.window(side).argument[index]);
        }
        if let Some(index) = element(&MAILBOX, offset) {
            return Ok(transmit.mailbox.read(side, index));
        }
        if let Some(index) = element(&TRANSMIT_STATE, offset) {
            let queue = transmit.queue(index as u8);
            return Ok(queue.map_or(0, |queue| queue.state()));
        }
        let at = |register: Register| register.offset == offset;
        if at(register::COMMAND) {
            let mut window = *transmit.commands.window(side);
            window.failed |= side == Side::Control && transmit.mailbox.reset;
            return Ok(window.command());
        }
        if at(CAPABILITIES) {
            let mut word = [0];
            transmit::CAPABILITY_TRANSMIT.put(&mut word, 1);
            transmit::CAPABILITY_MAILBOX.put(&mut word, 1);
            return Ok(word[0]);
        }
        if at(HOST_MESSAGE) {
            return Ok(transmit.mailbox.host_message(side));
        }
        if at(CARD_MESSAGE) {
            return Ok(transmit.mailbox.card_pending.into());
        }
        if at(register::COMPLETION_PRODUCER) {
            return Ok(transmit.completions.produced());
        }
        if at(register::COMPLETION_CONSUMER) {
            return Ok(transmit.completions.consumed());
        }
        let (state, enable) = (transmit.mailbox.state, transmit.mailbox.enable);
        let found = self.read_rtl(offset)?;
        let Some(transmit) = &mut self.transmit else {
            return Ok(found);
        };
        Ok(if at(register::INTERRUPT_STATE) {
            found | (Mailbox::BIT * u32::from(state))
        } else if at(register::INTERRUPT_ENABLE) {
            found | (Mailbox::BIT * u32::from(enable))
        } else if at(register::COMPLETION_ENTRIES) {
            transmit.completions.entries(found)
        } else {
            found
        })
    }

    /// `side` writes those octets of a register whose bits are set in `strobes`.
    pub fn shared_write(
        &mut self,
        side: Side,
        offset: u32,
        value: u32,
        strobes: u8,
    ) -> Result<(), Error> {
        let Some(transmit) = &mut self.transmit else {
            return self.write_rtl(offset, value, strobes);
        };
        let at = |register: Register| register.offset == offset;
        let lowest = strobes & 1 == 1;
        if side == Side::Control && transmit.mailbox.reset {
            let clears = mailbox::HOST_MESSAGE_RESET.get(&[value]) == 1;
            transmit.mailbox.reset = !(at(HOST_MESSAGE) && clears);
            return Ok(());
        }
        if let Some(index) = element(&register::ARGUMENT, offset) {
            let window = transmit.commands.window(side);
            if !window.busy {
                let word = &mut window.argument[index];
                *word = merged(*word, value, strobes);
            }
            return Ok(());
        }
        if at(register::COMMAND) {
            return match lowest {
                true => self.start(side, value & 0xFF),
                false => Ok(()),
            };
        }
        if let Some(index) = element(&MAILBOX, offset) {
            transmit.mailbox.write(side, index, value, strobes);
            return Ok(());
        }
        if at(HOST_MESSAGE) || at(CARD_MESSAGE) {
            if lowest && value & 1 == 1 {
                transmit.pass_message(side, at(HOST_MESSAGE));
                if side == Side::Host {
                    (self.control)();
                }
            }
            self.send_mailbox_message();
            return Ok(());
        }
        if side == Side::Control {
            return Ok(()); // the host's registers
        }
        if at(SEND_PRODUCER) {
            if strobes == ALL {
                let stream = transmit::SEND_PRODUCER_STREAM.get(&[value]) as u8;
                let count = transmit::SEND_PRODUCER_COUNT.get(&[value]) as u16;
                if let Some(queue) = transmit.queue(stream) {
                    queue.ring(count);
                }
            }
            return Ok(());
        }
        if at(register::COMPLETION_BASE_LOW) || at(register::COMPLETION_BASE_HIGH) {
            let high = at(register::COMPLETION_BASE_HIGH);
            transmit.completions.set_base(high, value, strobes);
            return self.write_rtl(offset, value, strobes);
        }
        if at(register::COMPLETION_ENTRIES) {
            let entries = transmit.completions.begin(merged(0, value, strobes));
            return self.write_rtl(offset, entries, ALL);
        }
        if at(register::COMPLETION_CONSUMER) {
            let before = transmit.completions.consumed();
            let count = merged(before, value, strobes);
            let rtl = transmit.completions.consume(count);
            return self.write_rtl(offset, rtl, ALL);
        }
        if at(register::COMPLETION_ARM) {
            if strobes == ALL {
                transmit.completions.arm(value);
            }
            return Ok(());
        }
        let touches = strobes & 1 == 1 && value & Mailbox::BIT != 0;
        if at(register::INTERRUPT_STATE) && touches {
            transmit.mailbox.acknowledge();
        }
        if at(register::INTERRUPT_TEST) && touches {
            transmit.mailbox.interrupt();
        }
        if at(register::INTERRUPT_ENABLE) && lowest {
            transmit.mailbox.set_enable(touches);
        }
        self.send_mailbox_message();
        self.write_rtl(offset, value, strobes)
    }

    /// Sends the message of the mailbox's vector, if it is due.
    fn send_mailbox_message(&mut self) {
        let due = self.transmit.as_mut().map(|t| t.mailbox.take_due());
        if due == Some(true) {
            (self.messages)(warpline_regmap::mailbox::INTERRUPT);
        }
    }

    /// A command is started by `side`.
    fn start(&mut self, side: Side, number: u32) -> Result<(), Error> {
        let Some(transmit) = &mut self.transmit else {
            return Ok(());
        };
        let window = transmit.commands.window(side);
        if window.busy {
            return Ok(());
        }
        (window.number, window.busy, window.failed) = (number, true, false);
        let words = window.argument;
        if let Some(done) = transmit.carry_out(number, &words) {
            transmit.commands.finish(side, !done);
            return Ok(());
        }
        transmit.commands.under_way.push((side, Stage::Waiting));
        self.progress()
    }

    /// Brings the commands under way further: one at a time is the RTL's.
    fn progress(&mut self) -> Result<(), Error> {
        loop {
            let Some(transmit) = &mut self.transmit else {
                return Ok(());
            };
            let Some(&(side, stage)) = transmit.commands.under_way.first() else {
                return Ok(());
            };
            let window = *transmit.commands.window(side);
            match stage {
                Stage::Waiting => {
                    transmit.begin(window.number, &window.argument);
                    transmit.commands.under_way[0].1 = Stage::Running;
                    for (index, word) in (0..).zip(window.argument) {
                        self.write_rtl(register::ARGUMENT.at(index), word, ALL)?;
                    }
                    self.write_rtl(register::COMMAND.offset, window.number, ALL)?;
                }
                Stage::Running => {
                    let found = self.read_rtl(register::COMMAND.offset)?;
                    if register::COMMAND_BUSY.get(&[found]) == 1 {
                        return Ok(());
                    }
                    let failed = register::COMMAND_FAILED.get(&[found]) == 1;
                    let Some(transmit) = &mut self.transmit else {
                        return Ok(());
                    };
                    transmit.end(window.number, &window.argument, failed);
                    if window.number == command::CLOSE_STREAM && !failed {
                        transmit.commands.under_way[0].1 = Stage::Flushing;
                    } else {
                        transmit.commands.finish(side, failed);
                    }
                }
                Stage::Flushing => {
                    let stream = close::STREAM.get(&window.argument) as u8;
                    let queue = transmit.queue(stream);
                    if !queue.is_none_or(|queue| queue.is_closed()) {
                        return Ok(());
                    }
                    transmit.commands.finish(side, false);
                }
            }
        }
    }
}

impl Transmit {
    /// Writes 1 to `PENDING` of the host's message, or of the card's.
    fn pass_message(&mut self, side: Side, from_host: bool) {
        let pending = match from_host {
            true => &mut self.mailbox.host_pending,
            false => &mut self.mailbox.card_pending,
        };
        let writes = from_host == (side == Side::Host);
        let changed = std::mem::replace(pending, writes) != writes;
        // The host is told what the card does, not what it does itself.
        if changed && side == Side::Control {
            self.mailbox.interrupt();
        }
    }

    /// Carries out a command that the RTL does not have: whether it was done. `None` for the RTL's.
    fn carry_out(&mut self, number: u32, words: &[u32]) -> Option<bool> {
        let done = match number {
            SET_SEND_RING => {
                use transmit::send_ring::{BASE, ENTRIES, STREAM};
                let (base, entries) = (BASE.get(words), ENTRIES.get(words) as u32);
                let queue = self.queue(STREAM.get(words) as u8);
                queue.is_some_and(|queue| queue.attach(base, entries))
            }
            ARM_TRANSMIT => {
                let queue = self.queue(transmit::transmit_context::STREAM.get(words) as u8);
                queue.is_some_and(|queue| queue.arm(words))
            }
            SET_EMSS => {
                use transmit::emss::{EMSS, STREAM};
                let emss = EMSS.get(words) as u16;
                let queue = self.queue(STREAM.get(words) as u8);
                queue.is_some_and(|queue| queue.set_emss(emss))
            }
            _ => return None,
        };
        Some(done)
    }

    /// The RTL is about to carry out a command.
    fn begin(&mut self, number: u32, words: &[u32]) {
        match number {
            // Nothing is read through the entry once the command is issued.
            command::REVOKE_STAG => self.stags.revoke(revoke::STAG.get(words) as u32),
            command::CLOSE_STREAM => {
                let stream = close::STREAM.get(words) as u8;
                if let Some(queue) = self.queue(stream) {
                    queue.close();
                }
            }
            _ => {}
        }
    }

    /// The RTL has carried out a command.
    fn end(&mut self, number: u32, words: &[u32], failed: bool) {
        match number {
            command::WRITE_STAG if !failed => self.stags.write(words),
            command::ARM_STREAM if !failed => {
                let domain = stream_context::PROTECTION_DOMAIN.get(words) as u16;
                let sequence = stream_context::SEQUENCE_START.get(words) as u32;
                let stream = stream_context::STREAM.get(words) as u8;
                self.arm_stream(stream, domain, sequence);
            }
            _ => {}
        }
    }
}

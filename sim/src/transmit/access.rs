//! Register accesses of the host and of the control program: answered here, passed to the RTL, or both.

use warpline_regmap::mailbox::{self, CARD_MESSAGE, HOST_MESSAGE, MAILBOX};
use warpline_regmap::register::{self, Register, command};
use warpline_regmap::transmit::{CAPABILITIES, CAPABILITY_MAILBOX, TRANSMIT_IDLE, TRANSMIT_STATE};

use super::Transmit;
use super::commands::{Side, Stage};
use super::mailbox::Mailbox;
use super::octets::{ALL, element, merged};
use super::software::Passed;
use crate::error::Error;
use crate::simulation::Simulation;

impl Simulation {
    /// A register as `side` reads it.
    pub fn shared_read(&mut self, side: Side, offset: u32) -> Result<u32, Error> {
        if offset == register::COMMAND.offset {
            self.progress()?;
        }
        let Some(transmit) = &mut self.transmit else {
            return self.read_device(side, offset);
        };
        if let Some(index) = element(&register::ARGUMENT, offset) {
            return Ok(transmit.commands.window(side).argument[index]);
        }
        if let Some(index) = element(&MAILBOX, offset) {
            return Ok(transmit.mailbox.read(side, index));
        }
        let at = |register: Register| register.offset == offset;
        if at(register::COMMAND) {
            let mut window = *transmit.commands.window(side);
            window.failed |= side == Side::Control && transmit.mailbox.reset;
            return Ok(window.command());
        }
        if at(HOST_MESSAGE) {
            return Ok(transmit.mailbox.host_message(side));
        }
        if at(CARD_MESSAGE) {
            return Ok(transmit.mailbox.card_pending.into());
        }
        let (state, enable) = (transmit.mailbox.state, transmit.mailbox.enable);
        let found = match transmit.software.read(offset) {
            Some(found) => found,
            None => self.read_rtl(side, offset)?,
        };
        Ok(if at(register::INTERRUPT_STATE) {
            found | (Mailbox::BIT * u32::from(state))
        } else if at(register::INTERRUPT_ENABLE) {
            found | (Mailbox::BIT * u32::from(enable))
        } else if at(CAPABILITIES) {
            let mut word = [found];
            CAPABILITY_MAILBOX.put(&mut word, 1);
            word[0]
        } else if at(register::COMPLETION_ENTRIES) {
            match &mut self.transmit {
                Some(transmit) => transmit.software.completions.entries(found),
                None => found,
            }
        } else {
            found
        })
    }

    /// A register of the device, as TCP completes it.
    fn read_device(&mut self, side: Side, offset: u32) -> Result<u32, Error> {
        let mut word = [self.read_rtl(side, offset)?];
        // The RTL is done when the last octet lies in its ring; TCP is, when it has accepted it.
        if let Some(stream) = element(&TRANSMIT_STATE, offset)
            && TRANSMIT_IDLE.get(&word) == 1
        {
            let drained = self.is_drained(stream as u8)?;
            TRANSMIT_IDLE.put(&mut word, drained.into());
        }
        Ok(word[0])
    }

    /// `side` writes those octets of a register whose bits are set in `strobes`.
    pub fn shared_write(
        &mut self,
        side: Side,
        offset: u32,
        value: u32,
        strobes: u8,
    ) -> Result<(), Error> {
        let at = |register: Register| register.offset == offset;
        let lowest = strobes & 1 == 1;
        let passes = (at(HOST_MESSAGE) || at(CARD_MESSAGE)) && lowest && value & 1 == 1;
        let Some(transmit) = &mut self.transmit else {
            self.write_rtl(side, offset, value, strobes)?;
            if passes && side == Side::Host && self.has_mailbox() {
                (self.control)();
            }
            return Ok(());
        };
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
            if passes {
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
        let (passed, octets) = match transmit.software.write(offset, value, strobes) {
            Passed::Nothing => return Ok(()),
            Passed::Octets { value, strobes } => (value, strobes),
        };
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
        self.write_rtl(Side::Host, offset, passed, octets)
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
        if let Some(done) = transmit.software.carry_out(number, &words) {
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
                    transmit.software.begin(window.number, &window.argument);
                    transmit.commands.under_way[0].1 = Stage::Running;
                    for (index, word) in (0..).zip(window.argument) {
                        self.write_rtl(Side::Host, register::ARGUMENT.at(index), word, ALL)?;
                    }
                    self.write_rtl(Side::Host, register::COMMAND.offset, window.number, ALL)?;
                }
                Stage::Running => {
                    let found = self.read_rtl(Side::Host, register::COMMAND.offset)?;
                    if register::COMMAND_BUSY.get(&[found]) == 1 {
                        return Ok(());
                    }
                    let failed = register::COMMAND_FAILED.get(&[found]) == 1;
                    let Some(transmit) = &mut self.transmit else {
                        return Ok(());
                    };
                    let words = &window.argument;
                    transmit.software.end(window.number, words, failed);
                    if window.number == command::CLOSE_STREAM && !failed {
                        transmit.commands.under_way[0].1 = Stage::Flushing;
                    } else {
                        transmit.commands.finish(side, failed);
                    }
                }
                Stage::Flushing => {
                    if !transmit.software.is_closed(&window.argument) {
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
}

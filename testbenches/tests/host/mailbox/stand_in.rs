//! Stands in for `registers`: every word read is another random one, commands take random time and are refused at
//! random.

use fastrand::Rng;
use warpline_hdl::parts::axi::AxiLiteMaster;
use warpline_regmap::mailbox::INTERRUPT_MAILBOX;
use warpline_regmap::register::{self, COMMAND_BUSY, COMMAND_FAILED, COMMAND_NUMBER};
use warpline_regmap::transmit::{CAPABILITIES, CAPABILITY_MAILBOX};
use warpline_testbenches::stimulus::chance;

use crate::side::{Held, Write};

/// An access that was answered in this cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    Write(Write, u8),
    Read {
        offset: u32,
        data: u32,
        response: u8,
    },
}

/// How long things take.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// As `registers` does it, without idles; commands take that many cycles.
    Exact { command: u64 },
    /// Up to that many cycles, with idles; commands take up to `command` cycles.
    Random { answer: u64, command: u64 },
}

/// A command that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    pub number: u8,
    pub arguments: [u32; 8],
}

pub struct StandIn {
    pub manner: Manner,
    arguments: [u32; 8],
    /// Arguments written since the last command.
    fresh: u8,
    number: u8,
    failed: bool,
    until: u64,
    aw: Held,
    w: Held,
    ar: Held,
    address: Option<u32>,
    word: Option<(u32, u8)>,
    read: Option<u32>,
    /// Cycle in which the response becomes valid.
    due: u64,
    b: Option<(Write, u8)>,
    r: Option<(u32, u32, u8)>,
    readies: [bool; 3],
    pub started: Option<Started>,
    /// Cycle of the last access's VALID, for rates.
    pub offered: u64,
}

impl StandIn {
    pub fn new(manner: Manner) -> Self {
        Self {
            manner,
            arguments: [0; 8],
            fresh: 0,
            number: 0,
            failed: false,
            until: 0,
            aw: Held::default(),
            w: Held::default(),
            ar: Held::default(),
            address: None,
            word: None,
            read: None,
            due: 0,
            b: None,
            r: None,
            readies: [true; 3],
            started: None,
            offered: 0,
        }
    }

    pub fn drive(&mut self, bus: &mut AxiLiteMaster, rng: &mut Rng, now: u64) {
        if let Manner::Random { .. } = self.manner {
            self.readies = std::array::from_fn(|_| chance(rng, 60));
        }
        let noise = rng.u64(..);
        bus.awready.next = self.readies[0] && self.address.is_none() && self.b.is_none();
        bus.wready.next = self.readies[1] && self.word.is_none() && self.b.is_none();
        bus.arready.next = self.readies[2] && self.read.is_none() && self.r.is_none();
        let b = self.b.filter(|_| now >= self.due);
        bus.bvalid.next = b.is_some();
        bus.bresp.next = (b.map_or(noise, |(_, response)| response.into()) & 3).into();
        let r = self.r.filter(|_| now >= self.due);
        bus.rvalid.next = r.is_some();
        bus.rdata.next = (r.map_or(noise, |(_, data, _)| data.into()) & 0xffff_ffff).into();
        bus.rresp.next = (r.map_or(noise >> 32, |(.., response)| response.into()) & 3).into();
    }

    fn time(&self, rng: &mut Rng, exact: u64) -> u64 {
        match self.manner {
            Manner::Exact { .. } => exact,
            Manner::Random { answer, .. } => rng.u64(1..=answer),
        }
    }

    pub fn sample(
        &mut self,
        bus: &AxiLiteMaster,
        rng: &mut Rng,
        now: u64,
    ) -> Result<Option<Answered>, String> {
        self.started = None;
        let mut answered = None;
        if bus.bvalid.val() && bus.bready.val() {
            answered = self.b.take().map(|(write, r)| Answered::Write(write, r));
        }
        if bus.rvalid.val() && bus.rready.val() {
            answered = self
                .r
                .take()
                .map(|(offset, data, response)| Answered::Read {
                    offset,
                    data,
                    response,
                });
        }

        let busy = self.address.is_some()
            || self.word.is_some()
            || self.read.is_some()
            || self.b.is_some()
            || self.r.is_some()
            || answered.is_some();
        let (valid, ready) = (bus.awvalid.val(), bus.awready.val());
        let address = u64::from(bus.awaddr.val()) as u32;
        let mut rises = self.aw.watch("m_axil AW", valid, ready, address.into())?;
        if valid && ready {
            self.address = Some(address);
        }
        let (valid, ready) = (bus.wvalid.val(), bus.wready.val());
        let (data, strobe) = (u64::from(bus.wdata.val()), u64::from(bus.wstrb.val()));
        rises |= self
            .w
            .watch("m_axil W", valid, ready, strobe << 32 | data)?;
        if valid && ready {
            self.word = Some((data as u32, strobe as u8));
        }
        let (valid, ready) = (bus.arvalid.val(), bus.arready.val());
        let offset = u64::from(bus.araddr.val()) as u32;
        let reads = self.ar.watch("m_axil AR", valid, ready, offset.into())?;
        if valid && ready {
            self.read = Some(offset);
        }
        if (rises || reads) && busy || rises && reads {
            return Err(format!("cycle {now}: two accesses of m_axil at a time"));
        }
        if rises || reads {
            self.offered = now;
        }

        if let (Some(offset), Some((data, strobe))) = (self.address, self.word) {
            (self.address, self.word) = (None, None);
            let write = Write {
                offset,
                data,
                strobe,
            };
            self.written(write, rng, now)?;
            self.b = Some((write, response(rng)));
            self.due = now + self.time(rng, 3);
        }
        if let Some(offset) = self.read.take() {
            let mut word = [rng.u32(..)];
            if offset == register::COMMAND.offset {
                word = [0];
                COMMAND_NUMBER.put(&mut word, self.number.into());
                COMMAND_BUSY.put(&mut word, (now < self.until).into());
                COMMAND_FAILED.put(&mut word, self.failed.into());
            }
            // the registers of this version have no bit of the mailbox
            match offset {
                o if o == CAPABILITIES.offset => CAPABILITY_MAILBOX.put(&mut word, 0),
                o if o == register::INTERRUPT_STATE.offset
                    || o == register::INTERRUPT_ENABLE.offset =>
                {
                    INTERRUPT_MAILBOX.put(&mut word, 0);
                }
                _ => {}
            }
            self.r = Some((offset, word[0], response(rng)));
            self.due = now + self.time(rng, 4);
        }
        Ok(answered)
    }

    fn written(&mut self, write: Write, rng: &mut Rng, now: u64) -> Result<(), String> {
        let first = register::ARGUMENT.offset;
        if (first..first + 32).contains(&write.offset) {
            let index = ((write.offset - first) / 4) as usize;
            if write.strobe != 15 || now < self.until {
                return Err(format!("cycle {now}: {write:x?} is no argument"));
            }
            self.arguments[index] = write.data;
            self.fresh |= 1 << index;
        }
        if write.offset == register::COMMAND.offset {
            if self.fresh != 0xff || now < self.until || write.strobe & 1 == 0 {
                return Err(format!("cycle {now}: {write:x?} starts no command"));
            }
            self.fresh = 0;
            self.number = COMMAND_NUMBER.get(&[write.data]) as u8;
            self.failed = chance(rng, 40);
            self.until = now
                + match self.manner {
                    Manner::Exact { command } => command,
                    Manner::Random { command, .. } => rng.u64(0..=command),
                };
            self.started = Some(Started {
                number: self.number,
                arguments: self.arguments,
            });
        }
        Ok(())
    }
}

fn response(rng: &mut Rng) -> u8 {
    if chance(rng, 20) { 2 } else { 0 }
}

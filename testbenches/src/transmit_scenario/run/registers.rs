//! Accesses to registers: doorbells, commands and their ends, and the state of streams.

use warpline_regmap::Field;
use warpline_regmap::register;
use warpline_regmap::transmit;

use super::state::{Access, Phase, Result, Run, UnderWay, What};
use crate::stimulus::chance;

/// Cycles that a command may take.
const COMMAND: u64 = 40_000;
/// Reads of `TRANSMIT_STATE` until a stream that is done must be idle.
const POLLS: u32 = 200;

impl Run<'_> {
    pub(super) fn give(
        &mut self,
        number: usize,
        what: What,
        code: u32,
        words: usize,
        fields: &[(Field, u64)],
    ) {
        let mut arguments = [0; 8];
        for (field, value) in fields {
            field.put(&mut arguments, *value);
        }
        for (index, word) in (0..).zip(&arguments[..words]) {
            let offset = register::ARGUMENT.at(index);
            self.registers
                .commands
                .push_back(Access::Write(offset, *word));
        }
        self.registers
            .commands
            .push_back(Access::Start(number, code, what));
        self.registers
            .commands
            .push_back(Access::Done(number, what));
        if let Some(current) = &mut self.streams[number] {
            current.accesses += 1;
        }
    }

    pub(super) fn drive_registers(&mut self) {
        let p = self.ports;
        let go = self.rhythms.host.go(&mut self.rng);
        if self.registers.under_way.is_none() && go {
            if self.completions.told != self.completions.consumer && chance(&mut self.rng, 30) {
                self.completions.told = self.completions.consumer;
                let offset = register::COMPLETION_CONSUMER.offset;
                self.registers
                    .doorbells
                    .push_back(Access::Write(offset, self.completions.told));
            }
            let bell = !self.registers.doorbells.is_empty()
                && (self.registers.commands.is_empty() || self.rng.bool());
            let access = match bell {
                true => self.registers.doorbells.pop_front(),
                false => self.registers.commands.pop_front(),
            };
            if let Some(access) = &access {
                self.begins(access);
            }
            self.registers.under_way = access.map(|access| UnderWay {
                address: true,
                data: !matches!(access, Access::Done(..) | Access::State(..)),
                access,
                began: self.cycle,
            });
        }
        let mut valids = [false; 3];
        if let Some(now) = &self.registers.under_way {
            let write = match &now.access {
                Access::Write(offset, word) => Ok((*offset, *word)),
                Access::Doorbell(number, _) => {
                    let mut word = [0];
                    let produced = self.streams[*number]
                        .as_ref()
                        .map_or(0, |c| c.judge.announced());
                    transmit::SEND_PRODUCER_STREAM.put(&mut word, *number as u64);
                    transmit::SEND_PRODUCER_COUNT.put(&mut word, produced as u64);
                    Ok((transmit::SEND_PRODUCER.offset, word[0]))
                }
                Access::Start(_, code, _) => Ok((register::COMMAND.offset, *code)),
                Access::Done(..) => Err(register::COMMAND.offset),
                Access::State(number, _) => Err(transmit::TRANSMIT_STATE.at(*number as u32)),
            };
            match write {
                Ok((offset, word)) => {
                    self.model.set(p.s_axil_awaddr, offset.into());
                    self.model.set(p.s_axil_wdata, word.into());
                    self.model.set(p.s_axil_wstrb, 0xf);
                    valids = [now.address, now.data, false];
                }
                Err(offset) => {
                    self.model.set(p.s_axil_araddr, offset.into());
                    valids = [false, false, now.address];
                }
            }
        }
        let [aw, w, ar] = valids;
        self.model.set(p.s_axil_awvalid, aw.into());
        self.model.set(p.s_axil_wvalid, w.into());
        self.model.set(p.s_axil_arvalid, ar.into());
    }

    /// The judge follows an access that begins.
    pub(super) fn begins(&mut self, access: &Access) {
        let cycle = self.cycle;
        match access {
            Access::Doorbell(number, postings) => {
                if let Some(current) = &mut self.streams[*number] {
                    current.judge.announce(postings, cycle);
                }
            }
            Access::Start(number, _, what) => {
                self.registers.began = Some(cycle);
                let Some(current) = &mut self.streams[*number] else {
                    return;
                };
                match what {
                    What::SetUp => {}
                    What::Emss(emss) => current.judge.size_given(*emss),
                    What::Revoke(index) => {
                        current.judge.known[*index].revoked = Some(cycle);
                        if current.phase == Phase::Running && !current.judge.is_done() {
                            self.coverage.count("revocation under way");
                        }
                    }
                    What::ResponderOff => current.judge.reads.off_given = true,
                    What::Close => {
                        if current.judge.reads.unresolved() > 0 {
                            self.coverage.count("close with reads under way");
                        }
                        current.judge.aborted = !current.judge.is_done();
                        current.judge.closing = true;
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn sample_registers(&mut self) -> Result<()> {
        let p = self.ports;
        let Some(mut now) = self.registers.under_way.take() else {
            return Ok(());
        };
        now.address &= !(self.passes(p.s_axil_awvalid, p.s_axil_awready)
            || self.passes(p.s_axil_arvalid, p.s_axil_arready));
        now.data &= !self.passes(p.s_axil_wvalid, p.s_axil_wready);
        let answered = self.passes(p.s_axil_bvalid, p.s_axil_bready);
        let read = self.passes(p.s_axil_rvalid, p.s_axil_rready);
        let word = [self.get(p.s_axil_rdata) as u32];
        if self.cycle > now.began + 2000 && !matches!(now.access, Access::Done(..)) {
            return Err(self.wrong(format!("no answer to {:?}", now.access)));
        }
        if !answered && !read {
            self.registers.under_way = Some(now);
            return Ok(());
        }
        match now.access {
            Access::Write(..) | Access::Start(..) => {}
            Access::Doorbell(number, _) => {
                self.done_with(number);
                self.moved = self.cycle;
            }
            Access::Done(number, what) => {
                if register::COMMAND_BUSY.get(&word) == 1 {
                    // doorbells may come between, and must: a close waits for completions
                    self.registers
                        .commands
                        .push_front(Access::Done(number, what));
                    return Ok(());
                }
                if register::COMMAND_FAILED.get(&word) == 1 {
                    return Err(self.wrong(format!(
                        "a command of stream {number} was refused: {what:?}"
                    )));
                }
                self.registers.began = None;
                self.moved = self.cycle;
                self.done(number, what)?;
                self.done_with(number);
            }
            Access::State(number, polls) => {
                let idle = transmit::TRANSMIT_IDLE.get(&word) == 1;
                if !idle && polls < POLLS {
                    self.registers
                        .commands
                        .push_back(Access::State(number, polls + 1));
                    return Ok(());
                }
                self.check_state(number, word)?;
                self.done_with(number);
            }
        }
        Ok(())
    }

    fn done_with(&mut self, number: usize) {
        if let Some(current) = &mut self.streams[number] {
            current.accesses -= 1;
        }
    }

    /// A command is done.
    fn done(&mut self, number: usize, what: What) -> Result<()> {
        let cycle = self.cycle;
        let Some(current) = &mut self.streams[number] else {
            return Ok(());
        };
        match what {
            What::SetUp => {}
            What::Emss(_) => {
                let edge = current.edge;
                current.judge.size_done(edge);
            }
            What::Revoke(index) => current.judge.known[index].gone = Some(cycle),
            What::ResponderOff => current.judge.reads.off_done = true,
            What::Close => current.readable = false,
        }
        let stale = self.bursts.reads.iter().map(|read| read.address);
        let stale: Vec<u64> = stale
            .filter(|address| !self.is_readable(*address, 1))
            .collect();
        match stale.first() {
            Some(address) => Err(self.wrong(format!(
                "{what:?} of stream {number} is done, a read at {address:#x} is under way"
            ))),
            None => Ok(()),
        }
    }

    /// A command has an end.
    pub(super) fn check_command(&self) -> Result<()> {
        let began = self.registers.began;
        match began.is_some_and(|began| self.cycle > began + COMMAND) {
            true => Err(self.wrong(format!("a command takes more than {COMMAND} cycles"))),
            false => Ok(()),
        }
    }

    fn check_state(&mut self, number: usize, word: [u32; 1]) -> Result<()> {
        let Some(current) = &self.streams[number] else {
            return Ok(());
        };
        let bit = |field: Field| field.get(&word) == 1;
        let mut due = vec![
            (transmit::TRANSMIT_ARMED, true),
            (transmit::TRANSMIT_IDLE, true),
        ];
        if current.judge.frozen.is_none() {
            due.push((transmit::TRANSMIT_OPEN, current.judge.open));
            due.push((transmit::TRANSMIT_ENDED, current.judge.ended()));
        }
        match due.iter().find(|(field, due)| bit(*field) != *due) {
            Some((field, due)) => {
                let name = field.name;
                Err(self.wrong(format!(
                    "{name} of stream {number} is {}, due {due}",
                    bit(*field)
                )))
            }
            None => Ok(()),
        }
    }
}

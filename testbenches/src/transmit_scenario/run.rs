//! Hosts, host memory, TCP and the peer at the ports of a device: one file for each.

mod completions;
mod memory;
mod peer;
mod reads;
mod registers;
mod state;
mod stream;
mod tcp;

use warpline_regmap::register;
use warpline_verilate::Port;

use super::common::Outcome;
pub use state::Run;
use state::{Access, ENTRIES, QUEUE, Result};

/// Cycles without any progress after which a run gives up.
const PATIENCE: u64 = 8_000;

impl Run<'_> {
    /// The whole plan.
    pub fn all(mut self) -> Result<Outcome> {
        let write = Access::Write;
        self.registers.commands.extend([
            write(register::COMPLETION_BASE_LOW.offset, QUEUE as u32),
            write(register::COMPLETION_BASE_HIGH.offset, (QUEUE >> 32) as u32),
            write(register::COMPLETION_ENTRIES.offset, ENTRIES),
        ]);
        while self.waiting.iter().any(|lives| !lives.is_empty())
            || self.streams.iter().any(Option::is_some)
        {
            for number in 0..self.streams.len() {
                self.host(number)?;
            }
            self.step()?;
        }
        // nothing more comes
        for _ in 0..64 {
            self.step()?;
        }
        if !self.tcp.sends.is_empty() || !self.bursts.reads.is_empty() {
            return Err(self.wrong("something is under way at the end"));
        }
        self.outcome.cycles = self.cycle;
        self.outcome.coverage = self.coverage;
        Ok(self.outcome)
    }

    fn step(&mut self) -> Result<()> {
        self.tcp();
        self.drive_registers();
        self.drive_memory();
        self.drive_tcp();
        self.drive_peer();
        self.clock(0)?;
        self.sample_registers()?;
        self.sample_reads()?;
        self.sample_writes()?;
        self.sample_transmit()?;
        self.sample_reports()?;
        self.sample_arrivals();
        self.check_held()?;
        self.completions()?;
        self.clock(1)?;
        self.cycle += 1;
        self.check_progress()?;
        self.check_command()
    }

    /// What is valid stays until it is taken.
    fn check_held(&mut self) -> Result<()> {
        let p = self.ports;
        let kinds: [(Port, Port, &[Port]); 4] = [
            (
                p.m_axi_arvalid,
                p.m_axi_arready,
                &[p.m_axi_araddr, p.m_axi_arlen],
            ),
            (
                p.m_axi_awvalid,
                p.m_axi_awready,
                &[p.m_axi_awaddr, p.m_axi_awlen],
            ),
            (
                p.m_axis_transmit_tvalid,
                p.m_axis_transmit_tready,
                &[
                    p.m_axis_transmit_tkeep,
                    p.m_axis_transmit_tdest,
                    p.m_axis_transmit_tuser,
                    p.m_axis_transmit_tlast,
                ],
            ),
            (
                p.m_axis_status_tvalid,
                p.m_axis_status_tready,
                &[p.m_axis_status_tdest],
            ),
        ];
        for (index, (valid, ready, values)) in kinds.into_iter().enumerate() {
            let now = (self.get(valid) == 1).then(|| values.iter().map(|port| self.get(*port)));
            let now: Option<Vec<u64>> = now.map(Iterator::collect);
            if self.held[index].is_some() && self.held[index] != now {
                return Err(self.wrong(format!(
                    "port {index} of AR, AW, transmit and status changes before it is taken"
                )));
            }
            self.held[index] = now.filter(|_| self.get(ready) == 0);
        }
        Ok(())
    }

    fn check_progress(&self) -> Result<()> {
        if self.cycle <= self.moved + PATIENCE && self.cycle <= self.limit {
            return Ok(());
        }
        let phases = self.streams.iter().map(|current| {
            current.as_ref().map(|c| {
                (
                    c.phase,
                    c.judge.announced(),
                    c.judge.consumed(),
                    c.judge.judged,
                    c.edge,
                    c.asked,
                    c.acknowledged,
                    c.pending.len(),
                )
            })
        });
        let phases: Vec<_> = phases.collect();
        let what = format!(
            "no end: phase, announced, consumed, judged, edge, asked, acknowledged, pending of streams: {phases:?}"
        );
        Err(self.wrong(what))
    }
}

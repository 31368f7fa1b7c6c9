//! The completion queue.

use warpline_regmap::layout::{completion, kind};
use warpline_regmap::transmit::{self, send_event};

use super::state::{ENTRIES, ENTRY, Result, Run, words};

impl Run<'_> {
    /// The host reads its completion queue.
    pub(super) fn completions(&mut self) -> Result<()> {
        if !self.rhythms.completions.go(&mut self.rng) {
            return Ok(());
        }
        let index = (self.completions.consumer % ENTRIES) as usize;
        let entry = &self.completions.queue[ENTRY * index..ENTRY * (index + 1)];
        let phase = 1 - self.completions.consumer / ENTRIES % 2;
        if u32::from(entry[ENTRY - 1] >> 7) != phase {
            return Ok(());
        }
        let words = words(entry);
        self.completions.consumer = self.completions.consumer.wrapping_add(1);
        self.moved = self.cycle;
        if self.completions.consumer == ENTRIES {
            self.coverage.count("completion queue wraps");
        }
        let number = completion::STREAM.get(&words) as usize;
        let cycle = self.cycle;
        let Some(Some(current)) = self.streams.get_mut(number) else {
            return Err(self.wrong(format!("an entry of stream {number}: {words:x?}")));
        };
        match completion::KIND.get(&words) as u32 {
            transmit::kind::SEND => {
                let done = current.judge.complete(
                    send_event::CONSUMED.get(&words) as u16,
                    send_event::STATUS.get(&words) as u32,
                    send_event::LENGTH.get(&words) as u32,
                    send_event::REQUEST.get(&words),
                    &mut self.coverage,
                );
                done.map_err(|what| self.wrong(format!("stream {number}: {what}")))
            }
            kind::ERROR if current.judge.frozen.is_some() && current.judge.error_read.is_none() => {
                current.judge.error_read = Some(cycle);
                Ok(())
            }
            _ => Err(self.wrong(format!("an entry of {words:x?}"))),
        }
    }
}

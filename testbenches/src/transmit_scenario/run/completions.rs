//! The completion queue.

use warpline_regmap::layout::{completion, error_event, kind};
use warpline_regmap::transmit::{self, READ_BUFFER_OCTETS, send_event};
use warpline_wire::error_number::ErrorNumber;

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
            transmit::kind::SEND if send_event::RESPONSE.get(&words) == 1 => {
                let done = current.judge.complete_response(
                    send_event::CONSUMED.get(&words) as u16,
                    send_event::STATUS.get(&words) as u32,
                    send_event::LENGTH.get(&words) as u32,
                    send_event::REQUEST.get(&words),
                    &mut self.coverage,
                );
                done.map_err(|what| self.wrong(format!("stream {number}: {what}")))
            }
            kind::UNTAGGED => {
                let buffers = &current.buffers;
                let buffer = |index: usize| {
                    let at = READ_BUFFER_OCTETS * index % buffers.len().max(1);
                    buffers[at..at + READ_BUFFER_OCTETS].to_vec()
                };
                let handed = current.judge.hand(&words, buffer, &mut self.coverage);
                handed.map_err(|what| self.wrong(format!("stream {number}: {what}")))
            }
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
                let found = (
                    error_event::TYPE.get(&words) as u8,
                    error_event::CODE.get(&words) as u8,
                );
                let due = ErrorNumber::UntaggedNoBuffer;
                let doubtful = current.judge.reads.doubt.is_some();
                current.judge.no_buffer(&mut self.coverage);
                if doubtful && found != (due.error_type(), due.code()) {
                    return Err(self.wrong(format!("stream {number}: {found:?}, due {due:?}")));
                }
                Ok(())
            }
            _ => Err(self.wrong(format!("an entry of {words:x?}"))),
        }
    }
}

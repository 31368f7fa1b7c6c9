//! Completions: which there must be, and with which status.

use warpline_regmap::transmit::{send_slot, status};

use super::super::common::{Coverage, Spoil};
use super::super::plan::Fault;
use super::state::{Judge, Which};

impl Judge {
    /// A completion of the stream.
    pub fn complete(
        &mut self,
        consumed: u16,
        found: u32,
        length: u32,
        name: u64,
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        let index = usize::from(consumed.wrapping_sub(1));
        let what = format!("completion {found} of slot {index}");
        if index < self.reported || index >= self.requests.len() {
            let (from, to) = (self.reported, self.requests.len());
            return Err(format!("{what}, due {from} to {to}"));
        }
        for skipped in self.reported..index {
            self.pass(skipped).map_err(|e| format!("{what}: {e}"))?;
        }
        let announced = &self.requests[index];
        let posting = &announced.posting;
        if posting.fault != Fault::Unread {
            let due = (
                send_slot::LENGTH.get(&posting.slot) as u32,
                send_slot::REQUEST.get(&posting.slot),
            );
            if due != (length, name) {
                return Err(format!("{what}: {:?}, due {due:?}", (length, name)));
            }
        }
        let spoiled = self.spoil == Some(Spoil::Status) && index > 0;
        match found ^ u32::from(spoiled) {
            status::OK => {
                if !announced.signalled {
                    return Err(format!("{what}, which is not signalled"));
                }
                self.sent(index).map_err(|e| format!("{what}: {e}"))?;
                coverage.count("status OK");
            }
            status::FLUSHED => {
                let ended = self.failed.is_some() || self.behind_last(index);
                if !ended && self.frozen.is_none() && !self.closing {
                    return Err(format!("{what}: flushed for no reason"));
                }
                coverage.count("status FLUSHED");
                if !ended && self.closing {
                    coverage.count("flushed by a close");
                }
                if !ended && self.frozen.is_some() {
                    coverage.count("flushed by an error of the peer");
                }
            }
            reason => {
                if self.failed.is_some() || self.behind_last(index) {
                    return Err(format!("{what}, behind the end"));
                }
                self.may_fail(Which::Slot(index), reason)
                    .map_err(|e| format!("{what}: {e}"))?;
                self.failed = Some(Which::Slot(index));
                coverage.count(match reason {
                    status::MALFORMED => "status MALFORMED",
                    status::STAG => "status STAG",
                    status::ASSOC => "status ASSOC",
                    status::BOUNDS => "status BOUNDS",
                    _ => "status BUS",
                });
            }
        }
        self.requests[index].report = Some(found);
        self.reported = index + 1;
        Ok(())
    }

    /// The stream's last message lies in front of a request, and was sent.
    pub(super) fn behind_last(&self, index: usize) -> bool {
        let mut before = self.requests[..index].iter();
        before.any(|r| r.terminates && r.report.is_none_or(|report| report == status::OK))
    }

    /// A request that is not reported must have been sent.
    pub(super) fn pass(&self, index: usize) -> Result<(), String> {
        if self.requests[index].signalled {
            return Err(format!("no completion of slot {index}, which is signalled"));
        }
        self.sent(index)
    }

    /// A request may have been sent.
    pub(super) fn sent(&self, index: usize) -> Result<(), String> {
        let announced = &self.requests[index];
        if self.failed.is_some() {
            return Err(format!("slot {index} is not flushed behind a failure"));
        }
        if self.behind_last(index) {
            return Err(format!("slot {index} is not flushed behind TERMINATE"));
        }
        if !self.open {
            return Err(format!("slot {index} is sent, the gate is closed"));
        }
        let flushed = self.requests[..index]
            .iter()
            .any(|r| r.report == Some(status::FLUSHED))
            || self.reads.flushed_from.is_some_and(|from| from <= index);
        let behind_error = self.error_read.is_some_and(|read| read < announced.cycle);
        if (flushed || behind_error) && !(announced.terminates && self.frozen.is_some()) {
            return Err(format!("slot {index} is not flushed"));
        }
        match self.fault(Which::Slot(index)) {
            Some(reason) => Err(format!("slot {index} is sent, due {reason}")),
            None => Ok(()),
        }
    }

    pub(super) fn may_fail(&self, which: Which, reason: u32) -> Result<(), String> {
        let revoked = reason == status::STAG && self.meets(which);
        match self.fault(which) {
            Some(due) if due == reason => Ok(()),
            _ if revoked => Ok(()),
            due => Err(format!("due {due:?}")),
        }
    }
}

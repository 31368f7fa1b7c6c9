//! Sizes of a queue pair, and who answers Reads.

/// Sizes of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairOptions {
    /// Requests that may be posted and not complete.
    pub send_depth: u16,
    /// Buffers that may be posted: up to 32768.
    pub receive_depth: u16,
    /// Reads of the peer that may be unanswered (IRD).
    pub ird: u16,
    /// Reads of this end that may be outstanding (ORD). Further ones are held.
    pub ord: u16,
    /// The device answers the peer's Reads, if it can, and if `ird` is not above 16. Otherwise the driver does.
    pub device_reads: bool,
}

impl Default for PairOptions {
    /// 64 requests, 256 buffers, 8 Reads in each direction, which the device answers.
    fn default() -> Self {
        Self {
            send_depth: 64,
            receive_depth: 256,
            ird: 8,
            ord: 8,
            device_reads: true,
        }
    }
}

impl PairOptions {
    /// Slots of the send ring: requests, Responses and a Terminate.
    pub(crate) fn send_entries(&self) -> u32 {
        let slots = u32::from(self.send_depth) + u32::from(self.ird) + 1;
        slots.next_power_of_two().max(4)
    }

    /// Of so many requests in a row the device reports one: a quarter of the ring, so that slots are freed in time, and at most half
    /// of those that may be posted, so that silent ones do not fill the queue for ever.
    pub(crate) fn reported_of(&self) -> u32 {
        let half = (u32::from(self.send_depth) / 2).max(1);
        half.min(self.send_entries() / 4)
    }

    /// Entries of each receive ring.
    pub(crate) fn receive_entries(&self) -> u32 {
        let buffers = u32::from(self.receive_depth.max(self.ird));
        buffers.next_power_of_two().max(16)
    }
}

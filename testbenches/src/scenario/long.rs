//! A long run of random scenarios that can be stopped and taken up again, and what is recorded of it.
//!
//! ```text
//!  Record ─► the device that lags most ─► its next seeds ─► run_streams ─► Record ─► file ─► …
//! ```
//!
//! A record belongs to one text of the devices: of another one, nothing was shown yet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpline_hdl::Config;

use super::{CHAIN, Failed, Tally, run_streams, small};

/// Scenarios that are run between two records: whole chains.
pub const STEP: u64 = 16 * CHAIN;

/// What a device has gone through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Bits of its bus.
    pub width: usize,
    /// It has the smallest buffers.
    pub small: bool,
    /// Seeds from 0 up to this one were run, each without a difference.
    pub seeds: u64,
    /// Streams.
    pub streams: usize,
    /// Octets of the streams.
    pub octets: u64,
    /// FPDUs that were judged valid.
    pub fpdus: u64,
    /// Messages that were delivered.
    pub messages: u64,
    /// Streams that ended with an error, by its type and code.
    pub errors: BTreeMap<String, usize>,
}

impl Run {
    /// The device.
    #[must_use]
    pub fn config(&self) -> Config {
        match self.small {
            true => small(self.width),
            false => Config::simulated(self.width),
        }
    }

    fn add(&mut self, seeds: u64, tally: &Tally) {
        self.seeds = seeds;
        self.streams += tally.streams;
        self.octets += tally.octets;
        self.fpdus += tally.fpdus;
        self.messages += tally.messages;
        for (error, count) in &tally.errors {
            let name = format!("{:#x}/{:#04x}", error >> 8, error & 0xFF);
            *self.errors.entry(name).or_default() += count;
        }
    }
}

/// What all devices have gone through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Stands for the text of the devices.
    pub text: String,
    /// Streams of all devices.
    pub streams: usize,
    /// Time that was spent, on all cores together.
    pub seconds: u64,
    /// Each device.
    pub devices: Vec<Run>,
}

impl Record {
    /// Nothing yet, of devices with this text: each width, with full and with the smallest buffers.
    #[must_use]
    pub fn new(text: impl Into<String>, widths: &[usize]) -> Self {
        let both = |&width: &usize| [(width, false), (width, true)];
        let devices = widths.iter().flat_map(both).map(|(width, small)| Run {
            width,
            small,
            seeds: 0,
            streams: 0,
            octets: 0,
            fpdus: 0,
            messages: 0,
            errors: BTreeMap::new(),
        });
        Self {
            text: text.into(),
            streams: 0,
            seconds: 0,
            devices: devices.collect(),
        }
    }

    /// What was recorded before, if it is of the same devices; nothing yet otherwise.
    #[must_use]
    pub fn resume(self, recorded: Option<Self>) -> Self {
        let same = |recorded: &Self| {
            let shape = |record: &Self| -> Vec<_> {
                let devices = record.devices.iter();
                devices.map(|run| (run.width, run.small)).collect()
            };
            recorded.text == self.text && shape(recorded) == shape(&self)
        };
        recorded.filter(same).unwrap_or(self)
    }

    /// The device that has seen the fewest streams.
    #[must_use]
    pub fn next(&self) -> Option<usize> {
        (0..self.devices.len()).min_by_key(|&index| self.devices[index].streams)
    }

    /// Runs the next [`STEP`] seeds of a device.
    ///
    /// # Errors
    /// The first scenario that fails; the record is as before.
    pub fn advance(&mut self, device: usize) -> Result<(), Failed> {
        let began = std::time::Instant::now();
        let run = &mut self.devices[device];
        let seeds = run.seeds..run.seeds + STEP;
        let tally = run_streams(&run.config(), seeds.clone(), usize::MAX, |_| {})?;
        run.add(seeds.end, &tally);
        self.streams += tally.streams;
        self.seconds += began.elapsed().as_secs();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_taken_up_where_it_was_and_only_of_the_same_devices() {
        let mut record = Record::new("one", &[64, 512]);
        assert_eq!(record.next(), Some(0));
        let tally = Tally {
            streams: 7,
            errors: BTreeMap::from([(0x301, 2)]),
            ..Tally::default()
        };
        record.devices[0].add(STEP, &tally);
        record.devices[0].add(2 * STEP, &tally);
        assert_eq!(record.next(), Some(1), "the one that lags");
        let run = &record.devices[0];
        assert_eq!((run.seeds, run.streams), (2 * STEP, 14));
        assert_eq!(run.errors, BTreeMap::from([("0x3/0x01".into(), 4)]));

        let text = serde_json::to_string(&record).unwrap();
        let read: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(
            Record::new("one", &[64, 512]).resume(Some(read.clone())),
            record
        );
        let new = Record::new("two", &[64, 512]);
        assert_eq!(new.clone().resume(Some(read.clone())), new);
        assert_eq!(new.clone().resume(None), new);
        let fewer = Record::new("one", &[64]);
        assert_eq!(fewer.clone().resume(Some(read)), fewer);
    }
}

//! A long run of random scenarios that can be stopped and taken up again, and what is recorded of it.
//!
//! ```text
//!  Record ─► the idle device that lags most ─► its next seeds, chain by chain ─► Record ─► file ─► …
//! ```
//!
//! Several devices may run at a time, each in a thread; the record never holds seeds that did not run to their end.
//!
//! A record belongs to one text of the devices: of another one, nothing was shown yet. Those of former texts are kept in
//! front of it. A chain that fails is recorded, and its streams do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpline_hdl::Config;

use super::coverage::error_name;
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
    /// Seeds from 0 up to this one were run, each without a difference unless `failures` says otherwise.
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

    fn add(&mut self, Done { tally, end, .. }: &Done) {
        self.seeds = *end;
        self.streams += tally.streams;
        self.octets += tally.octets;
        self.fpdus += tally.fpdus;
        self.messages += tally.messages;
        for (error, count) in &tally.errors {
            *self.errors.entry(error_name(*error)).or_default() += count;
        }
    }
}

/// What all devices have gone through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Stands for the text of the devices.
    pub text: String,
    /// Commit of the sources that ran last.
    pub commit: String,
    /// Streams of all devices.
    pub streams: usize,
    /// Time that was spent, the sum of all threads, others that wanted the processor included.
    pub milliseconds: u64,
    /// What failed, and how to see it again.
    pub failures: Vec<String>,
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
            commit: String::new(),
            streams: 0,
            milliseconds: 0,
            failures: Vec::new(),
            devices: devices.collect(),
        }
    }

    /// Takes what was recorded of the same devices out of `records`; nothing yet if there is none.
    #[must_use]
    pub fn resume(self, records: &mut Vec<Self>) -> Self {
        let same = |recorded: &Self| {
            let shape = |record: &Self| -> Vec<_> {
                let devices = record.devices.iter();
                devices.map(|run| (run.width, run.small)).collect()
            };
            recorded.text == self.text && shape(recorded) == shape(&self)
        };
        match records.iter().position(same) {
            Some(at) => records.remove(at),
            None => self,
        }
    }

    /// The device that has seen the fewest seeds of those that are not `busy`: one that fails adds no streams, and must not
    /// hold up the others.
    #[must_use]
    pub fn next(&self, busy: &BTreeSet<usize>) -> Option<usize> {
        (0..self.devices.len())
            .filter(|index| !busy.contains(index))
            .min_by_key(|&index| self.devices[index].seeds)
    }

    /// The next [`STEP`] seeds of a device, to be run.
    #[must_use]
    pub fn step(&self, device: usize) -> Step {
        let run = &self.devices[device];
        Step {
            config: run.config(),
            seeds: run.seeds..run.seeds + STEP,
        }
    }

    /// Adds what the next seeds of a device came to.
    pub fn add(&mut self, device: usize, done: Done) {
        self.devices[device].add(&done);
        self.streams += done.tally.streams;
        self.milliseconds += done.milliseconds;
        self.failures.extend(done.failures);
    }
}

/// Seeds to run on a device.
#[derive(Clone, Debug)]
pub struct Step {
    config: Config,
    seeds: Range<u64>,
}

/// What a [`Step`] came to.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The chains without a difference.
    pub tally: Tally,
    end: u64,
    milliseconds: u64,
    failures: Vec<String>,
}

impl Step {
    /// Runs the seeds.
    #[must_use]
    pub fn run(self) -> Done {
        let config = self.config;
        self.run_by(|seeds| run_streams(&config, seeds, usize::MAX, |_| {}))
    }

    fn run_by(self, mut run: impl FnMut(Range<u64>) -> Result<Tally, Failed>) -> Done {
        let began = Instant::now();
        let mut done = Done {
            end: self.seeds.end,
            ..Done::default()
        };
        for start in self.seeds.step_by(CHAIN as usize) {
            match run(start..start + CHAIN) {
                Ok(tally) => done.tally.merge(&tally),
                Err(failed) => done.failures.push(failed.to_string()),
            }
        }
        done.milliseconds = began.elapsed().as_millis() as u64;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::Failure;
    use super::*;

    #[test]
    fn a_record_is_taken_up_where_it_was_and_only_of_the_same_devices() {
        let mut record = Record::new("one", &[64, 512]);
        let idle = BTreeSet::new();
        assert_eq!(record.next(&idle), Some(0));
        assert_eq!(record.next(&BTreeSet::from([0])), Some(1), "0 is busy");
        assert_eq!(
            record.next(&BTreeSet::from([0, 1, 2, 3])),
            None,
            "two devices a width"
        );
        let tally = Tally {
            streams: 7,
            errors: BTreeMap::from([(0x301, 2)]),
            ..Tally::default()
        };
        let mut seen = Vec::new();
        let done = record.step(0).run_by(|seeds| {
            seen.push(seeds.clone());
            match seeds.contains(&20) {
                false => Ok(tally.clone()),
                true => Err(Failed {
                    config: Box::new(small(64)),
                    seeds: 20..21,
                    failure: Failure {
                        lines: vec!["completion 3 is gone".into()],
                    },
                }),
            }
        });
        record.add(0, done);
        assert_eq!(record.next(&idle), Some(1), "the one that lags");
        assert_eq!((&seen[0], seen.last().unwrap().end), (&(0..CHAIN), STEP));
        let (run, chains) = (&record.devices[0], STEP / CHAIN - 1);
        assert_eq!((run.seeds, run.streams), (STEP, 7 * chains as usize));
        assert_eq!(record.streams, run.streams);
        let errors = BTreeMap::from([("0x3/0x01".into(), 2 * chains as usize)]);
        assert_eq!(run.errors, errors);
        let [failure] = &record.failures[..] else {
            panic!("{:?}", record.failures)
        };
        assert!(failure.contains("width 64 --small, seed 20") && failure.contains("is gone"));

        let text = serde_json::to_string(&[&record]).unwrap();
        let recorded: Vec<Record> = serde_json::from_str(&text).unwrap();
        let resumed = |new: &Record, recorded: &[Record]| {
            let mut records = recorded.to_vec();
            let resumed = new.clone().resume(&mut records);
            records.push(resumed);
            records
        };
        let same = Record::new("one", &[64, 512]);
        assert_eq!(resumed(&same, &recorded), [record.clone()]);
        for new in [Record::new("two", &[64, 512]), Record::new("one", &[64])] {
            let both = [record.clone(), new.clone()];
            assert_eq!(resumed(&new, &recorded), both);
            assert_eq!(resumed(&new, &both), both);
            assert_eq!(resumed(&same, &both), [new.clone(), record.clone()]);
            assert_eq!(resumed(&new, &[]), [new]);
        }
    }
}

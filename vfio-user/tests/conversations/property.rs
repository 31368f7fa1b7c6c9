//! Random calls, client to server to model, compared with a second model of each call.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use warpline_vfio_user::{Client, Errno, Error, Permissions};

use crate::model::{IRQS, SIZES, region_infos};
use crate::round_trips::{Shared, connected};

#[derive(Clone, Debug)]
enum Call {
    Read {
        region: u32,
        offset: u64,
        length: usize,
    },
    Write {
        region: u32,
        offset: u64,
        data: Vec<u8>,
    },
    Map {
        iova: u64,
        length: u64,
        readable: bool,
        writable: bool,
    },
    Unmap {
        iova: u64,
        length: u64,
    },
    UnmapAll,
    SetIrqs {
        index: u32,
        start: u32,
        eventfds: Vec<bool>,
    },
    DisableIrqs {
        index: u32,
    },
    Reset,
    /// From now on the device refuses everything, or nothing.
    Refuse(bool),
}

/// Few addresses, at both ends of the address space, so that maps collide.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![0..16u64, (0..16u64).prop_map(|n| u64::MAX - n)]
}

fn call() -> impl Strategy<Value = Call> {
    let offset = || {
        prop_oneof![
            4 => 0..0x90u64,
            2 => 0xfe0..0x1010u64,
            1 => Just(u64::MAX),
        ]
    };
    let length =
        || prop_oneof![8 => 1..9u64, 1 => Just(0u64), 1 => Just(1 << 63), 1 => any::<u64>()];
    prop_oneof![
        4 => (0..6u32, offset(), 0..40usize)
            .prop_map(|(region, offset, length)| Call::Read { region, offset, length }),
        4 => (0..6u32, offset(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(region, offset, data)| Call::Write { region, offset, data }),
        6 => (address(), length(), any::<[bool; 2]>()).prop_map(|(iova, length, [readable, writable])| {
            Call::Map { iova, length, readable, writable }
        }),
        3 => (address(), length()).prop_map(|(iova, length)| Call::Unmap { iova, length }),
        1 => Just(Call::UnmapAll),
        3 => (0..6u32, 0..45u32, prop::collection::vec(any::<bool>(), 0..42))
            .prop_map(|(index, start, eventfds)| Call::SetIrqs { index, start, eventfds }),
        1 => (0..6u32).prop_map(|index| Call::DisableIrqs { index }),
        1 => Just(Call::Reset),
        1 => prop::bool::weighted(0.3).prop_map(Call::Refuse),
    ]
}

/// What a client reports: success, or the error number of a refusal.
type Outcome = Result<(), u32>;

/// How a client reads results. The test must detect one that ignores refusals.
trait Reading {
    fn report(&self, result: Result<(), Error>) -> Result<Outcome, TestCaseError>;
}

struct Faithful;

impl Reading for Faithful {
    fn report(&self, result: Result<(), Error>) -> Result<Outcome, TestCaseError> {
        match result {
            Ok(()) => Ok(Ok(())),
            Err(Error::Refused { errno, .. }) => Ok(Err(errno)),
            Err(other) => Err(TestCaseError::fail(other.to_string())),
        }
    }
}

/// The fault of a published client: an error reply counts as success.
struct IgnoresRefusals;

impl Reading for IgnoresRefusals {
    fn report(&self, result: Result<(), Error>) -> Result<Outcome, TestCaseError> {
        Faithful.report(result).map(|_| Ok(()))
    }
}

/// The second model: plain lists, no protocol.
struct SecondModel {
    regions: Vec<Vec<u8>>,
    /// Last address by first.
    maps: BTreeMap<u64, u64>,
    irqs: Vec<Vec<bool>>,
    refuse: bool,
}

impl SecondModel {
    fn new() -> SecondModel {
        SecondModel {
            regions: SIZES.iter().map(|&size| vec![0; size as usize]).collect(),
            maps: BTreeMap::new(),
            irqs: IRQS
                .iter()
                .map(|&count| vec![false; count as usize])
                .collect(),
            refuse: false,
        }
    }

    fn device(&self) -> Result<(), Errno> {
        if self.refuse { Err(Errno::IO) } else { Ok(()) }
    }

    /// The octets of an access.
    fn span(
        &self,
        region: u32,
        offset: u64,
        length: usize,
    ) -> Result<std::ops::Range<usize>, Errno> {
        let size = self.regions.get(region as usize).ok_or(Errno::INVAL)?.len() as u128;
        if u128::from(offset) + length as u128 > size {
            return Err(Errno::INVAL);
        }
        Ok(offset as usize..offset as usize + length)
    }

    fn call(&mut self, call: &Call, found: &[u8]) -> Result<(), Errno> {
        match call {
            Call::Read { length: 0, .. } => {}
            Call::Write { data, .. } if data.is_empty() => {}
            Call::Read {
                region,
                offset,
                length,
            } => {
                let span = self.span(*region, *offset, *length)?;
                if !region_infos()[*region as usize].readable {
                    return Err(Errno::PERM);
                }
                self.device()?;
                assert_eq!(self.regions[*region as usize][span], *found);
            }
            Call::Write {
                region,
                offset,
                data,
            } => {
                let span = self.span(*region, *offset, data.len())?;
                if !region_infos()[*region as usize].writable {
                    return Err(Errno::PERM);
                }
                self.device()?;
                self.regions[*region as usize][span].copy_from_slice(data);
            }
            Call::Map {
                iova,
                length,
                readable,
                writable,
            } => {
                if !readable && !writable {
                    return Err(Errno::INVAL);
                }
                if *length > i64::MAX as u64 {
                    return Err(Errno::OVERFLOW);
                }
                let last = u128::from(*iova) + u128::from(*length);
                if *length == 0 || last > 1 << 64 {
                    return Err(Errno::INVAL);
                }
                let last = (last - 1) as u64;
                if self
                    .maps
                    .iter()
                    .any(|(&first, &end)| first <= last && *iova <= end)
                {
                    return Err(Errno::EXIST);
                }
                self.device()?;
                self.maps.insert(*iova, last);
            }
            Call::Unmap { iova, length } => {
                let last = u128::from(*iova) + u128::from(*length);
                if *length == 0 || last > 1 << 64 {
                    return Err(Errno::INVAL);
                }
                let range = *iova..=(last - 1) as u64;
                let inside =
                    |(first, end): (&u64, &u64)| range.contains(first) && range.contains(end);
                let met = |(first, end): (&u64, &u64)| first <= range.end() && range.start() <= end;
                if self.maps.iter().any(|map| met(map) && !inside(map)) {
                    return Err(Errno::INVAL);
                }
                if self.maps.iter().any(inside) {
                    self.device()?;
                }
                self.maps.retain(|first, _| !range.contains(first));
            }
            Call::UnmapAll => {
                if !self.maps.is_empty() {
                    self.device()?;
                }
                self.maps.clear();
            }
            Call::SetIrqs {
                index,
                start,
                eventfds,
            } => {
                // The client sends runs of the same kind, at most 16 eventfds each: some may succeed.
                let mut from = *start as usize;
                for run in eventfds.chunk_by(|a, b| a == b) {
                    for part in run.chunks(if run[0] { 16 } else { run.len() }) {
                        let irqs = self.irqs.get(*index as usize).ok_or(Errno::INVAL)?;
                        if from + part.len() > irqs.len() {
                            return Err(Errno::INVAL);
                        }
                        self.device()?;
                        self.irqs[*index as usize][from..from + part.len()].copy_from_slice(part);
                        from += part.len();
                    }
                }
            }
            Call::DisableIrqs { index } => {
                self.irqs.get(*index as usize).ok_or(Errno::INVAL)?;
                self.device()?;
                self.irqs[*index as usize].fill(false);
            }
            Call::Reset => {
                self.device()?;
                for region in &mut self.regions {
                    region.fill(0);
                }
            }
            Call::Refuse(refuse) => self.refuse = *refuse,
        }
        Ok(())
    }

    fn matches(&self, shared: &Shared) -> bool {
        let model = shared.0.lock().unwrap();
        let maps: BTreeMap<u64, u64> = model
            .maps
            .iter()
            .map(|(&iova, map)| (iova, iova + (map.length - 1)))
            .collect();
        let irqs: Vec<Vec<bool>> = model
            .irqs
            .iter()
            .map(|irqs| irqs.iter().map(Option::is_some).collect())
            .collect();
        // No call reaches farther; comparing two mebioctets each time would dominate the run time.
        let near = |regions: &[Vec<u8>]| -> Vec<Vec<u8>> {
            let near = |region: &Vec<u8>| region[..region.len().min(0x1100)].to_vec();
            regions.iter().map(near).collect()
        };
        near(&model.regions) == near(&self.regions) && maps == self.maps && irqs == self.irqs
    }
}

fn perform(
    client: &Client,
    shared: &Shared,
    call: &Call,
    file: &std::fs::File,
    found: &mut Vec<u8>,
) -> Result<(), Error> {
    match call {
        Call::Read {
            region,
            offset,
            length,
        } => {
            found.resize(*length, 0);
            client.region_read(*region, *offset, found)
        }
        Call::Write {
            region,
            offset,
            data,
        } => client.region_write(*region, *offset, data),
        Call::Map {
            iova,
            length,
            readable,
            writable,
        } => {
            let permissions = Permissions {
                readable: *readable,
                writable: *writable,
            };
            client.dma_map(*iova, *length, file.as_fd(), 0, permissions)
        }
        Call::Unmap { iova, length } => client.dma_unmap(*iova, *length),
        Call::UnmapAll => client.dma_unmap_all(),
        Call::SetIrqs {
            index,
            start,
            eventfds,
        } => {
            let eventfds: Vec<_> = eventfds
                .iter()
                .map(|some| some.then(|| file.as_fd()))
                .collect();
            client.set_irqs(*index, *start, &eventfds)
        }
        Call::DisableIrqs { index } => client.disable_irqs(*index),
        Call::Reset => client.reset(),
        Call::Refuse(refuse) => {
            shared.0.lock().unwrap().refuse = refuse.then_some(Errno::IO);
            Ok(())
        }
    }
}

fn converse(calls: &[Call], reading: &impl Reading) -> Result<(), TestCaseError> {
    let (client, shared, server) = connected();
    let file = tempfile::tempfile().unwrap();
    let mut model = SecondModel::new();
    for call in calls {
        let mut found = Vec::new();
        let outcome = reading.report(perform(&client, &shared, call, &file, &mut found))?;
        let expected = model.call(call, &found);
        let expected = expected.map_err(|errno| errno.raw_os_error() as u32);
        prop_assert_eq!(outcome, expected, "{:?}", call);
        prop_assert!(model.matches(&shared), "another state after {:?}", call);
    }
    drop(client);
    prop_assert!(server.join().unwrap().is_ok());
    Ok(())
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

#[test]
fn conversations_agree_with_a_second_model() {
    let calls = prop::collection::vec(call(), 1..60);
    runner(300)
        .run(&calls, |calls| converse(&calls, &Faithful))
        .unwrap();
}

#[test]
fn a_client_that_ignores_the_error_flag_is_detected() {
    let calls = prop::collection::vec(call(), 1..60);
    let error = runner(300)
        .run(&calls, |calls| converse(&calls, &IgnoresRefusals))
        .unwrap_err();
    assert!(error.to_string().contains("Ok(())"), "{error}");
}

//! What is recorded: workloads, and the figures of a device.

use serde::{Deserialize, Serialize};
use warpline_verilate::Model;
use warpline_wire::ddp::{TAGGED_HEADER_LEN, UNTAGGED_HEADER_LEN};
use warpline_wire::mpa;

use super::reads::{self, ReadDelay, read_delay, read_delays};
use super::{Delay, ETHERNET, MANY, Rate, RateError, Requests, Workload, delay, rate};

/// All figures of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Rates.
    pub rates: Vec<Rate>,
    /// Latencies.
    pub delays: Vec<Delay>,
    /// Latencies of Reads.
    #[serde(default)]
    pub reads: Vec<ReadDelay>,
}

/// The rates that are recorded.
#[must_use]
pub fn workloads() -> Vec<Workload> {
    let mut all = vec![];
    for markers in [false, true] {
        for ulpdu in [64, 258, ETHERNET, 4098] {
            all.push(Workload::memory(ulpdu, 1, markers));
            if ulpdu > mpa::MIN_MULPDU.into() {
                all.push(Workload::memory(ulpdu, 16, markers));
            }
        }
    }
    for (ulpdu, fpdus) in [(ETHERNET, 1), (ETHERNET, 16), (4098, 16)] {
        all.push(Workload {
            receiving: 4,
            ..Workload::memory(ulpdu, fpdus, false)
        });
    }
    for streams in [1, 4] {
        all.push(Workload {
            streams,
            requests: Requests::Inline,
            ulpdu: UNTAGGED_HEADER_LEN + 28,
            ..Workload::memory(0, 1, false)
        });
        all.push(Workload {
            streams,
            ..Workload::memory(TAGGED_HEADER_LEN + 64, 1, false)
        });
    }
    for (streams, silent) in [(1, false), (MANY, false), (MANY, true)] {
        all.push(Workload {
            streams,
            silent,
            ..Workload::memory(ETHERNET, 4, false)
        });
    }
    all.extend(reads::workloads());
    all
}

/// The latencies that are recorded.
#[must_use]
pub fn delays() -> Vec<Workload> {
    let inline = Workload {
        requests: Requests::Inline,
        ..Workload::memory(UNTAGGED_HEADER_LEN + 28, 1, false)
    };
    let element = Workload::memory(TAGGED_HEADER_LEN + 64, 1, false);
    vec![inline, element, Workload::memory(ETHERNET, 1, false)]
}

/// All recorded figures of the device `model`, which has the [`config`](super::config) of `width`.
///
/// # Errors
/// Those of the first run that fails.
pub fn figures(model: &mut Model, width: usize) -> Result<Figures, RateError> {
    let rates = workloads().into_iter().map(|w| rate(model, width, w));
    let rates = rates.collect::<Result<_, _>>()?;
    let delays = delays().into_iter().map(|w| delay(model, width, w));
    let delays = delays.collect::<Result<_, _>>()?;
    let reads = read_delays().into_iter();
    let reads = reads.map(|w| read_delay(model, width, w));
    let reads = reads.collect::<Result<_, _>>()?;
    Ok(Figures {
        rates,
        delays,
        reads,
    })
}

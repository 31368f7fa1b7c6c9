//! What `serve`, `put` and `get` share: the card, files in memory, the report.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use warpline_driver::{DmaMemory, Endpoint, Transport};
use warpline_sim::{HAS_SCTP, PathOptions};

use super::output::{apart, writable};
use super::terminal::{Bar, STRONG, grouped, show, spinner};
use crate::options::Peer;
use crate::size::MOST_MEMORY;
use crate::transfer::{Machine, MachineOptions, Progress, TransferError};
use crate::{Error, endpoint};

/// Checks the address, and the file of the record, which is none of `others`.
pub(super) fn check(peer: &Peer, address: Endpoint, others: &[&Path]) -> Result<(), Error> {
    let of_tcp = [
        ("--markers", peer.markers),
        ("--rough", peer.rough.is_some()),
    ];
    endpoint::check(address, HAS_SCTP, &of_tcp)?;
    if let Some(path) = &peer.pcap {
        let others: Vec<_> = others.iter().map(|path| path.to_path_buf()).collect();
        apart(path, &others)?;
        writable(path)?;
    }
    Ok(())
}

/// The card, for connections over what carries `address`.
pub(super) fn machine(peer: &Peer, address: Endpoint) -> Result<Machine, Error> {
    let spinner = spinner();
    spinner.set_message(format!(
        "building the {}-bit card (once; the model is kept)",
        peer.width
    ));
    let machine = Machine::open(&MachineOptions {
        width: peer.width,
        markers: peer.markers,
        sctp: address.transport == Transport::Sctp,
        path: peer
            .rough
            .map_or_else(PathOptions::default, PathOptions::rough),
        record: peer.pcap.clone(),
    });
    spinner.finish_and_clear();
    machine
}

/// A file in memory that the card can reach.
pub(super) fn loaded(path: &Path) -> Result<(DmaMemory, Vec<u8>), Error> {
    let unread = |source| Error::Read {
        path: path.into(),
        source,
    };
    // A device may be endless, and opening a pipe may block.
    let about = fs::metadata(path).map_err(unread)?;
    if !about.is_file() {
        return Err(Error::NoFile { path: path.into() });
    }
    if about.len() > MOST_MEMORY {
        return Err(Error::TooLarge {
            path: path.into(),
            octets: about.len(),
            most: MOST_MEMORY,
        });
    }
    let octets = fs::read(path).map_err(unread)?;
    if octets.is_empty() {
        return Err(Error::Empty { path: path.into() });
    }
    let mut memory = empty(octets.len() as u64)?;
    memory.copy_from_slice(&octets);
    Ok((memory, octets))
}

/// Zeros.
pub(super) fn empty(octets: u64) -> Result<DmaMemory, Error> {
    let octets = usize::try_from(octets).unwrap_or(usize::MAX);
    Ok(DmaMemory::new(octets).map_err(TransferError::Driver)?)
}

/// Shows how far a transfer has come, and each connection that has failed.
pub(super) struct Telling {
    bar: Bar,
    endpoint: Endpoint,
    length: u64,
}

impl Telling {
    /// Of `length` octets to or from `endpoint`.
    pub fn new(what: &str, endpoint: Endpoint, length: u64) -> Self {
        Self {
            bar: Bar::new(what.into()),
            endpoint,
            length,
        }
    }

    pub fn show(&self, progress: Progress<'_>) {
        match progress {
            Progress::Placed(octets) => self.bar.show(octets, self.length),
            Progress::Again { error, retry, most } => self.bar.complain(&format_args!(
                "{}: {error}; trying again, {retry} of {most}",
                self.endpoint,
            )),
        }
    }
}

/// What a transfer has come to.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Octets that were transferred.
    pub octets: u64,
    /// Offset in the served memory.
    pub offset: u64,
    /// Seconds from the first connection to the last octet: the speed of a simulated card.
    pub seconds: f64,
    /// With `--verify`: whether the peer's memory has these octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equal: Option<bool>,
}

impl Report {
    /// Prints it.
    pub fn show(&self, json: bool, verb: &str, took: Duration) -> Result<(), Error> {
        if json {
            return show(&format!("{}\n", serde_json::to_string(self)?));
        }
        let rate = self.octets as f64 / 1e6 / took.as_secs_f64().max(1e-9);
        let equal = match self.equal {
            None => "",
            Some(true) => ", read back and equal",
            Some(false) => ", read back and NOT equal",
        };
        show(&format!(
            "{STRONG}{} octets{STRONG:#} {verb} in {:.1} s, {rate:.2} MB/s (of a simulated card){equal}\n",
            grouped(self.octets),
            self.seconds,
        ))
    }
}

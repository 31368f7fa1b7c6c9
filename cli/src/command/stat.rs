//! `warpline stat`: identity and counters of a device. It reads registers only, and resets nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use warpline_driver::{Address, Device, Error as DriverError, OpenError, VfioUser};
use warpline_regmap::{Register, register};

use super::exit_code::OK;
use super::terminal::{DIM, STRONG, grouped, show};
use crate::Error;
use crate::options::Stat;

/// Longest time to an answer of a card at a socket. A card that serves a host gives none.
const PATIENCE: Duration = Duration::from_secs(3);

const SHAPE: [Register; 4] = [
    register::RING_OCTETS,
    register::STAG_SLOTS,
    register::RECEIVE_SLOTS,
    register::MAX_ULPDU,
];
const COUNTERS: [Register; 9] = [
    register::SEGMENTS,
    register::OCTETS,
    register::SEGMENTS_DROPPED,
    register::FPDUS,
    register::FPDUS_DISCARDED,
    register::PAYLOAD_OCTETS,
    register::ERRORS,
    register::COMPLETION_PRODUCER,
    register::COMPLETION_CONSUMER,
];
const INTERRUPTS: [Register; 3] = [
    register::INTERRUPT_STATE,
    register::INTERRUPT_ENABLE,
    register::INTERRUPT_HOLDOFF,
];

pub(super) fn run(options: &Stat) -> Result<u8, Error> {
    let device = match &options.address {
        Address::Socket(path) => Box::new(connect(path)?),
        pci => pci.device().map_err(DriverError::from)?,
    };
    show(&match options.json {
        true => serde_json::to_string(&Report::read(&*device)?)? + "\n",
        false => text(&*device)?,
    })?;
    Ok(OK)
}

/// The card at a socket, if no other program uses it.
pub(super) fn connect(path: &Path) -> Result<VfioUser, Error> {
    VfioUser::connect(path, PATIENCE).map_err(|error| match error {
        OpenError::Socket {
            source: warpline_vfio_user::Error::TimedOut { .. },
            ..
        } => Error::InUse { path: path.into() },
        other => DriverError::from(other).into(),
    })
}

fn read(device: &dyn Device, register: Register) -> Result<u32, Error> {
    let read = device.read(register.offset);
    let failed = |source| DriverError::Device {
        action: "reading a register",
        source,
    };
    Ok(read.map_err(failed)?)
}

/// What a device is.
#[derive(Debug, Serialize)]
pub(super) struct Identity {
    /// Version of its register map.
    register_map: String,
    /// Octets of its data path.
    width_octets: u64,
    streams: u64,
    /// Untagged queues of a stream.
    queues: u64,
}

impl Identity {
    /// Reads it.
    ///
    /// # Errors
    /// [`DriverError::NotWarpline`], and those of the device.
    pub fn read(device: &dyn Device) -> Result<Self, Error> {
        let found = read(device, register::IDENTITY)?;
        if found != register::IDENTITY_VALUE {
            return Err(DriverError::NotWarpline { found }.into());
        }
        let version = read(device, register::VERSION)?;
        let shape = [read(device, register::SHAPE)?];
        Ok(Self {
            register_map: format!("{}.{}", version >> 16, version & 0xFFFF),
            width_octets: register::SHAPE_WIDTH.get(&shape),
            streams: register::SHAPE_STREAMS.get(&shape),
            queues: register::SHAPE_QUEUES.get(&shape),
        })
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "register map {}, {} octets wide, {} streams, {} untagged queues each",
            self.register_map, self.width_octets, self.streams, self.queues,
        )
    }
}

/// What `--json` prints. Registers have their names, in lower case.
#[derive(Serialize)]
struct Report {
    name: String,
    #[serde(flatten)]
    identity: Identity,
    shape: BTreeMap<String, u32>,
    counters: BTreeMap<String, u32>,
    interrupts: BTreeMap<String, u32>,
}

impl Report {
    fn read(device: &dyn Device) -> Result<Self, Error> {
        let values = |registers: &[Register]| -> Result<BTreeMap<String, u32>, Error> {
            let pair =
                |&register: &Register| Ok((register.name.to_lowercase(), read(device, register)?));
            registers.iter().map(pair).collect()
        };
        Ok(Self {
            name: device.info().name,
            identity: Identity::read(device)?,
            shape: values(&SHAPE)?,
            counters: values(&COUNTERS)?,
            interrupts: values(&INTERRUPTS)?,
        })
    }
}

fn text(device: &dyn Device) -> Result<String, Error> {
    let (name, identity) = (device.info().name, Identity::read(device)?);
    let mut text = format!("{STRONG}{name}{STRONG:#}: {identity}\n");
    for (title, registers) in [
        ("shape", &SHAPE[..]),
        ("counters since the last reset, modulo 2^32", &COUNTERS),
    ] {
        text += &format!("{DIM}{title}{DIM:#}\n");
        for &register in registers {
            let value = grouped(read(device, register)?);
            text += &format!("  {:<20} {value:>14}\n", register.name.to_lowercase());
        }
    }
    text += &format!("{DIM}interrupts, one bit a vector{DIM:#}\n");
    for register in INTERRUPTS {
        let value = read(device, register)?;
        text += &format!("  {:<20} {value:>#14x}\n", register.name.to_lowercase());
    }
    Ok(text)
}

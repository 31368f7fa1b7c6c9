//! What a device has, as its registers describe it.

use warpline_regmap::{Field, Register, register, transmit};

use crate::dma::Dma;
use crate::error::Error;

/// What a device can do beyond receiving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It has send queues.
    pub transmit: bool,
    /// It has a mailbox, and a control program behind it that listens, connects and arms streams.
    pub mailbox: bool,
    /// It answers RDMA Read Requests by itself.
    pub read_responder: bool,
}

impl Capabilities {
    /// Reads the register that describes them; a device without it reads 0.
    pub(crate) fn read(dma: &Dma) -> Result<Self, Error> {
        let value = dma.read(transmit::CAPABILITIES, 0)?;
        Ok(Self {
            transmit: transmit::CAPABILITY_TRANSMIT.get(&[value]) == 1,
            mailbox: transmit::CAPABILITY_MAILBOX.get(&[value]) == 1,
            read_responder: transmit::CAPABILITY_READ_RESPONDER.get(&[value]) == 1,
        })
    }
}

/// What a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Width of the data path in octets.
    pub width: u16,
    /// Streams, 1 to 16.
    pub streams: u8,
    /// Untagged queues of each stream, 1 to 4.
    pub queues: u8,
    /// Octets of each stream's assembly ring: the largest TCP window.
    pub ring_octets: u32,
    /// Slots of the STag table, a power of two.
    pub stag_slots: u32,
    /// Buffers that each queue holds on the device, a power of two; the others wait in its ring.
    pub receive_slots: u32,
    /// Largest ULPDU that is accepted, in octets.
    pub max_ulpdu: u32,
}

impl Shape {
    /// Reads the registers that describe the device.
    pub(crate) fn read(dma: &Dma) -> Result<Self, Error> {
        let read = |register| dma.read(register, 0);
        let found = read(register::IDENTITY)?;
        if found != register::IDENTITY_VALUE {
            return Err(Error::NotWarpline { found });
        }
        let (found, known) = (read(register::VERSION)?, register::VERSION_VALUE >> 16);
        if found >> 16 != known {
            return Err(Error::Version { found, known });
        }
        let checked = |register: Register, legal: fn(u32) -> bool| match read(register)? {
            value if legal(value) => Ok(value),
            value => Err(Error::Shape {
                register: register.name,
                value,
            }),
        };
        let shape = checked(register::SHAPE, |value| {
            let [streams, queues] =
                [register::SHAPE_STREAMS, register::SHAPE_QUEUES].map(|field| field.get(&[value]));
            (1..=register::STREAM_EDGE.count.into()).contains(&streams) && (1..=8).contains(&queues)
        })?;
        let field = |field: Field| field.get(&[shape]);
        Ok(Self {
            width: field(register::SHAPE_WIDTH) as u16,
            streams: field(register::SHAPE_STREAMS) as u8,
            queues: field(register::SHAPE_QUEUES) as u8,
            ring_octets: read(register::RING_OCTETS)?,
            stag_slots: checked(register::STAG_SLOTS, |slots| {
                slots.is_power_of_two() && slots <= 1 << 24
            })?,
            receive_slots: checked(register::RECEIVE_SLOTS, u32::is_power_of_two)?,
            max_ulpdu: read(register::MAX_ULPDU)?,
        })
    }
}

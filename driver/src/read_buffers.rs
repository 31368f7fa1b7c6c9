//! The array of buffers that the device takes Read Requests from, when it answers them by itself.
//!
//! ```text
//!  descriptors of queue 1   0    1    2    …   n-1         each names the buffer of its number, for good
//!  buffers, 64 octets each  0    1    2    …   n-1         message FIRST_MSN + k lies in buffer k mod n
//!                           ├ announced once ┤ the device announces a buffer again when its response is cut
//! ```
//!
//! The host reads a buffer only when the device hands a request to it.

use std::sync::Arc;

use warpline_regmap::transmit::{READ_BUFFER_OCTETS, read_responder};

use crate::buffer::Buffer;
use crate::dma::{Dma, Mapped};
use crate::error::Error;
use crate::memory::DmaMemory;

/// The buffers.
pub(crate) struct ReadBuffers {
    memory: Arc<Mapped>,
    entries: u32,
    first_msn: u32,
}

impl ReadBuffers {
    /// Mapped buffers, as many as the ring has descriptors; the first one is for the message with `first_msn`.
    pub fn new(dma: &Arc<Dma>, entries: u32, first_msn: u32) -> Result<Self, Error> {
        let octets = READ_BUFFER_OCTETS * entries as usize;
        let memory = Arc::new(Mapped::new(dma, DmaMemory::new(octets)?)?);
        Ok(Self {
            memory,
            entries,
            first_msn,
        })
    }

    /// Bus addresses of the buffers, in their order, and the octets of each.
    pub fn places(&self) -> impl Iterator<Item = (u64, u32)> + use<> {
        let base = self.memory.iova();
        let address = move |index| base + READ_BUFFER_OCTETS as u64 * u64::from(index);
        (0..self.entries).map(move |index| (address(index), READ_BUFFER_OCTETS as u32))
    }

    /// Arguments of `SET_READ_RESPONDER`: the device answers.
    pub fn arguments(&self, stream: u8) -> [u32; read_responder::WORDS] {
        let mut words = [0; read_responder::WORDS];
        read_responder::STREAM.put(&mut words, stream.into());
        read_responder::ON.put(&mut words, 1);
        read_responder::ENTRIES_LOG.put(&mut words, self.entries.ilog2().into());
        read_responder::FIRST_MSN.put(&mut words, self.first_msn.into());
        read_responder::BASE.put(&mut words, self.memory.iova());
        words
    }

    /// The buffer of a message that the device hands to the host; it keeps the memory alive.
    pub fn buffer(&self, msn: u32) -> Buffer {
        let index = msn.wrapping_sub(self.first_msn) & (self.entries - 1);
        let start = READ_BUFFER_OCTETS * index as usize;
        let memory = Arc::clone(&self.memory);
        Buffer::new(memory, start, READ_BUFFER_OCTETS as u32, msn.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, DeviceInfo, DmaMap, Result};
    use std::os::fd::BorrowedFd;

    /// A card that maps memory and has nothing else.
    struct Mapper;

    impl Device for Mapper {
        fn info(&self) -> DeviceInfo {
            DeviceInfo {
                name: "mapper".into(),
                bus_addresses: std::iter::once(0..1 << 39).collect(),
            }
        }

        fn read(&self, _: u32) -> Result<u32> {
            unreachable!("no register is read")
        }

        fn write(&self, _: u32, _: u32) -> Result<()> {
            unreachable!("no register is written")
        }

        fn map(&self, _: DmaMap<'_>) -> Result<()> {
            Ok(())
        }

        fn unmap(&self, _: u64, _: u64) -> Result<()> {
            Ok(())
        }

        fn interrupt(&self, _: usize) -> BorrowedFd<'_> {
            unreachable!("no interrupt is waited for")
        }

        fn reset(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files")]
    fn each_message_has_the_place_of_its_number() {
        let dma = Arc::new(Dma::new(Box::new(Mapper)));
        let buffers = ReadBuffers::new(&dma, 4, u32::MAX - 1).unwrap();
        let places: Vec<_> = buffers.places().collect();
        assert_eq!(places.len(), 4);
        for (index, (address, length)) in (0..).zip(places) {
            let msn = (u32::MAX - 1).wrapping_add(index);
            for msn in [msn, msn.wrapping_add(4)] {
                let buffer = buffers.buffer(msn);
                assert_eq!((buffer.iova(), buffer.len()), (address, length));
                assert_eq!(buffer.id(), u64::from(msn));
            }
            let first = buffers.memory.iova();
            assert_eq!(address, first + u64::from(index * length));
        }
        let words = buffers.arguments(3);
        assert_eq!(read_responder::STREAM.get(&words), 3);
        assert_eq!(read_responder::ENTRIES_LOG.get(&words), 2);
        assert_eq!(
            read_responder::FIRST_MSN.get(&words),
            u64::from(u32::MAX - 1)
        );
        assert_eq!(read_responder::BASE.get(&words), buffers.memory.iova());
    }
}

//! Capture file → packets: classic pcap (both byte orders, µs and ns) and pcapng.

use std::time::Duration;

use pcap_parser::pcapng::Block;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    InterfaceDescriptionBlock, OptionCode, PcapBlockOwned, PcapNGSlice, UnknownBlock, nom,
    parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header,
};

use crate::error::TrafficError;

/// Block type of a pcapng section header; a palindrome, so the same in both byte orders.
const SECTION_HEADER: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
/// Block type of the obsolete Packet Block (draft-ietf-opsawg-pcapng, appendix A), which old tools write.
const PACKET_BLOCK: u32 = 2;
/// Octets of its fixed fields.
const PACKET_BLOCK_FIELDS: usize = 20;
/// pcapng option: octets of the FCS behind each packet.
const IF_FCSLEN: OptionCode = OptionCode(13);

/// One captured packet.
pub(crate) struct Packet<'a> {
    /// Position in the file, from 1.
    pub number: u64,
    /// Time since the Unix epoch.
    pub time: Duration,
    /// Number from the tcpdump link-type registry.
    pub link_type: i32,
    /// Octets from the link header on, without FCS.
    pub octets: &'a [u8],
    /// Octets on the wire; more than `octets` has if the capture tool cut the packet.
    pub length: u32,
}

impl<'a> Packet<'a> {
    /// A packet of `length` octets on the wire, the last `fcs` of which are the link's FCS.
    fn new(number: u64, time: Duration, link: Link, octets: &'a [u8], length: u32) -> Self {
        let cut = (length as usize).saturating_sub(octets.len());
        let fcs = link.fcs.saturating_sub(cut);
        Self {
            number,
            time,
            link_type: link.link_type,
            octets: &octets[..octets.len().saturating_sub(fcs)],
            length: length.saturating_sub(link.fcs as u32),
        }
    }
}

/// The packets of a file.
#[derive(Default)]
pub(crate) struct Packets<'a> {
    pub packets: Vec<Packet<'a>>,
    /// Why the file could not be read to its end.
    pub stopped: Option<TrafficError>,
}

/// Link type and octets of the FCS behind each packet.
#[derive(Clone, Copy)]
struct Link {
    link_type: i32,
    fcs: usize,
}

impl Link {
    /// The link-type field of a classic file: bits 28 to 31 are the length of the FCS in units of 16 bits if bit 26 is set
    /// (draft-ietf-opsawg-pcap §4).
    fn of_field(field: u32) -> Self {
        let fcs = match field >> 26 & 1 {
            0 => 0,
            _ => 2 * (field >> 28) as usize,
        };
        Self {
            link_type: (field & 0xFFFF) as i32,
            fcs,
        }
    }
}

/// First octets of a classic file, most significant first: microseconds, nanoseconds, and a variant that is refused.
const CLASSIC: [u32; 3] = [0xA1B2_C3D4, 0xA1B2_3C4D, 0xA1B2_CD34];

/// Whether a file begins as pcap or pcapng do.
pub(crate) fn is_capture(file: &[u8]) -> bool {
    let Some(first) = file.first_chunk().copied() else {
        return false;
    };
    let classic = [u32::from_be_bytes(first), u32::from_le_bytes(first)];
    first == SECTION_HEADER || classic.iter().any(|magic| CLASSIC.contains(magic))
}

/// Reads all packets of a capture file.
pub(crate) fn packets(file: &[u8]) -> Result<Packets<'_>, TrafficError> {
    if file.starts_with(&SECTION_HEADER) {
        Ok(pcapng(file))
    } else {
        classic(file)
    }
}

fn classic(file: &[u8]) -> Result<Packets<'_>, TrafficError> {
    let (mut rest, header) = parse_pcap_header(file).map_err(|e| match e {
        nom::Err::Incomplete(_) if file.len() >= 4 => TrafficError::Truncated { after: 0 },
        _ => TrafficError::NotACapture,
    })?;
    if header.is_modified_format() {
        return Err(TrafficError::Variant("modified pcap"));
    }
    let next = if header.is_bigendian() {
        parse_pcap_frame_be
    } else {
        parse_pcap_frame
    };
    let link = Link::of_field(header.network.0 as u32);
    let mut read = Packets::default();
    while !rest.is_empty() {
        let after = read.packets.len() as u64;
        let Ok((tail, frame)) = next(rest) else {
            read.stopped = Some(TrafficError::Truncated { after });
            break;
        };
        let fraction = if header.is_nanosecond_precision() {
            Duration::from_nanos(frame.ts_usec.into())
        } else {
            Duration::from_micros(frame.ts_usec.into())
        };
        let time = Duration::from_secs(frame.ts_sec.into()) + fraction;
        read.packets.push(Packet::new(
            after + 1,
            time,
            link,
            frame.data,
            frame.origlen,
        ));
        rest = tail;
    }
    Ok(read)
}

/// An interface of a pcapng section.
struct Interface {
    link: Link,
    snap_length: u32,
    ticks_per_second: u64,
    offset_seconds: i64,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>) -> Option<Self> {
        // if_tsresol: a power of ten, or with bit 7 set a power of two.
        let exponent = u32::from(block.if_tsresol & 0x7F);
        let base: u64 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        let fcs = block.options.iter().find(|option| option.code == IF_FCSLEN);
        let fcs = fcs.and_then(|option| option.value.first());
        Some(Self {
            link: Link {
                link_type: block.linktype.0,
                fcs: fcs.map_or(0, |octets| usize::from(*octets)),
            },
            snap_length: block.snaplen,
            ticks_per_second: base.checked_pow(exponent)?,
            offset_seconds: block.if_tsoffset,
        })
    }

    fn time(&self, high: u32, low: u32) -> Duration {
        let ticks = u64::from(high) << 32 | u64::from(low);
        let seconds = (ticks / self.ticks_per_second).saturating_add_signed(self.offset_seconds);
        let fraction = u128::from(ticks % self.ticks_per_second) * 1_000_000_000;
        // Less than one second, so it fits.
        let nanoseconds = (fraction / u128::from(self.ticks_per_second)) as u32;
        Duration::new(seconds, nanoseconds)
    }
}

/// What is known in a pcapng section.
#[derive(Default)]
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

impl Section {
    fn interface(&self, id: u32) -> Option<&Interface> {
        self.interfaces.get(usize::try_from(id).ok()?)
    }

    /// The packet of a block that comes behind `after` packets; the error is a block that contradicts itself.
    fn packet<'a>(&mut self, block: Block<'a>, after: u64) -> Result<Option<Packet<'a>>, ()> {
        let number = after + 1;
        let packet = match block {
            Block::SectionHeader(header) => {
                *self = Self {
                    big_endian: header.big_endian(),
                    ..Self::default()
                };
                None
            }
            Block::InterfaceDescription(idb) => {
                self.interfaces.push(Interface::new(&idb).ok_or(())?);
                None
            }
            Block::EnhancedPacket(epb) => {
                let interface = self.interface(epb.if_id).ok_or(())?;
                let octets = epb.data.get(..epb.caplen as usize).ok_or(())?;
                let time = interface.time(epb.ts_high, epb.ts_low);
                let length = epb.orig_len();
                Some(Packet::new(number, time, interface.link, octets, length))
            }
            Block::SimplePacket(spb) => {
                let interface = self.interface(0).ok_or(())?;
                let most = match interface.snap_length {
                    0 => u32::MAX,
                    most => most,
                };
                let octets = spb.data.get(..spb.origlen.min(most) as usize).ok_or(())?;
                let time = Duration::ZERO; // it has none
                let length = spb.origlen;
                Some(Packet::new(number, time, interface.link, octets, length))
            }
            Block::Unknown(block) if self.is_obsolete(&block) => {
                Some(self.obsolete(&block, number).ok_or(())?)
            }
            _ => None,
        };
        Ok(packet)
    }

    /// Whether a block is an obsolete Packet Block. The parser gives the type of an unknown block in little-endian order
    /// whatever the section's is.
    fn is_obsolete(&self, block: &UnknownBlock<'_>) -> bool {
        block.block_type
            == match self.big_endian {
                true => PACKET_BLOCK.swap_bytes(),
                false => PACKET_BLOCK,
            }
    }

    /// The packet of an obsolete Packet Block.
    fn obsolete<'a>(&self, block: &UnknownBlock<'a>, number: u64) -> Option<Packet<'a>> {
        let word = |at: usize| {
            let octets = *block.data.get(at..)?.first_chunk()?;
            Some(match self.big_endian {
                true => u32::from_be_bytes(octets),
                false => u32::from_le_bytes(octets),
            })
        };
        let half: [u8; 2] = *block.data.first_chunk()?;
        let interface = match self.big_endian {
            true => u16::from_be_bytes(half),
            false => u16::from_le_bytes(half),
        };
        let interface = self.interface(interface.into())?;
        let (captured, length) = (word(12)?, word(16)?);
        let octets = block.data.get(PACKET_BLOCK_FIELDS..)?;
        let octets = octets.get(..captured as usize)?;
        let time = interface.time(word(4)?, word(8)?);
        Some(Packet::new(number, time, interface.link, octets, length))
    }
}

fn pcapng(file: &[u8]) -> Packets<'_> {
    let mut read = Packets::default();
    let Ok(blocks) = PcapNGSlice::from_slice(file) else {
        read.stopped = Some(TrafficError::Block { after: 0 });
        return read;
    };
    let mut section = Section::default();
    for block in blocks {
        let after = read.packets.len() as u64;
        let damaged = TrafficError::Block { after };
        let packet = match block {
            Ok(PcapBlockOwned::NG(block)) => section.packet(block, after),
            Err(nom::Err::Incomplete(_)) => {
                read.stopped = Some(TrafficError::Truncated { after });
                break;
            }
            _ => Err(()),
        };
        match packet {
            Ok(packet) => read.packets.extend(packet),
            Err(()) => {
                read.stopped = Some(damaged);
                break;
            }
        }
    }
    read
}

//! Capture file → packets: classic pcap (both byte orders, µs and ns) and pcapng.

use std::time::Duration;

use pcap_parser::pcapng::Block;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    InterfaceDescriptionBlock, PcapBlockOwned, PcapNGSlice, nom, parse_pcap_frame,
    parse_pcap_frame_be, parse_pcap_header,
};

use crate::error::TrafficError;

/// Block type of a pcapng section header; a palindrome, so the same in both byte orders.
const SECTION_HEADER: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];

/// One captured packet, whole.
pub(crate) struct Packet<'a> {
    /// Position in the file, from 1.
    pub number: u64,
    /// Time since the Unix epoch.
    pub time: Duration,
    /// Number from the tcpdump link-type registry.
    pub link_type: i32,
    /// Octets from the link header on.
    pub octets: &'a [u8],
}

/// Reads all packets of a capture file.
pub(crate) fn packets(file: &[u8]) -> Result<Vec<Packet<'_>>, TrafficError> {
    if file.starts_with(&SECTION_HEADER) {
        pcapng(file)
    } else {
        classic(file)
    }
}

fn classic(file: &[u8]) -> Result<Vec<Packet<'_>>, TrafficError> {
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
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let after = packets.len() as u64;
        let (tail, frame) = next(rest).map_err(|_| TrafficError::Truncated { after })?;
        let fraction = if header.is_nanosecond_precision() {
            Duration::from_nanos(frame.ts_usec.into())
        } else {
            Duration::from_micros(frame.ts_usec.into())
        };
        packets.push(whole(
            Packet {
                number: after + 1,
                time: Duration::from_secs(frame.ts_sec.into()) + fraction,
                link_type: header.network.0,
                octets: frame.data,
            },
            frame.origlen,
        )?);
        rest = tail;
    }
    Ok(packets)
}

/// An interface of a pcapng section.
struct Interface {
    link_type: i32,
    ticks_per_second: u64,
    offset_seconds: i64,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>) -> Option<Self> {
        // if_tsresol: a power of ten, or with bit 7 set a power of two.
        let exponent = u32::from(block.if_tsresol & 0x7F);
        let base: u64 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        Some(Self {
            link_type: block.linktype.0,
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

fn pcapng(file: &[u8]) -> Result<Vec<Packet<'_>>, TrafficError> {
    let blocks = PcapNGSlice::from_slice(file).map_err(|_| TrafficError::Block { after: 0 })?;
    let mut interfaces = Vec::new();
    let mut packets = Vec::new();
    for block in blocks {
        let after = packets.len() as u64;
        let damaged = || TrafficError::Block { after };
        let block = block.map_err(|e| match e {
            nom::Err::Incomplete(_) => TrafficError::Truncated { after },
            _ => damaged(),
        })?;
        let PcapBlockOwned::NG(block) = block else {
            return Err(damaged());
        };
        match block {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(idb) => {
                interfaces.push(Interface::new(&idb).ok_or_else(damaged)?);
            }
            Block::EnhancedPacket(epb) => {
                let interface = usize::try_from(epb.if_id)
                    .ok()
                    .and_then(|id| interfaces.get(id))
                    .ok_or_else(damaged)?;
                let octets = epb.data.get(..epb.caplen as usize).ok_or_else(damaged)?;
                packets.push(whole(
                    Packet {
                        number: after + 1,
                        time: interface.time(epb.ts_high, epb.ts_low),
                        link_type: interface.link_type,
                        octets,
                    },
                    epb.orig_len(),
                )?);
            }
            Block::SimplePacket(_) => return Err(TrafficError::Variant("pcapng simple packet")),
            _ => {}
        }
    }
    Ok(packets)
}

/// Rejects a packet that the capture tool cut short: its stream would have a gap.
fn whole(packet: Packet<'_>, length: u32) -> Result<Packet<'_>, TrafficError> {
    if packet.octets.len() as u64 >= u64::from(length) {
        return Ok(packet);
    }
    Err(TrafficError::Cut {
        packet: packet.number,
        captured: packet.octets.len() as u32,
        length,
    })
}

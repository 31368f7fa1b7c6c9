//! Packet → TCP segment: link header, IP, TCP; or SCTP chunks.
//!
//! Checksums are not checked: a capture taken on the sending machine shows them before the network card fills them in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use etherparse::err::Layer;
use etherparse::{
    EtherType, IpNumber, LaxIpPayloadSlice, LaxNetSlice, LaxSlicedPacket, LenSource, TransportSlice,
};

use warpline_wire::sctp::COMMON_HEADER_LEN;

use crate::error::TrafficError;
use crate::pcap::Packet;
use crate::tcp::{TcpFlags, TcpSegment};

/// Supported link types (tcpdump registry).
mod link {
    pub const NULL: i32 = 0;
    pub const ETHERNET: i32 = 1;
    /// Raw IP; some systems write 12 or 14.
    pub const RAW: [i32; 3] = [101, 12, 14];
    pub const LOOP: i32 = 108;
    pub const LINUX_SLL: i32 = 113;
    pub const IPV4: i32 = 228;
    pub const IPV6: i32 = 229;
    pub const LINUX_SLL2: i32 = 276;
}

/// One TCP segment and its two ends.
pub(crate) struct TcpPacket {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub ack: bool,
    pub segment: TcpSegment,
}

/// One SCTP packet and its two ends.
pub(crate) struct SctpPacket<'a> {
    pub from: SocketAddr,
    pub to: SocketAddr,
    /// Its chunks, behind the common header.
    pub chunks: &'a [u8],
}

/// Extracts the TCP segment of a packet; `None` for anything but TCP over IP.
pub(crate) fn tcp(packet: &Packet<'_>) -> Result<Option<TcpPacket>, TrafficError> {
    let sliced = slice(packet)?;
    let Some((from_ip, to_ip, payload)) = payload(packet, &sliced, IpNumber::TCP)? else {
        return Ok(None);
    };
    if payload.fragmented {
        return Err(TrafficError::Fragment {
            packet: packet.number,
        });
    }
    whole(packet, payload)?;
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else {
        return Err(malformed(
            packet,
            match &sliced.stop_err {
                Some((e, _)) => e.to_string(),
                None => "the TCP header cannot be read".into(),
            },
        ));
    };
    Ok(Some(TcpPacket {
        from: SocketAddr::new(from_ip, tcp.source_port()),
        to: SocketAddr::new(to_ip, tcp.destination_port()),
        ack: tcp.ack(),
        segment: TcpSegment {
            time: packet.time,
            seq: tcp.sequence_number(),
            payload: tcp.payload().to_vec(),
            flags: TcpFlags {
                fin: tcp.fin(),
                syn: tcp.syn(),
                rst: tcp.rst(),
            },
        },
    }))
}

/// Extracts the chunks of a packet; `None` for anything but SCTP over IP.
pub(crate) fn sctp<'a>(packet: &Packet<'a>) -> Result<Option<SctpPacket<'a>>, TrafficError> {
    let sliced = slice(packet)?;
    let Some((from_ip, to_ip, payload)) = payload(packet, &sliced, IpNumber::SCTP)? else {
        return Ok(None);
    };
    if payload.fragmented {
        let reason = "an IP fragment of an SCTP packet; fragments are not reassembled";
        return Err(malformed(packet, reason.into()));
    }
    whole(packet, payload)?;
    let (Some(ports), Some(chunks)) = (
        payload.payload.first_chunk::<4>(),
        payload.payload.get(COMMON_HEADER_LEN..),
    ) else {
        return Err(malformed(
            packet,
            "shorter than SCTP's common header".into(),
        ));
    };
    let [from, to] = [[ports[0], ports[1]], [ports[2], ports[3]]].map(u16::from_be_bytes);
    Ok(Some(SctpPacket {
        from: SocketAddr::new(from_ip, from),
        to: SocketAddr::new(to_ip, to),
        chunks,
    }))
}

fn malformed(packet: &Packet<'_>, reason: String) -> TrafficError {
    TrafficError::Packet {
        packet: packet.number,
        reason,
    }
}

fn cut(packet: &Packet<'_>) -> TrafficError {
    TrafficError::Cut {
        packet: packet.number,
        captured: packet.octets.len() as u32,
        length: packet.length,
    }
}

fn is_cut(packet: &Packet<'_>) -> bool {
    packet.octets.len() < packet.length as usize
}

/// What a protocol has in an IP packet, and the two addresses; `None` for another protocol.
fn payload<'s, 'a>(
    packet: &Packet<'_>,
    sliced: &'s LaxSlicedPacket<'a>,
    protocol: IpNumber,
) -> Result<Option<(IpAddr, IpAddr, &'s LaxIpPayloadSlice<'a>)>, TrafficError> {
    let Some(found) = addresses(sliced) else {
        // No IP header: either another protocol, or an IP header that cannot be read.
        return match &sliced.stop_err {
            Some((e, Layer::IpHeader | Layer::Ipv4Header | Layer::Ipv6Header)) => {
                Err(match is_cut(packet) {
                    true => cut(packet),
                    false => malformed(packet, e.to_string()),
                })
            }
            _ => Ok(None),
        };
    };
    if found.2.ip_number != protocol {
        return Ok(None);
    }
    // A length of 0 is left to the network card; any other one covers the header.
    if let Some(LaxNetSlice::Ipv4(ip)) = &sliced.net {
        let (header, stated) = (ip.header().slice().len(), ip.header().total_len());
        if stated != 0 && usize::from(stated) < header {
            let reason = format!("the IP header of {header} octets states {stated} octets in all");
            return Err(malformed(packet, reason));
        }
    }
    Ok(Some(found))
}

/// No octets of the payload are missing.
fn whole(packet: &Packet<'_>, payload: &LaxIpPayloadSlice<'_>) -> Result<(), TrafficError> {
    // The IP header says whether octets are missing, unless its sender left the length to the network card.
    if is_cut(packet) && (payload.incomplete || payload.len_source == LenSource::Slice) {
        return Err(cut(packet));
    }
    if payload.incomplete {
        let reason = "the IP header states more octets than the packet has";
        return Err(malformed(packet, reason.into()));
    }
    Ok(())
}

fn slice<'a>(packet: &Packet<'a>) -> Result<LaxSlicedPacket<'a>, TrafficError> {
    let malformed = |reason: String| malformed(packet, reason);
    let short = || malformed("shorter than its link header".into());
    let octets = packet.octets;
    let ip = |octets| LaxSlicedPacket::from_ip(octets).map_err(|e| malformed(e.to_string()));
    match packet.link_type {
        link::ETHERNET => LaxSlicedPacket::from_ethernet(octets).map_err(|_| short()),
        // The address family is in the capturing machine's byte order; the IP version gives the same information.
        link::NULL | link::LOOP => ip(octets.get(4..).ok_or_else(short)?),
        link::LINUX_SLL => cooked(octets, 14, 16).ok_or_else(short),
        link::LINUX_SLL2 => cooked(octets, 0, 20).ok_or_else(short),
        link::IPV4 | link::IPV6 => ip(octets),
        raw if link::RAW.contains(&raw) => ip(octets),
        link_type => Err(TrafficError::LinkType {
            packet: packet.number,
            link_type,
        }),
    }
}

/// Linux cooked headers: the EtherType lies at `protocol`, and the packet follows after `header` octets.
fn cooked(octets: &[u8], protocol: usize, header: usize) -> Option<LaxSlicedPacket<'_>> {
    let ether_type = octets.get(protocol..)?.first_chunk()?;
    Some(LaxSlicedPacket::from_ether_type(
        EtherType(u16::from_be_bytes(*ether_type)),
        octets.get(header..)?,
    ))
}

fn addresses<'s, 'a>(
    sliced: &'s LaxSlicedPacket<'a>,
) -> Option<(IpAddr, IpAddr, &'s LaxIpPayloadSlice<'a>)> {
    match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => Some((
            Ipv4Addr::from(ip.header().source()).into(),
            Ipv4Addr::from(ip.header().destination()).into(),
            ip.payload(),
        )),
        LaxNetSlice::Ipv6(ip) => Some((
            Ipv6Addr::from(ip.header().source()).into(),
            Ipv6Addr::from(ip.header().destination()).into(),
            ip.payload(),
        )),
        LaxNetSlice::Arp(_) => None,
    }
}

//! Properties over random streams: round trips under any segmentation, single bit errors, and no
//! panic on arbitrary octets.

mod common;

use common::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use warpline_wire::ddp::{Header, TaggedSegment, UntaggedSegment};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::mpa::Fpdu;
use warpline_wire::receive::{
    Delivery, Framing, FramingConfig, Receiver, ReceiverConfig, StreamConfig, Target,
};
use warpline_wire::send::{CrcField, FpduWriter, Message};
use warpline_wire::start::{DraftKey, Frame, Kind, Negotiation, Progress};

/// Splits `octets` into TCP segments of the given sizes, repeatedly.
fn segments_of<'o>(octets: &'o [u8], sizes: &[usize]) -> Vec<&'o [u8]> {
    let mut rest = octets;
    let mut segments = Vec::new();
    for size in sizes.iter().cycle() {
        let (segment, later) = rest.split_at((*size).min(rest.len()));
        segments.push(segment);
        rest = later;
        if rest.is_empty() {
            return segments;
        }
    }
    segments
}

fn ulpdu() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => vec(any::<u8>(), 0..120),
        2 => vec(any::<u8>(), 120..1600),
        1 => (0..64769usize, any::<u8>()).prop_map(|(len, seed)| pattern(seed.into(), len)),
    ]
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    vec(1..1461usize, 1..20)
}

#[derive(Clone, Debug)]
enum Posted {
    Write { to: u16, payload: Vec<u8> },
    Send { queue: u32, payload: Vec<u8> },
}

fn posted() -> impl Strategy<Value = Posted> {
    let payload = || vec(any::<u8>(), 0..3000);
    prop_oneof![
        (any::<u16>(), payload()).prop_map(|(to, payload)| Posted::Write { to, payload }),
        (0..2u32, payload()).prop_map(|(queue, payload)| Posted::Send { queue, payload }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    // req: MPA-FMT-01, MPA-FMT-09, MPA-FMT-11, MPA-RCV-09, MPA-RCV-17
    #[test]
    fn ulpdus_survive_any_segmentation(
        sent in vec(ulpdu(), 0..12),
        markers: bool,
        crc: bool,
        start in any::<u32>().prop_map(|start| start & !3),
        sizes in sizes(),
    ) {
        let field = if crc { CrcField::Computed } else { CrcField::Zero };
        let mut writer = FpduWriter::at(start, markers, field);
        let mut wire = Vec::new();
        for ulpdu in &sent {
            prop_assert_eq!(writer.position() % 4, 0);
            writer.append(ulpdu, &[], &mut wire).unwrap();
        }
        let config = FramingConfig { markers, crc, ..FramingConfig::default() };
        let mut framing = Framing::at(start, config);
        let mut received = Vec::new();
        for segment in segments_of(&wire, &sizes) {
            let (some, error) = ulpdus(&mut framing, segment);
            prop_assert_eq!(error, None);
            received.extend(some);
        }
        prop_assert!(framing.at_boundary());
        prop_assert_eq!(received, sent);
    }

    // req: MPA-CRC-18, MPA-CRC-19, MPA-CRC-24, AMB-21, AMB-23
    #[test]
    fn a_single_bit_error_never_yields_a_wrong_ulpdu(
        sent in vec(vec(any::<u8>(), 0..900), 1..8),
        markers: bool,
        place: prop::sample::Index,
    ) {
        let mut wire = stream_of(markers, &sent);
        let bit = place.index(8 * wire.len());
        wire[bit / 8] ^= 1 << (bit % 8);
        let config = FramingConfig { markers, ..FramingConfig::default() };
        let mut framing = Framing::new(config);
        let (received, error) = ulpdus(&mut framing, &wire);
        prop_assert!(received.len() < sent.len());
        prop_assert_eq!(&received[..], &sent[..received.len()]);
        match error {
            Some(error) => prop_assert!(matches!(
                error.number,
                ErrorNumber::MpaCrc | ErrorNumber::MpaMarker
            )),
            None => prop_assert!(!framing.at_boundary(), "waits for a length that grew"),
        }
    }

    // req: DDP-ORD-02
    #[test]
    fn segments_of_a_message_follow_each_other(
        posted in vec(posted(), 1..8),
        markers: bool,
        mulpdu in 128..2000u16,
    ) {
        let mut wire = Vec::new();
        let mut writer = FpduWriter::new(markers, CrcField::Computed);
        let mut due = Vec::new();
        for message in &posted {
            let (message, first, payload) = match message {
                Posted::Write { to, payload } => {
                    let to = u64::from(*to);
                    (Message::Tagged { stag: 7, to, rsvd_ulp: 0 }, to, payload)
                }
                Posted::Send { queue, payload } => {
                    let message = Message::Untagged { qn: *queue, msn: 1, rsvd_ulp: [0; 5] };
                    (message, 0, payload)
                }
            };
            writer.append_message(message, payload, mulpdu, &mut wire).unwrap();
            due.push((first, payload.len() as u64));
        }
        let config = FramingConfig { markers, ..FramingConfig::default() };
        let (segments, error) = ulpdus(&mut Framing::new(config), &wire);
        prop_assert_eq!(error, None);
        // Where the next segment of the message begins, and where the message ends.
        let mut due = due.into_iter();
        let mut message: Option<(u64, u64)> = None;
        for segment in &segments {
            let (header, payload) = Header::parse(segment).unwrap();
            let (offset, last) = match header {
                Header::Tagged(header) => (header.to, header.last),
                Header::Untagged(header) => (header.mo.into(), header.last),
            };
            let (next, end) = match message.take() {
                Some(open) => open,
                None => due.next().map(|(first, len)| (first, first + len)).unwrap(),
            };
            prop_assert_eq!(offset, next);
            let next = next + payload.len() as u64;
            prop_assert_eq!(last, next == end);
            message = (!last).then_some((next, end));
        }
        prop_assert_eq!(message, None);
        prop_assert_eq!(due.next(), None);
    }

    // req: DDP-SEG-01, DDP-SEG-03, DDP-SEG-04, DDP-TAG-12, DDP-UNT-10, DDP-UNT-14, DDP-ORD-01
    // req: DDP-ORD-06, DDP-DEL-01, DDP-DEL-02
    #[test]
    fn messages_arrive_in_memory_and_in_order(
        posted in vec(posted(), 1..20),
        markers: bool,
        mulpdu in 128..2000u16,
        sizes in sizes(),
    ) {
        const STAG: u32 = 0xA5;
        let mut receiver = Receiver::new(ReceiverConfig::default());
        receiver.open(1, StreamConfig { markers, ..StreamConfig::default() }).unwrap();
        receiver.set_stag(STAG, writable(0, 0, 1 << 17));
        receiver.enable_queue(1, 0, 1).unwrap();
        receiver.enable_queue(1, 1, 1).unwrap();

        let mut wire = Vec::new();
        let mut writer = FpduWriter::new(markers, CrcField::Computed);
        let mut next_msn = [1, 1];
        let mut memory = vec![0; 1 << 17];
        let mut buffers = BTreeMap::new();
        let mut order = Vec::new();
        for message in &posted {
            let (message, payload) = match message {
                Posted::Write { to, payload } => {
                    memory[usize::from(*to)..][..payload.len()].copy_from_slice(payload);
                    order.push(None);
                    (Message::Tagged { stag: STAG, to: (*to).into(), rsvd_ulp: 0 }, payload)
                }
                Posted::Send { queue, payload } => {
                    let msn = next_msn[*queue as usize];
                    next_msn[*queue as usize] += 1;
                    prop_assert_eq!(receiver.post(1, *queue, payload.len() as u32), Ok(msn));
                    buffers.insert((*queue, msn), payload.clone());
                    order.push(Some((*queue, msn, payload.len() as u32)));
                    (Message::Untagged { qn: *queue, msn, rsvd_ulp: [0; 5] }, payload)
                }
            };
            writer.append_message(message, payload, mulpdu, &mut wire).unwrap();
        }

        let mut log = Log::default();
        for segment in segments_of(&wire, &sizes) {
            receiver.receive(1, segment, &mut log).unwrap();
        }
        let mut placed = vec![0; 1 << 17];
        let mut filled: BTreeMap<_, Vec<u8>> =
            buffers.iter().map(|(key, payload)| (*key, vec![0; payload.len()])).collect();
        for (target, octets) in log.placements() {
            prop_assert!(octets.len() <= usize::from(mulpdu));
            match target {
                Target::Tagged { to, .. } => {
                    placed[to as usize..][..octets.len()].copy_from_slice(octets);
                }
                Target::Untagged { queue, msn, offset } => {
                    let buffer = filled.get_mut(&(queue, msn)).unwrap();
                    buffer[offset as usize..][..octets.len()].copy_from_slice(octets);
                }
            }
        }
        prop_assert!(placed == memory);
        prop_assert_eq!(filled, buffers);
        let delivered: Vec<_> = log
            .deliveries()
            .into_iter()
            .map(|(delivery, _)| match delivery {
                Delivery::Tagged { .. } => None,
                Delivery::Untagged { queue, msn, length, .. } => Some((queue, msn, length)),
            })
            .collect();
        prop_assert_eq!(delivered, order);
        prop_assert_eq!(log.failure(), None);
    }

    // req: MPA-RCV-25, MPA-RCV-26, AMB-40
    #[test]
    fn retransmission_changes_nothing(
        sent in vec(vec(any::<u8>(), 14..300), 1..10),
        seq_start: u32,
        pieces in vec((any::<prop::sample::Index>(), 1..400usize), 0..60),
    ) {
        let wire = stream_of(false, &sent);
        let open = || {
            let mut receiver = Receiver::new(ReceiverConfig::default());
            let config = StreamConfig { seq_start, ..StreamConfig::default() };
            receiver.open(1, config).unwrap();
            receiver
        };
        let whole = feed(&mut open(), 1, &wire);
        let mut receiver = open();
        let mut log = Log::default();
        let pieces = pieces.into_iter().map(|(from, len)| (from.index(wire.len()), len));
        for (from, len) in pieces.chain([(0, wire.len())]) {
            let segment = &wire[from..wire.len().min(from + len)];
            let sequence = seq_start.wrapping_add(from as u32);
            receiver.tcp_segment(1, sequence, segment, &mut log).unwrap();
        }
        prop_assert_eq!(log, whole);
    }

    // req: MPA-START-13, MPA-PRIV-06, MPA-PRIV-07, MPA-PRIV-11
    #[test]
    fn start_frames_round_trip_and_every_prefix_waits(
        reply: bool,
        markers: bool,
        crc: bool,
        rejected: bool,
        negotiation in prop::option::of((any::<[bool; 4]>(), 0..0x4000u16, 0..0x4000u16)),
        private_data in vec(any::<u8>(), 0..=508),
    ) {
        let frame = Frame {
            kind: if reply { Kind::Reply } else { Kind::Request },
            markers,
            crc,
            rejected: rejected && reply,
            revision: if negotiation.is_some() { 2 } else { 1 },
            negotiation: negotiation.map(|(bits, ird, ord)| Negotiation {
                peer_to_peer: bits[0],
                rtr_send: bits[1],
                rtr_write: bits[2],
                rtr_read: bits[3],
                ird,
                ord,
            }),
            private_data: &private_data,
        };
        let mut out = [0; 600];
        let len = frame.emit(&mut out).unwrap();
        prop_assert_eq!(len, frame.total_len());
        for have in 0..len {
            let progress = Frame::parse(&out[..have], frame.kind);
            let waits = matches!(progress, Ok(Progress::NeedMore { total }) if total > have);
            prop_assert!(waits, "{have}: {progress:?}");
        }
        prop_assert_eq!(
            Frame::parse(&out, frame.kind),
            Ok(Progress::Complete { frame, len })
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_parser_panics_on_arbitrary_octets(octets in vec(any::<u8>(), 0..700)) {
        for kind in [Kind::Request, Kind::Reply] {
            let _ = Frame::parse(&octets, kind);
            // Past the key, which arbitrary octets rarely match.
            let keyed = [&kind.key()[..], &octets].concat();
            if let Ok(Progress::Complete { frame, len }) = Frame::parse(&keyed, kind) {
                prop_assert_eq!(frame.total_len(), len);
            }
        }
        let _ = DraftKey::parse(&octets);
        if let Ok(fpdu) = Fpdu::new_checked(&octets) {
            let total = 2 + fpdu.ulpdu().len() + fpdu.pad().len() + 4;
            prop_assert_eq!(total, fpdu.total_len());
            let _ = fpdu.crc();
        }
        if let Ok(view) = TaggedSegment::new_checked(&octets) {
            let _ = (view.control(), view.rsvd_ulp(), view.stag(), view.to(), view.payload());
        }
        if let Ok(view) = UntaggedSegment::new_checked(&octets) {
            let _ = (view.control(), view.rsvd_ulp(), view.payload());
            let _ = (view.qn(), view.msn(), view.mo());
        }
        if let Ok((header, payload)) = Header::parse(&octets) {
            let mut out = [0; 18];
            let len = header.emit(&mut out);
            prop_assert_eq!(len + payload.len(), octets.len());
            prop_assert_eq!(&out[1..len], &octets[1..len]);
            prop_assert_eq!(out[0], octets[0] & !0x3C);
        }
    }
}

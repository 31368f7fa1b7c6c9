//! RDMAP formats (RFC 5040 §4). Octets are written out from the RFC's figures, or taken from frames
//! that Linux soft-iWARP sent; none is computed by the code under test.

use proptest::collection::vec;
use proptest::prelude::*;
use warpline_wire::ddp::Header;
use warpline_wire::error_number::{Checks, Detail, ErrorNumber, ErrorRecord, HeaderOctets};
use warpline_wire::rdmap::{
    Address, BitOrder, Cause, Control, Delivered, Error, MAX_HEADER_LEN, Message, Opcode,
    RdmaError, ReadRequest, SourceRegion, Terminate, TerminateView, Version,
};
use warpline_wire::send::ddp_segments;

/// Figure 6: SinkSTag, SinkTO, size, SourceSTag, SourceTO.
const READ_REQUEST: &str = "00000100 0000000200000003 00000004 00000500 0600000000000007";
const REQUEST: ReadRequest = ReadRequest {
    sink_stag: 0x100,
    sink_to: 0x2_0000_0003,
    size: 4,
    source_stag: 0x500,
    source_to: 0x0600_0000_0000_0007,
};

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    hex::decode(digits).unwrap()
}

/// The control octet of a tagged message, the five octets of an untagged one.
fn rsvd_ulp(address: Address) -> Vec<u8> {
    match address {
        Address::Tagged { rsvd_ulp, .. } => vec![rsvd_ulp],
        Address::Untagged { rsvd_ulp, .. } => rsvd_ulp.to_vec(),
    }
}

fn header(message: &Message) -> Vec<u8> {
    let mut out = [0xEE; MAX_HEADER_LEN];
    let len = message.emit_header(&mut out);
    assert!(out[len..].iter().all(|&octet| octet == 0xEE));
    out[..len].to_vec()
}

fn untagged(control: u8, qn: u32, payload: &[u8]) -> Delivered<'_> {
    Delivered::Untagged {
        rsvd_ulp: [control, 0, 0, 0, 0],
        qn,
        msn: 9,
        payload,
    }
}

fn tagged(control: u8) -> Delivered<'static> {
    Delivered::Tagged {
        rsvd_ulp: control,
        stag: 0x77,
        to: 0x88,
        len: 3,
    }
}

/// The whole DDP segments of Appendix A, Figures 11 to 16.
#[test]
fn segments_are_those_of_appendix_a() {
    let stag = 0x1234_5678;
    let local = Terminate::new(Cause::Rdma(RdmaError::LocalCatastrophic));
    let send = |solicited, invalidate| Message::Send {
        solicited,
        invalidate,
    };
    // T, L and DV; control; then STag and TO, or Invalidate STag, QN, MSN and MO; then RDMAP's header.
    let segments = [
        (
            Message::Write { stag, to: 0x9A },
            "C1 40 12345678 000000000000009A",
        ),
        (
            Message::ReadResponse { stag, to: 0x9A },
            "C1 42 12345678 000000000000009A",
        ),
        (
            send(false, None),
            "41 43 00000000 00000000 00000007 00000000",
        ),
        (
            send(false, Some(stag)),
            "41 44 12345678 00000000 00000007 00000000",
        ),
        (
            send(true, None),
            "41 45 00000000 00000000 00000007 00000000",
        ),
        (
            send(true, Some(stag)),
            "41 46 12345678 00000000 00000007 00000000",
        ),
        (
            Message::ReadRequest(REQUEST),
            &format!("41 41 00000000 00000001 00000007 00000000 {READ_REQUEST}"),
        ),
        (
            Message::Terminate(local),
            "41 47 00000000 00000002 00000007 00000000 00000000",
        ),
    ];
    for (message, expected) in segments {
        let header = header(&message);
        let address = message.address(Version::Ietf);
        let mut pieces = ddp_segments(address.with_msn(7), header.len() as u64, 1442).unwrap();
        let mut segment = [0; 18];
        let len = pieces.next().unwrap().header.emit(&mut segment);
        assert_eq!(pieces.next(), None);
        let segment = [&segment[..len], &header].concat();
        assert_eq!(segment, hex(expected), "{message:?}");

        let (parsed, payload) = Header::parse(&segment).unwrap();
        let delivered = match parsed {
            Header::Tagged(header) => Delivered::Tagged {
                rsvd_ulp: header.rsvd_ulp,
                stag: header.stag,
                to: header.to,
                len: payload.len() as u32,
            },
            Header::Untagged(header) => Delivered::Untagged {
                rsvd_ulp: header.rsvd_ulp,
                qn: header.qn,
                msn: header.msn,
                payload,
            },
        };
        assert_eq!(Message::parse(&delivered), Ok(message));
    }
}

/// Figures 3 and 4: RV in bits 0 and 1, Rsv zero, opcode in bits 4 to 7.
#[test]
fn both_versions_are_written_and_read() {
    for (opcode, kind) in (0..8).zip(Opcode::ALL) {
        assert_eq!(Control::new(Version::Consortium, kind).0, opcode);
        assert_eq!(Control::new(Version::Ietf, kind).0, 0x40 | opcode);
        for reserved in [0x00, 0x10, 0x20, 0x30] {
            assert_eq!(Control(opcode | reserved).check(), Ok(kind));
            assert_eq!(Control(0x40 | opcode | reserved).check(), Ok(kind));
        }
    }
    let send = Message::Send {
        solicited: false,
        invalidate: None,
    };
    assert_eq!(rsvd_ulp(send.address(Version::Consortium)), [3, 0, 0, 0, 0]);
}

/// Every control octet in either format on queues 0 to 3, judged by a table copied from Figure 4.
#[test]
fn control_format_and_queue_are_checked() {
    // Queue of each opcode; `T` for a tagged one.
    let figure_4 = ["T", "1", "T", "0", "0", "0", "0", "2"];
    let request = hex(READ_REQUEST);
    let terminate = [0; 4];
    let mut accepted = 0;
    for control in 0..=0xFF_u8 {
        let (version, opcode) = (control >> 6, control & 0xF);
        let payload = if opcode == 1 {
            &request[..]
        } else {
            &terminate
        };
        let messages = (0..4).map(|qn| (qn.to_string(), untagged(control, qn, payload)));
        for (place, message) in messages.chain([("T".into(), tagged(control))]) {
            let found = Message::parse(&message);
            let kind = Opcode::ALL.get(usize::from(opcode)).copied();
            if version > 1 {
                assert_eq!(found, Err(Error::Version { version }));
            } else if opcode > 7 {
                assert_eq!(found, Err(Error::Opcode { opcode }));
            } else if figure_4[usize::from(opcode)] == place {
                assert_eq!(found.unwrap().opcode(), kind.unwrap());
                accepted += 1;
            } else if place == "T" || figure_4[usize::from(opcode)] == "T" {
                let (opcode, tagged) = (kind.unwrap(), place == "T");
                assert_eq!(found, Err(Error::Format { opcode, tagged }));
            } else {
                let (opcode, qn) = (kind.unwrap(), place.parse().unwrap());
                assert_eq!(found, Err(Error::Queue { opcode, qn }));
            }
        }
    }
    assert_eq!(accepted, 2 * 4 * 8); // versions, values of Rsv, opcodes
}

#[test]
fn refusals_name_the_number_of_figure_9() {
    let cases = [
        (untagged(0x83, 0, b""), (0, 2, 5)),
        (untagged(0x48, 0, b""), (0, 2, 6)),
        (tagged(0x43), (0, 2, 6)),
        (untagged(0x43, 1, b""), (0, 2, 6)),
        (untagged(0x41, 1, &[0; 27]), (0, 2, 0xFF)),
        (untagged(0x41, 1, &[0; 29]), (0, 2, 0xFF)),
    ];
    for (message, expected) in cases {
        let error = Message::parse(&message).unwrap_err();
        assert_eq!(error.cause().unwrap().parts(), expected, "{error}");
    }
    let terminate = Message::parse(&untagged(0x47, 2, &[0; 3])).unwrap_err();
    assert_eq!(terminate, Error::TerminateLength { have: 3, need: 4 });
    assert_eq!(terminate.cause(), None);
}

#[test]
fn a_read_request_is_read_and_written() {
    let octets = hex(READ_REQUEST);
    assert_eq!(ReadRequest::parse(&octets), Ok(REQUEST));
    assert_eq!(REQUEST.emit()[..], octets);
    for len in 0..=29 {
        let padded = [&octets[..], &[0]].concat();
        let found = ReadRequest::parse(&padded[..len]);
        assert_eq!(found.is_ok(), len == 28);
        if let Err(error) = found {
            assert_eq!(error, Error::ReadRequestLength { len });
        }
    }
}

/// §4.8: terminated after 2048 octets were sent.
#[test]
fn a_read_under_way_is_returned_with_what_is_left() {
    let request = ReadRequest {
        size: 5000,
        ..REQUEST
    };
    let left = request.advanced(2048);
    assert_eq!(left.sink_to, 0x2_0000_0803);
    assert_eq!(left.source_to, 0x0600_0000_0000_0807);
    assert_eq!(left.size, 2952);
    assert_eq!((left.sink_stag, left.source_stag), (0x100, 0x500));
    assert_eq!(request.advanced(u32::MAX).size, 0);
}

/// §7.2, checks a to e, and §5.2.1 for reads of no octets.
#[test]
fn the_source_of_a_read_is_checked() {
    let region = SourceRegion {
        base: 0x1000,
        length: 0x100,
        associated: true,
        remote_read: true,
    };
    let top = SourceRegion {
        base: u64::MAX - 0xFF,
        ..region
    };
    let foreign = SourceRegion {
        associated: false,
        ..region
    };
    let private = SourceRegion {
        remote_read: false,
        ..region
    };
    let cases = [
        (Some(region), 0x1000, 0x100, Ok(())),
        (Some(region), 0x10FF, 1, Ok(())),
        (Some(region), 0x0FFF, 1, Err((1, 1))),
        (Some(region), 0x1100, 1, Err((1, 1))),
        (Some(region), 0x1001, 0x100, Err((1, 1))),
        (Some(region), 0, 0, Ok(())),
        (None, 0x1000, 1, Err((1, 0))),
        (None, 0x1000, 0, Ok(())),
        (Some(foreign), 0x1000, 1, Err((1, 3))),
        (Some(private), 0x1000, 1, Err((1, 2))),
        (Some(private), 0x1000, 0, Ok(())),
        (Some(top), u64::MAX, 1, Ok(())),
        (Some(top), u64::MAX, 2, Err((1, 4))),
    ];
    for (region, source_to, size, expected) in cases {
        let request = ReadRequest {
            source_to,
            size,
            ..REQUEST
        };
        let found = request.check(region);
        let found = found.map_err(|error| (error.error_type(), error.code()));
        assert_eq!(found, expected, "{region:?} {source_to:#x} {size}");
    }
}

/// Figure 9 for RDMAP; RFC 5041 §7.2 and RFC 5044 §8 for the layers below.
#[test]
fn numbers_are_those_of_the_tables() {
    let rdmap = [
        (0, vec![0x00]),
        (1, vec![0x00, 0x01, 0x02, 0x03, 0x04, 0x09, 0xFF]),
        (2, vec![0x05, 0x06, 0x07, 0x08, 0x09, 0xFF]),
    ];
    let rdmap = rdmap
        .into_iter()
        .flat_map(|(etype, codes)| codes.into_iter().map(move |code| (0, etype, code)));
    let found = RdmaError::ALL.map(|error| Cause::Rdma(error).parts());
    assert!(rdmap.eq(found));

    let ddp = [(0, 0..=0), (1, 0..=4), (2, 1..=6)];
    let ddp = ddp
        .into_iter()
        .flat_map(|(etype, codes)| codes.map(move |code| (1, etype, code)));
    let mpa = (1..=7).map(|code| (2, 0, code));
    let found = ErrorNumber::ALL.map(|number| Cause::Lower(number).parts());
    assert!(ddp.chain(mpa).eq(found));
}

#[test]
fn every_number_comes_back() {
    let mut known = 0;
    for octet in 0..=0xFF_u8 {
        for code in 0..=0xFF {
            let (layer, etype) = (octet >> 4, octet & 0xF);
            let cause = Cause::from_parts(layer, etype, code);
            // A local catastrophic error of RDMAP has no code.
            let code = if octet == 0 { 0 } else { code };
            assert_eq!(cause.parts(), (layer, etype, code));
            known += u32::from(!matches!(cause, Cause::Unknown { .. }));
        }
    }
    assert_eq!(known, 256 + 13 + 19);
}

/// Figure 10.
#[test]
fn the_cause_selects_the_headers() {
    let table = [
        ((0, 0, 0), false, false),
        ((0, 1, 0), true, true),
        ((0, 2, 6), true, false),
        ((1, 0, 0), false, false), // §4.8: no DDP header with a local catastrophic error
        ((1, 1, 1), true, false),
        ((1, 2, 2), true, false),
        ((2, 0, 2), false, false),
        ((7, 7, 7), false, false),
    ];
    for ((layer, etype, code), ddp, rdma) in table {
        let cause = Cause::from_parts(layer, etype, code);
        assert_eq!(cause.includes_ddp_header(), ddp, "{cause:?}");
        assert_eq!(cause.includes_read_request(), rdma, "{cause:?}");
    }
}

fn record(number: ErrorNumber, header: &[u8]) -> ErrorRecord {
    ErrorRecord {
        stream: 3,
        number,
        checks: Checks::empty(),
        header: HeaderOctets::of(header),
        ulpdu_len: 82,
        position: 0,
        detail: Detail::Ddp,
    }
}

/// Figures 7 and 8: control, DDP Segment Length, DDP header, RDMA header.
#[test]
fn terminates_are_written_as_figure_7_draws_them() {
    let send = hex("41 43 00000000 00000000 00000041 00000000");
    let write = hex("C1 40 FE49AE00 00007EFE8CF42000");
    let read = hex(READ_REQUEST);
    let with_stag = Delivered::Untagged {
        rsvd_ulp: [0x44, 0x12, 0x34, 0x56, 0x78],
        qn: 0,
        msn: 5,
        payload: b"ABC",
    };
    let of_record = |number, header| Terminate::of_record(&record(number, header));
    let of_message =
        |error, message: Delivered<'_>| Terminate::of_message(Cause::Rdma(error), &message);
    let cases = [
        (
            of_record(ErrorNumber::UntaggedNoBuffer, &send),
            "12 02 C0 00 0052 41 43 00000000 00000000 00000041 00000000".into(),
        ),
        (
            of_record(ErrorNumber::TaggedInvalidStag, &write),
            "11 00 C0 00 0052 C1 40 FE49AE00 00007EFE8CF42000".into(),
        ),
        // The header did not arrive whole.
        (
            of_record(ErrorNumber::LocalCatastrophic, &write[..5]),
            "10 00 00 00".into(),
        ),
        (
            of_record(ErrorNumber::TaggedVersion, &write[..5]),
            "11 04 00 00".into(),
        ),
        (of_record(ErrorNumber::MpaCrc, &send), "20 02 00 00".into()),
        (
            Terminate::new(Cause::Rdma(RdmaError::OperationStream)),
            "02 07 00 00".into(),
        ),
        (
            of_message(RdmaError::ProtectionBounds, untagged(0x41, 1, &read)),
            format!("01 01 E0 00 002E 41 41 00000000 00000001 00000009 00000000 {READ_REQUEST}"),
        ),
        (
            of_message(RdmaError::OperationUnspecified, untagged(0x41, 1, &read)),
            "02 FF C0 00 002E 41 41 00000000 00000001 00000009 00000000".into(),
        ),
        // How DDP cut a Send is not known: M is 0, the length field is present and 0.
        (
            of_message(RdmaError::ProtectionCannotInvalidate, with_stag),
            "01 09 40 00 0000 41 44 12345678 00000000 00000005 00000000".into(),
        ),
        (
            of_message(RdmaError::OperationOpcode, tagged(0x42)),
            "02 06 C0 00 0011 C1 42 00000077 0000000000000088".into(),
        ),
        (
            of_message(RdmaError::LocalCatastrophic, tagged(0x42)),
            "00 00 00 00".into(),
        ),
    ];
    for (terminate, expected) in cases {
        let octets = header(&Message::Terminate(terminate));
        assert_eq!(octets, hex(&expected), "{terminate:?}");
        assert_eq!(Terminate::parse(&octets), Ok(terminate));
    }
}

/// The three Terminates in the captures, and what the kernel of the peer logged about each.
#[test]
fn terminates_of_soft_iwarp_are_read_in_their_bit_order() {
    let cases = [
        // crc1-rev2-badstag: "layer 1, type 1, code 0"
        (
            "11000300 0040 C140FE49AE0000007EFE8CF42000",
            (1, 1, 0),
            0x40,
        ),
        // crc1-rev2-nobuf: "layer 1, type 2, code 2"
        (
            "21020300 0040 414300000000000000000000004100000000",
            (1, 2, 2),
            0x40,
        ),
        // crc1-rev2-oob: "layer 1, type 1, code 1"
        (
            "11010300 0594 81403F46630000007FBFF138CDC4",
            (1, 1, 1),
            0x594,
        ),
    ];
    for (payload, logged, length) in cases {
        let octets = hex(payload);
        let view = TerminateView::new_checked(&octets).unwrap();
        assert_eq!(view.bit_order(), BitOrder::Reversed);
        assert_eq!(view.cause().parts(), logged);
        assert_eq!(view.segment_length(), Some(length));
        assert_eq!(view.ddp_header().unwrap().as_slice(), &octets[6..]);
        assert_eq!(view.read_request(), None);
    }
    // Without a header both orders are possible: RFC 5040's is taken.
    let crc = TerminateView::new_checked([0x02, 0x02, 0, 0]).unwrap();
    assert_eq!(crc.bit_order(), BitOrder::Rfc);
    assert_eq!(crc.cause().parts(), (0, 2, 2));
    // Reserved bits alone, without more octets, are ignored (§4.8).
    let reserved = TerminateView::new_checked([0x12, 0x02, 0x1F, 0xFF]).unwrap();
    assert_eq!(reserved.cause().parts(), (1, 2, 2));
    // R of a Send with Invalidate: there is no RDMAP header to return.
    let invalidate = hex("10090700 0003 414412345678000000000000000500000000");
    let invalidate = Terminate::parse(&invalidate).unwrap();
    assert_eq!(invalidate.cause.parts(), (0, 1, 9));
    assert_eq!(invalidate.read_request, None);
}

#[test]
fn a_terminate_must_hold_what_its_bits_announce() {
    let full = hex(&format!(
        "01 01 E0 00 002E 41 41 00000000 00000001 00000009 00000000 {READ_REQUEST}"
    ));
    for have in 0..full.len() {
        let need = match have {
            0..4 => 4,
            4..=6 => 20, // the T bit is not there yet: the shorter header
            7..24 => 24,
            _ => 52,
        };
        let found = Terminate::parse(&full[..have]);
        assert_eq!(found, Err(Error::TerminateLength { have, need }));
    }
    let longer = [&full[..], &[0xEE; 9]].concat();
    assert_eq!(Terminate::parse(&longer), Terminate::parse(&full));
    // M alone: the length field and nothing else. R alone: no length field.
    let length = Terminate::parse(&hex("02 07 80 00 1234")).unwrap();
    assert_eq!(length.segment_length, Some(0x1234));
    let read = Terminate::parse(&hex(&format!("01 01 20 00 {READ_REQUEST}"))).unwrap();
    assert_eq!(
        (read.segment_length, read.read_request),
        (None, Some(REQUEST))
    );
    // D without M: the field is present and has no meaning.
    let header =
        Terminate::parse(&hex("01 09 40 00 1234 C1 40 00000001 0000000000000002")).unwrap();
    assert_eq!(header.segment_length, None);
    assert_eq!(header.ddp_header.unwrap().as_slice().len(), 14);
}

fn read_request() -> impl Strategy<Value = ReadRequest> {
    any::<(u32, u64, u32, u32, u64)>().prop_map(
        |(sink_stag, sink_to, size, source_stag, source_to)| ReadRequest {
            sink_stag,
            sink_to,
            size,
            source_stag,
            source_to,
        },
    )
}

fn terminate() -> impl Strategy<Value = Terminate> {
    let header = prop_oneof![
        Just(None),
        vec(any::<u8>(), 14..=14).prop_map(|mut octets| {
            octets[0] |= 0x80;
            Some(HeaderOctets::of(&octets))
        }),
        vec(any::<u8>(), 18..=18).prop_map(|mut octets| {
            (octets[0], octets[1]) = (octets[0] & 0x7F, 0x41);
            Some(HeaderOctets::of(&octets))
        }),
    ];
    let parts = (any::<[u8; 2]>(), any::<Option<u16>>(), header);
    (parts, any::<bool>(), read_request()).prop_map(|((number, length, header), returned, read)| {
        let of_read = header.is_none_or(|header| header.as_slice().len() == 18);
        Terminate {
            cause: Cause::from_parts(number[0] >> 4, number[0] & 0xF, number[1]),
            segment_length: length,
            ddp_header: header,
            read_request: (returned && of_read).then_some(read),
        }
    })
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        any::<(u32, u64)>().prop_map(|(stag, to)| Message::Write { stag, to }),
        any::<(u32, u64)>().prop_map(|(stag, to)| Message::ReadResponse { stag, to }),
        read_request().prop_map(Message::ReadRequest),
        any::<(bool, Option<u32>)>().prop_map(|(solicited, invalidate)| Message::Send {
            solicited,
            invalidate,
        }),
        terminate().prop_map(Message::Terminate),
    ]
}

proptest! {
    #[test]
    fn messages_come_back(message in message(), ietf: bool, msn: u32, len: u32, body: Vec<u8>) {
        let version = if ietf { Version::Ietf } else { Version::Consortium };
        let mut payload = header(&message);
        if payload.is_empty() {
            payload = body;
        }
        let delivered = match message.address(version) {
            Address::Tagged { stag, to, rsvd_ulp } => Delivered::Tagged { rsvd_ulp, stag, to, len },
            Address::Untagged { qn, rsvd_ulp } => {
                Delivered::Untagged { rsvd_ulp, qn, msn, payload: &payload }
            }
        };
        prop_assert_eq!(Message::parse(&delivered), Ok(message));
    }

    #[test]
    fn arbitrary_octets_are_read_without_panic(
        rsvd_ulp: [u8; 5],
        qn in 0..4_u32,
        payload in vec(any::<u8>(), 0..80),
    ) {
        let delivered = Delivered::Untagged { rsvd_ulp, qn, msn: 1, payload: &payload };
        // What is read is written in the form that is read as the same.
        if let Ok(message) = Message::parse(&delivered) {
            let octets = header(&message);
            if let Message::Terminate(terminate) = message {
                prop_assert_eq!(Terminate::parse(&octets), Ok(terminate));
            }
            prop_assert_eq!(message.opcode() as u8, rsvd_ulp[0] & 0xF);
        }
        let _ = Terminate::of_message(Cause::Rdma(RdmaError::ProtectionBounds), &delivered);
    }

    #[test]
    fn arbitrary_terminates_are_read_without_panic(payload in vec(any::<u8>(), 0..60)) {
        let octets = match TerminateView::new_checked(&payload) {
            Ok(view) => {
                let parts = [
                    view.ddp_header().map_or(0, |header| header.as_slice().len()),
                    view.read_request().map_or(0, <[u8]>::len),
                ];
                prop_assert!(4 + parts.iter().sum::<usize>() <= payload.len());
                header(&Message::Terminate(Terminate::parse(&payload).unwrap()))
            }
            Err(error) => {
                let short = matches!(error, Error::TerminateLength { have, need } if have < need);
                prop_assert!(short, "{}", error);
                return Ok(());
            }
        };
        prop_assert!(octets.len() <= payload.len());
    }
}

#[test]
fn causes_have_plain_words_and_their_numbers() {
    let unknown = |layer| Cause::Unknown {
        layer,
        etype: 2,
        code: 0x42,
    };
    for (cause, words) in [
        (
            Cause::Rdma(RdmaError::OperationVersion),
            "invalid RDMAP version (RDMAP, layer 0x0, type 0x2, code 0x05)",
        ),
        (
            Cause::Lower(ErrorNumber::MpaCrc),
            "CRC does not match (MPA, layer 0x2, type 0x0, code 0x02)",
        ),
        (
            unknown(1),
            "an error of no known number (DDP, layer 0x1, type 0x2, code 0x42)",
        ),
        (
            unknown(9),
            "an error of no known number (unknown layer, layer 0x9, type 0x2, code 0x42)",
        ),
    ] {
        assert_eq!(cause.to_string(), words);
    }
}

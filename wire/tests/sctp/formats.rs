//! Octets of chunks and of SCTP's own parts, against golden vectors and the figures of RFC 5043 §5.

use crate::{common, hex};
use warpline_wire::sctp::{
    Chunk, ChunkError, Control, ControlChunk, Data, DataChunk, Function, Indication,
    MAX_CONTROL_LEN, MAX_PRIVATE_DATA, PacketError, Segment, SegmentChunk, Ssn, data_flag, ppid,
};

fn vector(name: &str, field: &str) -> Vec<u8> {
    common::octets(&common::vectors()[name][field])
}

// req: SCTP-FMT-02, SCTP-FMT-03
#[test]
fn the_adaptation_indication_is_the_golden_parameter() {
    let golden = vector("V-SCTP-1 adaptation indication parameter", "param");
    assert_eq!(Indication::DDP.emit(), golden[..]);
    assert_eq!(golden, hex("C006 0008 0000 0001"));
    assert_eq!(Indication::find(&golden), Ok(Some(Indication(1))));
    assert_eq!(
        Indication::find(&hex("C006 0008 0102 0304")),
        Ok(Some(Indication(0x0102_0304)))
    );
}

// req: SCTP-FMT-02, SCTP-INIT-02
#[test]
fn the_indication_is_found_among_other_parameters() {
    // Supported Extensions with three octets and padding, ECN capable, then the indication.
    let others = "8008 0007 C1 80 82 00  8000 0004";
    let with = hex(&format!("{others} C006 0008 0000 0001 C000 0004"));
    assert_eq!(Indication::find(&with), Ok(Some(Indication::DDP)));
    assert_eq!(Indication::find(&hex(others)), Ok(None));
    assert_eq!(Indication::find(&[]), Ok(None));
    // The last parameter's padding is missing.
    assert_eq!(Indication::find(&hex("8008 0007 C1 80 82")), Ok(None));

    let error = |text: &str| Indication::find(&hex(text)).unwrap_err();
    assert_eq!(
        error("C006 0008 0000 00"),
        PacketError::Truncated { have: 7, need: 8 }
    );
    assert_eq!(
        error("C006 00"),
        PacketError::Truncated { have: 3, need: 4 }
    );
    for (length, kind, need) in [
        (4, 0xC006, 8),
        (12, 0xC006, 8),
        (3, 0x8000, 4),
        (0, 0x8000, 4),
    ] {
        let text = format!("{kind:04X} {length:04X} 0000 0001 0000 0000");
        assert_eq!(error(&text), PacketError::Length { kind, length, need });
    }
}

// req: SCTP-FMT-05, SCTP-FMT-07, SCTP-FMT-08, SCTP-FMT-11
#[test]
fn session_control_messages_are_the_golden_ones() {
    use Function::{Accept, Initiate, Reject, Terminate};
    let cases = [
        (
            "V-SCTP-2 session initiate, DDP-SSN 0, PD \"hi!\"",
            0,
            Initiate,
            &b"hi!"[..],
        ),
        (
            "V-SCTP-3 session accept, DDP-SSN 0, empty PD",
            0,
            Accept,
            b"",
        ),
        ("V-SCTP-4 session reject, DDP-SSN 0, PD 01", 0, Reject, &[1]),
        ("V-SCTP-5 session terminate, DDP-SSN 5", 5, Terminate, b""),
    ];
    for (name, number, function, private_data) in cases {
        let golden = vector(name, "user_data");
        let control = Control {
            ssn: Ssn(number),
            function,
            private_data,
        };
        let mut out = [0xEE; 8];
        assert_eq!(control.emit(&mut out), Ok(golden.len()), "{name}");
        assert_eq!(out[..golden.len()], golden, "{name}");
        assert!(out[golden.len()..].iter().all(|&octet| octet == 0xEE));
        assert_eq!(control.total_len(), golden.len());
        let parsed = Chunk::parse(17, &golden);
        assert_eq!(parsed, Ok(Chunk::Control(control)), "{name}");
        assert_eq!(parsed.unwrap().ssn(), Ssn(number));
        let view = ControlChunk::new_checked(&golden).unwrap();
        assert_eq!(view.ssn(), Ssn(number));
        assert_eq!(view.function_code(), function.code());
        assert_eq!(view.private_data(), private_data);
    }
}

// req: SCTP-FMT-04, SCTP-FMT-05, SCTP-FMT-06
#[test]
fn a_segment_follows_its_ddp_ssn_at_once() {
    let golden = vector(
        "V-SCTP-6 DDP segment chunk user data, DDP-SSN 1",
        "user_data",
    );
    let (header, payload) = golden[2..].split_at(18);
    assert_eq!(payload, b"ping");
    let mut out = [0xEE; 25];
    assert_eq!(Segment::emit(Ssn(1), header, payload, &mut out), Ok(24));
    assert_eq!(out[..24], golden);
    assert_eq!(out[24], 0xEE);
    let segment = Segment {
        ssn: Ssn(1),
        octets: &golden[2..],
    };
    assert_eq!(Chunk::parse(16, &golden), Ok(Chunk::Segment(segment)));
    assert_eq!(Chunk::parse(16, &golden).unwrap().ssn(), Ssn(1));
    let view = SegmentChunk::new_checked(&golden).unwrap();
    assert_eq!((view.ssn(), view.segment()), (Ssn(1), &golden[2..]));
    let short = Segment::emit(Ssn(1), header, payload, &mut out[..23]);
    assert_eq!(short, Err(ChunkError::Output { have: 23, need: 24 }));
    // DDP judges an empty segment, not the chunk.
    assert_eq!(Segment::parse(&[0, 7]).unwrap().octets, b"");
    assert_eq!((ppid::SEGMENT, ppid::CONTROL), (16, 17));
}

// req: SCTP-FMT-09, SCTP-SSN-04, AMB-39
#[test]
fn a_data_chunk_is_unordered_and_whole() {
    let name = "V-SCTP-7 the same as a DATA chunk: TSN 01020304, SID 3, SSN 0, PPID 16";
    let golden = vector(name, "chunk");
    let user_data = vector(
        "V-SCTP-6 DDP segment chunk user data, DDP-SSN 1",
        "user_data",
    );
    let data = Data {
        tsn: 0x0102_0304,
        stream: 3,
        ppid: 16,
        user_data: &user_data,
    };
    let mut out = [0xEE; 48];
    assert_eq!(data.emit(&mut out), Ok(40));
    assert_eq!(out[..40], golden);
    assert_eq!(golden[1], 0x07, "U, B and E");
    assert_eq!(data_flag::DDP, 0x07);
    let view = DataChunk::new_checked(&golden).unwrap();
    assert_eq!((view.flags(), view.tsn()), (7, 0x0102_0304));
    assert_eq!((view.stream(), view.ppid()), (3, 16));
    assert_eq!((view.user_data(), view.total_len()), (&user_data[..], 40));

    // Padding is zero, and not counted by Length.
    let user_data = &user_data[..21];
    assert_eq!(Data { user_data, ..data }.emit(&mut out), Ok(40));
    assert_eq!(out[2..4], [0, 37]);
    assert_eq!(out[37..41], [0, 0, 0, 0xEE]);
    let view = DataChunk::new_checked(&out).unwrap();
    assert_eq!((view.user_data(), view.total_len()), (user_data, 40));
}

#[test]
fn malformed_data_chunks_are_refused() {
    let golden = vector(
        "V-SCTP-7 the same as a DATA chunk: TSN 01020304, SID 3, SSN 0, PPID 16",
        "chunk",
    );
    let error = |octets: &[u8]| DataChunk::new_checked(octets).err();
    for have in 0..16 {
        let need = 16;
        assert_eq!(
            error(&golden[..have]),
            Some(PacketError::Truncated { have, need })
        );
    }
    assert_eq!(
        error(&golden[..39]),
        Some(PacketError::Truncated { have: 39, need: 40 })
    );
    let mut other = golden.clone();
    other[0] = 3;
    assert_eq!(error(&other), Some(PacketError::Type { chunk_type: 3 }));
    let mut short = golden.clone();
    short[3] = 15;
    let (kind, length, need) = (0, 15, 16);
    assert_eq!(
        error(&short),
        Some(PacketError::Length { kind, length, need })
    );

    let long = [0; 65_520];
    let data = |user_data| Data {
        tsn: 0,
        stream: 0,
        ppid: 16,
        user_data,
    };
    let mut out = vec![0; 70_000];
    assert_eq!(data(&long[..65_519]).emit(&mut out), Ok(65_536));
    assert_eq!(
        data(&long).emit(&mut out),
        Err(PacketError::UserData { len: 65_520 })
    );
    let cut = data(&long[..5]).emit(&mut out[..23]);
    assert_eq!(cut, Err(PacketError::Truncated { have: 23, need: 24 }));
}

// req: SCTP-FMT-12, SCTP-LIM-03, AMB-36
#[test]
fn private_data_is_at_most_512_octets() {
    let data: Vec<u8> = (0..513u32).map(|i| i as u8).collect();
    for function in [Function::Initiate, Function::Accept, Function::Reject] {
        let mut out = [0; 600];
        let control = |private_data| Control {
            ssn: Ssn(0),
            function,
            private_data,
        };
        let most = control(&data[..512]);
        // 2 + 2 + 512, which RFC 5043 §9 calls for.
        assert_eq!(most.emit(&mut out), Ok(516));
        assert_eq!(Control::parse(&out[..516]), Ok(most));
        let too_long = ChunkError::PrivateData { len: 513 };
        assert_eq!(control(&data).emit(&mut out), Err(too_long));
        out[516] = 0;
        assert_eq!(Control::parse(&out[..517]), Err(too_long));
        let small = most.emit(&mut out[..515]);
        assert_eq!(
            small,
            Err(ChunkError::Output {
                have: 515,
                need: 516
            })
        );
    }
    assert_eq!((MAX_PRIVATE_DATA, MAX_CONTROL_LEN), (512, 516));
}

// req: SCTP-FMT-13
#[test]
fn terminate_carries_no_private_data() {
    let error = ChunkError::TerminateData { len: 1 };
    assert_eq!(Control::parse(&hex("0005 0004 00")), Err(error));
    let control = Control {
        ssn: Ssn(5),
        function: Function::Terminate,
        private_data: &[0],
    };
    assert_eq!(control.emit(&mut [0; 8]), Err(error));
}

// req: SCTP-FMT-01, SCTP-FMT-04, SCTP-FMT-08, AMB-35
#[test]
fn all_bits_of_the_function_code_and_of_the_ppid_count() {
    for code in 0..=u16::MAX {
        let [high, low] = code.to_be_bytes();
        let octets = [0, 0, high, low];
        let parsed = Control::parse(&octets);
        let function = match code {
            1 => Ok(Function::Initiate),
            2 => Ok(Function::Accept),
            3 => Ok(Function::Reject),
            4 => Ok(Function::Terminate),
            // Those of RFC 6581 among them: 5 to 7.
            _ => Err(ChunkError::Function { code }),
        };
        assert_eq!(parsed.map(|control| control.function), function);
    }
    let terminate = hex("0000 0004");
    for ppid in [
        0,
        1,
        15,
        18,
        0x1000_0000,
        0x1100_0000,
        0x0001_0010,
        u32::MAX,
    ] {
        assert_eq!(
            Chunk::parse(ppid, &terminate),
            Err(ChunkError::Ppid { ppid })
        );
    }
}

#[test]
fn cut_chunks_are_refused() {
    for have in 0..2 {
        let error = Err(ChunkError::Truncated { have, need: 2 });
        assert_eq!(Chunk::parse(16, &[0; 1][..have]), error);
    }
    for have in 0..4 {
        let error = Err(ChunkError::Truncated { have, need: 4 });
        assert_eq!(Chunk::parse(17, &[0; 3][..have]), error);
    }
}

// req: SCTP-SSN-01, SCTP-SSN-07
#[test]
fn ddp_ssns_are_serial_numbers() {
    assert_eq!(Ssn(65_535).next(), Ssn(0));
    assert_eq!(Ssn(0).ahead_of(Ssn(65_535)), 1);
    assert_eq!(Ssn(65_535).ahead_of(Ssn(0)), 65_535);
    assert_eq!(Ssn(32_767).ahead_of(Ssn(0)), 32_767);
    assert_eq!(Ssn(16_383).ahead_of(Ssn(49_152)), 32_767);
    assert_eq!((Ssn::FIRST, Ssn::FIRST_SEGMENT), (Ssn(0), Ssn(1)));
}

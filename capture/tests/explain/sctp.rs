//! DDP over SCTP: the golden vectors, chunks made by hand from the figures of RFC 5043 §5.2 and RFC 9260 §3.3.1, and planted
//! faults.

use etherparse::PacketBuilder;
use warpline_capture::TrafficError;
use warpline_capture::explain::{SctpCapture, SctpForm, sctp_units};

use super::*;

/// User data of a vector.
fn user_data(name: &str) -> Vec<u8> {
    octets(vectors()[name]["user_data"].as_str().unwrap())
}

#[track_caller]
fn only(octets: &[u8], form: SctpForm) -> Unit {
    let mut units: Vec<_> = sctp_units(octets, form, false).collect();
    assert_eq!(units.len(), 1, "{units:?}");
    units.remove(0)
}

/// Requirement of the fault that decides.
fn refused(unit: &Unit) -> Option<&'static str> {
    let verdict = unit.verdict()?;
    assert_eq!(verdict.check, Check::Chunk, "{verdict:?}");
    verdict.requirement
}

/// V-SCTP-7 is V-SCTP-6 as a DATA chunk: TSN 01020304, stream 3, SSN 0, PPID 16.
fn data_chunk() -> Vec<u8> {
    let all = vectors();
    let chunk = &all["V-SCTP-7 the same as a DATA chunk: TSN 01020304, SID 3, SSN 0, PPID 16"];
    octets(chunk["chunk"].as_str().unwrap())
}

#[test]
fn session_control_messages_of_the_vectors() {
    for (name, ssn, function, private, summary) in [
        (
            "V-SCTP-2 session initiate, DDP-SSN 0, PD \"hi!\"",
            0,
            1,
            3,
            "DDP-SSN 0, Initiate, 3 octets of private data",
        ),
        (
            "V-SCTP-3 session accept, DDP-SSN 0, empty PD",
            0,
            2,
            0,
            "DDP-SSN 0, Accept, 0 octets of private data",
        ),
        (
            "V-SCTP-4 session reject, DDP-SSN 0, PD 01",
            0,
            3,
            1,
            "DDP-SSN 0, Reject, 1 octet of private data",
        ),
        (
            "V-SCTP-5 session terminate, DDP-SSN 5",
            5,
            4,
            0,
            "DDP-SSN 5, Terminate of the session, 0 octets of private data",
        ),
    ] {
        let unit = only(&user_data(name), SctpForm::Control);
        assert_eq!(value(&unit, "sctp.ddp_ssn"), ssn, "{name}");
        assert_eq!(value(&unit, "sctp.function"), function, "{name}");
        let length = unit
            .field("sctp.private_data")
            .map_or(0, |field| field.length);
        assert_eq!(length, private, "{name}");
        assert_eq!(unit.summary, summary);
        assert_eq!(unit.all_findings().count(), 0, "{name}");
    }
}

#[test]
fn a_segment_and_its_data_chunk_are_what_the_vectors_say() {
    let segment = only(
        &user_data("V-SCTP-6 DDP segment chunk user data, DDP-SSN 1"),
        SctpForm::Segment,
    );
    let chunk = only(&data_chunk(), SctpForm::Chunks);
    for unit in [&segment, &chunk] {
        for (name, expected) in [
            ("sctp.ddp_ssn", 1),
            ("ddp.tagged", 0),
            ("ddp.last", 1),
            ("ddp.version", 1),
            ("rdmap.opcode", 3),
            ("ddp.qn", 0),
            ("ddp.msn", 1),
            ("ddp.mo", 0),
        ] {
            assert_eq!(value(unit, name), expected, "{name}");
        }
        assert_eq!(unit.field("ddp.payload").unwrap().octets, b"ping");
        assert_eq!(unit.all_findings().count(), 0, "{unit:?}");
    }
    for (name, expected) in [
        ("sctp.type", 0),
        ("sctp.flags", 7),
        ("sctp.unordered", 1),
        ("sctp.beginning", 1),
        ("sctp.ending", 1),
        ("sctp.length", 40),
        ("sctp.tsn", 0x0102_0304),
        ("sctp.stream", 3),
        ("sctp.stream_sequence", 0),
        ("sctp.ppid", 16),
    ] {
        assert_eq!(value(&chunk, name), expected, "{name}");
    }
    // Fields are where the figures have them.
    let places = [
        "sctp.tsn",
        "sctp.stream",
        "sctp.ppid",
        "sctp.ddp_ssn",
        "ddp.control",
        "ddp.payload",
    ]
    .map(|name| chunk.field(name).unwrap().pieces[0].offset);
    assert_eq!(places, [4, 8, 12, 16, 18, 36]);
}

#[test]
fn chunks_follow_one_another_and_others_are_left_out() {
    // A SACK (RFC 9260 §3.3.4) of 16 octets, then Initiate with one octet of padding, then the segment.
    let sack = octets("03 00 00 10 00000001 00010000 0000 0000");
    let initiate = octets("00 07 0017 00000002 0003 0000 00000011 0000 0001 686921 00");
    let octets = [sack, initiate, data_chunk()].concat();
    let units: Vec<_> = sctp_units(&octets, SctpForm::Chunks, false).collect();
    assert_eq!(units.len(), 2);
    assert_eq!(
        units[0].summary,
        "DDP-SSN 0, Initiate, 3 octets of private data"
    );
    assert_eq!(units[0].field("sctp.padding").unwrap().pieces[0].offset, 23);
    assert_eq!((units[0].length, units[1].length), (24, 40));
    assert_eq!(value(&units[1], "ddp.msn"), 1);
}

#[test]
fn planted_faults_are_refused_by_their_rules() {
    let control = |text: &str| only(&octets(text), SctpForm::Control);
    for (text, requirement) in [
        ("0000 0000", "AMB-35"),
        ("0000 0005", "AMB-35"),
        ("0000 0101", "AMB-35"), // all 16 bits count
        ("0005 0004 00", "SCTP-FMT-13"),
        ("0000 00", "SCTP-FMT-07"),
    ] {
        assert_eq!(refused(&control(text)), Some(requirement), "{text}");
    }
    for (length, requirement) in [(512, None), (513, Some("SCTP-FMT-12"))] {
        let octets = [&[0, 0, 0, 1][..], &vec![7; length]].concat();
        assert_eq!(
            refused(&only(&octets, SctpForm::Control)),
            requirement,
            "{length}"
        );
    }
    assert_eq!(refused(&only(&[0], SctpForm::Segment)), Some("SCTP-FMT-05"));
    let mut other = data_chunk();
    other[15] = 18;
    assert_eq!(refused(&only(&other, SctpForm::Chunks)), Some("AMB-35"));
    // DDP's own faults have the numbers that they have over MPA.
    let mut version = data_chunk();
    version[18] ^= 2;
    let unit = only(&version, SctpForm::Chunks);
    let fault = unit.verdict().unwrap();
    assert_eq!(
        (fault.check, fault.requirement),
        (Check::DdpVersion, Some("DDP-HDR-12"))
    );
    let empty = only(&[0, 1], SctpForm::Segment);
    assert_eq!(verdict(&empty), Some(Check::DdpHeader));
}

#[test]
fn what_a_receiver_accepts_is_noted() {
    for (octet, value, requirement) in [(1, 3, Some("SCTP-SSN-04")), (1, 6, Some("AMB-39"))] {
        let mut chunk = data_chunk();
        chunk[octet] = value;
        let unit = only(&chunk, SctpForm::Chunks);
        assert!(unit.verdict().is_none());
        let found: Vec<_> = unit
            .all_findings()
            .map(|finding| finding.requirement)
            .collect();
        assert_eq!(found, [requirement]);
    }
    let mut padded = octets("00 07 0015 00000002 0003 0000 00000011 0000 0003 01 000000");
    assert_eq!(only(&padded, SctpForm::Chunks).all_findings().count(), 0);
    padded[23] = 1;
    let unit = only(&padded, SctpForm::Chunks);
    let found: Vec<_> = unit.all_findings().map(|finding| finding.section).collect();
    assert_eq!(found, ["RFC 9260 §3.2"]);
}

#[test]
fn a_chunk_that_is_cut_says_how_much_is_missing() {
    let whole = data_chunk();
    for have in 4..whole.len() {
        let unit = only(&whole[..have], SctpForm::Chunks);
        assert_eq!((unit.length, unit.missing), (have, whole.len() - have));
        assert_eq!(verdict(&unit), Some(Check::Complete), "{have}");
    }
    // A Length that is none.
    let mut short = whole;
    short[3] = 15;
    assert_eq!(
        only(&short[..16], SctpForm::Chunks)
            .verdict()
            .unwrap()
            .check,
        Check::Chunk
    );
}

/// An SCTP packet (RFC 9260 §3.1) on Ethernet and IPv4, without checksum.
fn packet(chunks: &[u8]) -> Vec<u8> {
    let sctp = [&octets("1389 138a 00000001 00000000")[..], chunks].concat();
    let ip = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let mut frame = vec![];
    ip.write(&mut frame, etherparse::IpNumber::SCTP, &sctp)
        .unwrap();
    frame
}

/// A classic pcap file of Ethernet frames.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = octets("a1b2c3d4 0002 0004 00000000 00000000 00040000 00000001");
    for frame in frames {
        file.extend([0; 8]);
        file.extend(
            [
                (frame.len() as u32).to_be_bytes(),
                (frame.len() as u32).to_be_bytes(),
            ]
            .concat(),
        );
        file.extend(frame);
    }
    file
}

#[test]
fn chunks_of_a_capture() {
    let sack = octets("03 00 00 10 00000001 00010000 0000 0000");
    let file = pcap(&[
        packet(&sack),
        packet(&[sack.clone(), data_chunk()].concat()),
    ]);
    let capture = SctpCapture::read(&file).unwrap();
    assert_eq!((capture.skipped.len(), &capture.stopped), (0, &None));
    let units: Vec<_> = capture.units(false).collect();
    assert_eq!(units.len(), 1);
    let front = "packet 2, 10.0.0.1:5001 to 10.0.0.2:5002: DDP-SSN 1, Send, 4 octets of payload";
    assert!(units[0].summary.starts_with(front), "{}", units[0].summary);
    assert_eq!(
        SctpCapture::read(&pcap(&[packet(&sack)])),
        Err(TrafficError::NoSctp)
    );
    let cut = SctpCapture::read(&file[..file.len() - 1]);
    assert!(
        matches!(cut, Err(TrafficError::Truncated { after: 1 })),
        "{cut:?}"
    );
}

#[test]
fn no_input_makes_it_panic() {
    let mut seed = 7_u64;
    for _ in 0..5_000 {
        let mut octets = data_chunk();
        for _ in 0..3 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % octets.len();
            octets[at] = (seed >> 56) as u8;
        }
        octets.truncate((seed >> 20) as usize % 41);
        for form in [SctpForm::Segment, SctpForm::Control, SctpForm::Chunks] {
            for unit in sctp_units(&octets, form, true) {
                let text = warpline_capture::explain::unit_text(&unit, &|_, text| text.into());
                assert!(text.starts_with("Chunk, "), "{text}");
            }
        }
    }
}

#[test]
fn text_as_the_figures_have_it() {
    let unit = only(&octets("0000 0001 686921"), SctpForm::Control);
    let text = warpline_capture::explain::unit_text(&unit, &|_, text| text.into());
    let expected = "\
Chunk, 7 octets: DDP-SSN 0, Initiate, 3 octets of private data
  0000  00 00                      DDP-SSN             0                   number of the chunk in its session and direction
  0002  00 01                      Function Code       0x0001              Initiate: asks for a session
  0004  68 69 21                   private data        3 octets            for the ULP; \"hi!\"
";
    assert_eq!(text, expected);
}

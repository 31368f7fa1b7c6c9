//! The validation cases of DDP, and what a header may address.

use super::support::*;
use warpline_driver::{
    Checks, Completion, ErrorNumber, MemoryRegion, Registration, Scope, StreamOptions,
};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Number and checks of a row's result; `None` for "place" and "accept".
fn expected_error(result: &str) -> Option<ErrorNumber> {
    let (kind, code) = result.split_once('/')?;
    ErrorNumber::from_parts(kind.parse().unwrap(), u8::from_str_radix(code, 16).unwrap())
}

// req: DDP-ERR-12, DDP-ERR-13, DDP-ERR-14, DDP-ERR-15, DDP-ERR-16, DDP-ERR-17, DDP-ERR-18, DDP-ERR-19, DDP-ERR-24,
// req: DDP-ERR-25, DDP-ERR-26, DDP-ERR-27, DDP-ERR-28, DDP-ERR-36, DDP-HDR-12, DDP-SEC-01, DDP-SEC-02, AMB-01, AMB-03
// req: DDP-TEAR-14, DDP-ERR-22, DDP-SEG-10, DDP-SEC-13, DDP-SEC-16, AMB-25
#[test]
fn tagged_validation_cases() {
    let vectors = vectors();
    let cases = vectors["V-CHK-T"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    for bench in Bench::each() {
        let other = bench.context.protection_domain().unwrap();
        let at = |base| Registration {
            base: Some(base),
            ..Registration::default()
        };
        let of_stream = Registration {
            scope: Scope::Stream(2),
            ..at(0)
        };
        let no_write = Registration {
            remote_write: false,
            ..at(0)
        };
        let revoked = bench.register_as(0x300, 64, at(0));
        revoked.revoke().unwrap();
        let regions = [
            bench.register_as(0x100, 0x1000, at(0x1000)),
            bench.register_as(0x200, 64, of_stream),
            bench.register_as(0x400, 0x1000, at(0_u64.wrapping_sub(0x1000))),
            bench.register_as(0x500, 64, no_write),
            register(&other, 0x600, 64, at(0)),
        ];
        let memories = || regions.iter().map(|region| region.to_vec().unwrap());
        for row in cases {
            let (case, result) = (
                row["case"].as_str().unwrap(),
                row["result"].as_str().unwrap(),
            );
            let failed = row["failed"].as_array().unwrap().iter();
            let checks = failed.map(|name| name.as_str().unwrap().to_uppercase());
            let checks: Checks = checks
                .map(|name| Checks::from_name(&name).unwrap())
                .collect();
            let (header, length) = (hex(&row["header"]), row["length"].as_u64().unwrap());
            let mut octets = Vec::new();
            let mut writer = FpduWriter::new(false, CrcField::Computed);
            let payload = pattern(9, length as usize);
            writer.append(&header, &payload, &mut octets).unwrap();

            let mut expected: Vec<_> = memories().collect();
            let (seen, stream) = outcome(&bench, markers(false), &octets);
            if let Some(number) = expected_error(result) {
                assert_eq!(seen, [Seen::Error(3, number, checks, 0)], "{case}");
                let record = stream.error_record().unwrap().unwrap();
                assert_eq!((record.number, record.checks), (number, checks), "{case}");
                assert_eq!(record.header.as_slice(), header, "{case}");
                assert_eq!(u64::from(record.segment_length), 14 + length, "{case}");
            } else {
                assert_eq!(seen, [Seen::Write(3, length as u32, length == 0)], "{case}");
                let to = u64::from_be_bytes(header[6..14].try_into().unwrap());
                let named = |region: &MemoryRegion| region.stag().to_be_bytes() == header[2..6];
                if let Some(region) = regions.iter().position(named) {
                    let start = to.wrapping_sub(regions[region].base()) as usize;
                    expected[region][start..][..payload.len()].copy_from_slice(&payload);
                }
            }
            assert!(memories().eq(expected), "{case}");
            stream.close().unwrap();
            bench.poll();
        }
    }
}

// req: DDP-ERR-02, DDP-ERR-03, DDP-ERR-04, DDP-ERR-05, DDP-ERR-06, DDP-ERR-29, DDP-ERR-30, DDP-ERR-31, DDP-ERR-32,
// req: DDP-ERR-33, DDP-ERR-34, DDP-UNT-08, DDP-UNT-12, DDP-UNT-19, AMB-04, AMB-05, AMB-24, DDP-TEAR-14, DDP-ERR-22
// req: DDP-SEC-16, AMB-25
#[test]
fn untagged_validation_cases() {
    let vectors = vectors();
    let cases = vectors["V-CHK-U"].as_array().unwrap();
    assert_eq!(cases.len(), 25);
    for bench in Bench::each() {
        for row in cases {
            let (case, result) = (
                row["case"].as_str().unwrap(),
                row["strict"].as_str().unwrap(),
            );
            let (header, length) = (hex(&row["header"]), row["length"].as_u64().unwrap());
            let field =
                |from: usize| u32::from_be_bytes(header[from..from + 4].try_into().unwrap());
            let (queue, msn, offset) = (field(6), field(10), field(14));
            let (first_msn, lengths) = match queue {
                1 => (1, &[][..]),
                2 => (0xFFFF_FFFF, &[64, 64, 64][..]),
                _ => (5, &[100, 50][..]),
            };
            let options = StreamOptions {
                queues: 0b111,
                first_msn,
                ..StreamOptions::default()
            };
            let stream = bench.arm(3, options);
            bench.post(&stream, if queue == 2 { 2 } else { 0 }, lengths);
            let mut octets = Vec::new();
            let mut writer = FpduWriter::new(false, CrcField::Computed);
            let payload = pattern(9, length as usize);
            writer.append(&header, &payload, &mut octets).unwrap();
            bench.feed(3, 0, &octets, 77);
            let mut seen = bench.settle();
            let first = seen.remove(0);
            let checks = match result {
                "2/01" => Checks::QN,
                "2/02" => Checks::NOBUF,
                "2/03" => Checks::MSN,
                "2/04" => Checks::MO | Checks::LEN,
                "2/05" => Checks::LEN,
                "2/06" => Checks::VERSION,
                _ => Checks::empty(),
            };
            match expected_error(result) {
                Some(number) => assert_eq!(first, Seen::Error(3, number, checks, 0), "{case}"),
                None => {
                    let mut message = vec![UNTOUCHED; offset as usize];
                    message.extend(payload);
                    let queue = queue as u8;
                    assert_eq!(first, Seen::Send(3, queue, msn, message), "{case}");
                }
            }
            stream.close().unwrap();
            seen.extend(bench.poll());
            let left = lengths.len() - usize::from(expected_error(result).is_none());
            assert_eq!(seen.len(), left, "{case}");
            let untouched = |seen: &Seen| match seen {
                Seen::Flushed(.., buffer) => buffer.iter().all(|&octet| octet == UNTOUCHED),
                _ => false,
            };
            assert!(seen.iter().all(untouched), "{case}: {seen:?}");
        }
    }
}

/// A DDP segment is placed where its header says, whatever came before: offsets may go back, come twice, leave octets out;
/// messages of two queues and writes may take turns.
// req: DDP-UNT-14, DDP-UNT-16, DDP-SEG-12, DDP-ORD-04, DDP-DEL-03, DDP-ERR-32, AMB-07, AMB-08
#[test]
fn each_segment_goes_where_its_header_says() {
    let segment = |queue: u8, offset: u32, last: bool| {
        let control = if last { 0x41 } else { 0x01 };
        let mut header = vec![control, 0x43, 0, 0, 0, 0];
        for field in [queue.into(), 1, offset] {
            header.extend(u32::to_be_bytes(field));
        }
        header
    };
    let tagged = |offset: u64| {
        let to = (BASE + offset).to_be_bytes();
        [&[0x81, 0x40][..], &STAG.to_be_bytes(), &to].concat()
    };
    for bench in Bench::each() {
        let region = bench.region();
        let options = StreamOptions {
            queues: 0b11,
            ..markers(true)
        };
        let stream = bench.arm(3, options);
        bench.post(&stream, 0, &[1000]);
        bench.post(&stream, 1, &[1000]);
        let mut octets = Vec::new();
        let mut writer = FpduWriter::new(true, CrcField::Computed);
        // Header and payload; the last one of each message is the longest way from its start.
        for (header, seed, length) in [
            (segment(0, 300, false), 1, 100),
            (segment(1, 0, false), 2, 200),
            (tagged(5000), 3, 77),
            (segment(0, 0, false), 4, 250),
            (segment(0, 300, false), 5, 100),
            (tagged(4000), 6, 500),
            (segment(1, 500, true), 7, 60),
            (segment(0, 450, true), 8, 50),
        ] {
            writer
                .append(&header, &pattern(seed, length), &mut octets)
                .unwrap();
        }
        bench.feed(3, 0, &octets, 400);
        let holes = |length| vec![UNTOUCHED; length];
        let one = [pattern(2, 200), holes(300), pattern(7, 60)].concat();
        let zero = [
            pattern(4, 250),
            holes(50),
            pattern(5, 100),
            holes(50),
            pattern(8, 50),
        ];
        bench.card.run_until_idle().unwrap();
        // Octets are counted, not looked for: the first message lacks 300; the second lacks 100, and 100 came twice.
        for (queue, message, hole) in [(1, one, true), (0, zero.concat(), false)] {
            match bench.context.completion_queue().poll().unwrap() {
                Some(Completion::Untagged(completion)) => {
                    assert_eq!((completion.queue, completion.hole), (queue, hole));
                    let sent = Seen::Send(3, queue, 1, message);
                    assert_eq!(seen(Completion::Untagged(completion)), sent);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(bench.poll(), []);
        let mut expected = vec![UNTOUCHED; LENGTH];
        expected[5000..5077].copy_from_slice(&pattern(3, 77));
        expected[4000..4500].copy_from_slice(&pattern(6, 500));
        assert!(region.to_vec().unwrap() == expected);
        stream.close().unwrap();

        // A stream that asks for strict offsets meets an error where they do not go on.
        let options = StreamOptions {
            strict_mo: true,
            ..markers(true)
        };
        let mut octets = stream_of(true, 128, &[(send(0, 1), pattern(1, 250))]);
        let mut writer = FpduWriter::at(octets.len() as u32, true, CrcField::Computed);
        let mut header = segment(0, 300, false);
        header[13] = 2;
        let position = writer.position();
        writer
            .append(&header, &pattern(1, 100), &mut octets)
            .unwrap();
        let (seen, _stream) = outcome(&bench, options, &octets);
        let sent = Seen::Send(3, 0, 1, pattern(1, 250));
        let error = Seen::Error(3, ErrorNumber::UntaggedMo, Checks::MO, position);
        assert_eq!(seen, [sent, error]);
    }
}

// req: AMB-50, DDP-ERR-12
#[test]
fn every_bit_of_an_stag_counts() {
    for bench in Bench::each() {
        for stag in [0, 0xFFFF_FFFF] {
            let region = bench.register(stag, BASE, 64);
            let attempt = |stag| {
                let to = BASE;
                let rsvd_ulp = 0;
                let message = Message::Tagged { stag, to, rsvd_ulp };
                let octets = stream_of(false, 600, &[(message, vec![7; 8])]);
                outcome(&bench, markers(false), &octets).0
            };
            for bit in 0..32 {
                let error = Seen::Error(3, ErrorNumber::TaggedInvalidStag, Checks::STAG, 0);
                assert_eq!(attempt(stag ^ 1 << bit), [error], "{stag:#x}, bit {bit}");
            }
            assert_eq!(region.to_vec().unwrap(), [UNTOUCHED; 64]);
            assert_eq!(attempt(stag), [Seen::Write(3, 8, false)]);
        }
    }
}

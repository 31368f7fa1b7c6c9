//! The validation cases of DDP.

use super::*;

/// Feeds one segment, its header given as octets, to a prepared stream 3.
fn judge(mut receiver: Receiver, header: &[u8], len: usize) -> Log {
    let ulpdu = [header, &pattern(9, len)].concat();
    feed(
        &mut receiver,
        3,
        &fpdu(0, false, CrcField::Computed, &ulpdu),
    )
}

/// Error number of a `type/code` result, or `None` for "place".
fn expected_number(result: &str) -> Option<ErrorNumber> {
    let (error_type, code) = result.split_once('/')?;
    ErrorNumber::from_parts(
        error_type.parse().unwrap(),
        u8::from_str_radix(code, 16).unwrap(),
    )
}

/// Compares the events of one case with its table row.
fn assert_outcome(log: &Log, result: &str, checks: Checks, header: &[u8], len: usize, case: &str) {
    match expected_number(result) {
        Some(number) => {
            let record = log.only_failure();
            assert_eq!(record.number, number, "{case}");
            assert_eq!(record.checks, checks, "{case}");
            assert_eq!(record.header.as_slice(), header, "{case}");
            assert_eq!(usize::from(record.ulpdu_len), header.len() + len, "{case}");
            assert_eq!(record.detail, Detail::Ddp, "{case}");
        }
        None => {
            assert_eq!(result, "place");
            let placed: Vec<u8> = log.placements().concat_octets();
            assert_eq!(placed, pattern(9, len), "{case}");
            assert_eq!(log.failure(), None, "{case}");
        }
    }
}

trait ConcatOctets {
    fn concat_octets(&self) -> Vec<u8>;
}

impl ConcatOctets for Vec<(Target, &[u8])> {
    fn concat_octets(&self) -> Vec<u8> {
        self.iter()
            .flat_map(|(_, octets)| octets.to_vec())
            .collect()
    }
}

// req: DDP-ERR-12, DDP-ERR-13, DDP-ERR-14, DDP-ERR-15, DDP-ERR-16, DDP-ERR-17, DDP-ERR-18
// req: DDP-ERR-19, DDP-ERR-24, DDP-ERR-25, DDP-ERR-26, DDP-ERR-27, DDP-ERR-28, DDP-ERR-36
// req: DDP-SEG-10, DDP-SEG-11, DDP-HDR-12, DDP-SEC-01, DDP-SEC-02, AMB-01, AMB-02, AMB-03, AMB-09
#[test]
fn tagged_validation_cases() {
    let no_write = StagEntry {
        remote_write: false,
        ..writable(7, 0, 64)
    };
    let revoked = StagEntry {
        valid: false,
        ..writable(7, 0, 64)
    };
    let other_stream = StagEntry {
        scope: Scope::Stream {
            stream: 4,
            protection_domain: 7,
        },
        ..writable(7, 0, 64)
    };
    let table = [
        (0x100, writable(7, 0x1000, 0x1000)),
        (0x200, other_stream),
        (0x300, revoked),
        (0x400, writable(7, 0u64.wrapping_sub(0x1000), 0x1000)),
        (0x500, no_write),
        (0x600, writable(8, 0, 64)),
    ];
    let vectors = vectors();
    let cases = vectors["V-CHK-T"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    for row in cases {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        let config = StreamConfig {
            protection_domain: 7,
            ..StreamConfig::default()
        };
        receiver.open(3, config).unwrap();
        for (stag, entry) in table {
            receiver.set_stag(stag, entry);
        }
        let checks = row["failed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| Checks::from_name(&name.as_str().unwrap().to_uppercase()).unwrap())
            .collect();
        let (case, result) = (
            row["case"].as_str().unwrap(),
            row["result"].as_str().unwrap(),
        );
        let header = octets(&row["header"]);
        let len = row["length"].as_u64().unwrap() as usize;
        let log = judge(receiver, &header, len);
        assert_outcome(&log, result, checks, &header, len, case);
        if result == "place" {
            let unverified = log.deliveries()[0].1.contains(Flags::UNVERIFIED);
            assert_eq!(unverified, len == 0, "{case}");
        }
    }
}

/// An STag registered with length 0 has no buffer; the parallel checks fail with it.
// req: DDP-ERR-13, AMB-03
#[test]
fn an_empty_range_is_no_buffer() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    receiver.open(3, StreamConfig::default()).unwrap();
    receiver.set_stag(0x700, writable(0, 0x40, 0));
    let header = TaggedHeader {
        last: true,
        rsvd_ulp: 0,
        stag: 0x700,
        to: 0x40,
    };
    let record = judge(receiver, &header.emit(), 1).only_failure();
    assert_eq!(record.number, ErrorNumber::TaggedInvalidStag);
    assert_eq!(record.checks, Checks::ACCESS | Checks::TO | Checks::END);
}

// req: DDP-ERR-02, DDP-ERR-03, DDP-ERR-04, DDP-ERR-05, DDP-ERR-06, DDP-ERR-29, DDP-ERR-30
// req: DDP-ERR-31, DDP-ERR-32, DDP-ERR-33, DDP-ERR-34, DDP-UNT-08, DDP-UNT-12, DDP-UNT-19
// req: AMB-04, AMB-05, AMB-24
#[test]
fn untagged_validation_cases() {
    let vectors = vectors();
    let cases = vectors["V-CHK-U"].as_array().unwrap();
    assert_eq!(cases.len(), 25);
    for (column, msn_mode) in [("window", MsnMode::Window), ("strict", MsnMode::Strict)] {
        for row in cases {
            let mut receiver = Receiver::new(ReceiverConfig::default());
            let config = StreamConfig {
                msn_mode,
                ..StreamConfig::default()
            };
            receiver.open(3, config).unwrap();
            for (queue, first_msn, buffers) in [
                (0, 5, &[100, 50][..]),
                (1, 1, &[]),
                (2, 0xFFFF_FFFF, &[64, 64, 64]),
            ] {
                receiver.enable_queue(3, queue, first_msn).unwrap();
                for &len in buffers {
                    receiver.post(3, queue, len).unwrap();
                }
            }
            let result = row[column].as_str().unwrap();
            let checks = match result {
                "2/01" => Checks::QN,
                "2/02" => Checks::NOBUF,
                "2/03" => Checks::MSN,
                "2/04" => Checks::MO | Checks::LEN, // MO outside implies MO + n outside
                "2/05" => Checks::LEN,
                "2/06" => Checks::VERSION,
                _ => Checks::empty(),
            };
            let case = format!("{column}: {}", row["case"].as_str().unwrap());
            let header = octets(&row["header"]);
            let len = row["length"].as_u64().unwrap() as usize;
            let log = judge(receiver, &header, len);
            assert_outcome(&log, result, checks, &header, len, &case);
        }
    }
}

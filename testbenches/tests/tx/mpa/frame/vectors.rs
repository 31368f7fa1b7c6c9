//! The golden vectors: FPDUs that were written by hand or by another program.

use serde_json::Value;

use crate::support::{Bench, Item, Paces, at_wider, fpdus};

const VECTORS: &str = include_str!("../../../../../wire/tests/vectors.json");

/// Vectors, the part that is an FPDU, and where it begins; those with markers first.
const MARKED: &[(&str, &str, u32)] = &[
    ("V-MPA-1", "fpdu", 0),
    ("V-MPA-2", "fpdu", 492),
    ("V-MPA-3", "fpdu", 0),
    ("V-MPA-4", "fpdu", 492),
    ("V-MPA-5", "fpdu", 500),
    ("V-MPA-6", "fpdu1", 0),
    ("V-MPA-6", "fpdu2", 512),
    ("V-MPA-7", "fpdu", 0),
    ("V-MPA-8", "fpdu", 0),
    (
        "V-MPA-17",
        "fpdu",
        0xFFFF_FFF0_u32.wrapping_sub(0xFFFF_FF00),
    ),
    ("V-MPA-18-draft", "fpdu1", 0),
    ("V-MPA-18-draft", "fpdu2", 492),
    ("V-MPA-18-RFC", "fpdu1", 0),
    ("V-MPA-18-RFC", "fpdu2", 492),
];
const UNMARKED: &[&str] = &["V-MPA-9", "V-MPA-10", "V-MPA-11", "V-MPA-12"];
/// CRC off, its field zero.
const WITHOUT_CRC: &str = "V-MPA-14";

fn octets(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap().as_bytes();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.chunks(2).map(octet).collect()
}

/// The vectors' ULPDUs, as the reference receiver finds them, and their FPDUs.
fn vectors() -> Vec<(Item, Vec<u8>)> {
    let all: Value = serde_json::from_str(VECTORS).unwrap();
    let item = |name: &str, part: &str, position, markers, crc| {
        let fpdu = octets(&all[name][part]);
        let mut item = Item {
            stream: 2,
            position,
            markers,
            crc,
            octets: vec![],
        };
        item.octets = item.read_back(&fpdu);
        (item, fpdu)
    };
    let marked = MARKED
        .iter()
        .map(|(name, part, start)| item(name, part, *start, true, true));
    let unmarked = UNMARKED
        .iter()
        .map(|name| item(name, "fpdu", 0, false, true));
    let without = item(WITHOUT_CRC, "fpdu", 0, false, false);
    marked.chain(unmarked).chain([without]).collect()
}

fn golden<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize>() {
    let mut bench = Bench::<W, K, D, LOGK, LOGD>::new(1);
    let (items, expected): (Vec<Item>, Vec<Vec<u8>>) = vectors().into_iter().unzip();
    let seen = bench.run(&items, Paces::ALWAYS);
    let found = fpdus(&seen.unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(found, expected);
}

// req: MPA-FMT-02, MPA-FMT-03, MPA-FMT-04, MPA-FMT-06, MPA-FMT-08, MPA-FMT-12, MPA-FMT-15, MPA-FMT-17
// req: MPA-MRK-05, MPA-MRK-07, MPA-MRK-08, MPA-MRK-19, MPA-CRC-13, MPA-CRC-14, MPA-CRC-15, MPA-CRC-16, MPA-CRC-17
// req: MPA-CRC-01, MPA-CRC-20, MPA-CRC-21, MPA-CRC-22, MPA-CRC-23, AMB-12, AMB-17
#[test]
fn fpdus_of_the_golden_vectors_at_64_bits() {
    golden::<64, 8, 2, 3, 1>();
}

// req: MPA-FMT-02, MPA-FMT-03, MPA-FMT-04, MPA-FMT-06, MPA-FMT-08, MPA-FMT-12, MPA-FMT-15, MPA-FMT-17
// req: MPA-MRK-05, MPA-MRK-07, MPA-MRK-08, MPA-MRK-19, MPA-CRC-13, MPA-CRC-14, MPA-CRC-15, MPA-CRC-16, MPA-CRC-17
// req: MPA-CRC-01, MPA-CRC-20, MPA-CRC-21, MPA-CRC-22, MPA-CRC-23, AMB-12, AMB-17
#[test]
fn fpdus_of_the_golden_vectors_at_wider_buses() {
    at_wider!(golden());
}

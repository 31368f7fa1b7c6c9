//! All captures of Linux soft-iWARP: every field that tshark shows has the value that `explain` gives it.
//!
//! `tshark/NAME.txt` is what `tools/interop/dissection.py` prints for `testbenches/captures/NAME/wire.pcap`.

use std::collections::BTreeMap;
use std::fs;

use super::common::{CAPTURES, directory};
use super::*;
use warpline_capture::explain::Conversation;
use warpline_capture::replay::{Choice, Role};

/// A unit in tshark's words: names and values.
type Dissected = Vec<(String, String)>;

/// tshark's units of each sender, by its port.
fn dissection(name: &str) -> BTreeMap<u16, Vec<Dissected>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explain/tshark");
    let text = fs::read_to_string(format!("{path}/{name}.txt")).unwrap();
    let mut all: BTreeMap<u16, Vec<Dissected>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let port = words.next().unwrap().parse().unwrap();
        let fields = words.map(|word| {
            let (name, value) = word.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        });
        all.entry(port).or_default().push(fields.collect());
    }
    all
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// What `explain` says of a field that tshark has, in the same form.
fn ours(unit: &Unit, name: &str) -> String {
    let number = |name: &str| value(unit, name).to_string();
    let digits = |name: &str| {
        unit.field(name)
            .map_or_else(String::new, |field| hex(&field.octets))
    };
    match name {
        "iwarp_mpa.key.req" | "iwarp_mpa.key.rep" => digits("start.key"),
        "iwarp_mpa.marker_flag" => number("start.markers"),
        "iwarp_mpa.crc_flag" => number("start.crc"),
        "iwarp_mpa.rej_flag" => number("start.rejected"),
        // To tshark, RFC 6581's S is a reserved bit.
        "iwarp_mpa.res" => {
            (value(unit, "start.negotiation") << 4 | value(unit, "start.reserved")).to_string()
        }
        "iwarp_mpa.rev" => number("start.revision"),
        "iwarp_mpa.pdlength" => number("start.pd_length"),
        "iwarp_mpa.privatedata" => ["start.ird", "start.ord", "start.private_data"]
            .map(digits)
            .concat(),
        "iwarp_mpa.ulpdulength" => number("mpa.ulpdu_length"),
        "iwarp_mpa.pad" => digits("mpa.pad"),
        // tshark shows the octets in their order, which is not that of the number (MPA-FMT-17).
        "iwarp_mpa.crc_check" | "iwarp_mpa.crc" => {
            (value(unit, "mpa.crc") as u32).swap_bytes().to_string()
        }
        "good" => u8::from(unit.field("mpa.crc").unwrap().meaning == "good").to_string(),
        "iwarp_ddp.tagged_flag" => number("ddp.tagged"),
        "iwarp_ddp.last_flag" => number("ddp.last"),
        "iwarp_ddp.rsvd" => number("ddp.reserved"),
        "iwarp_ddp.dv" => number("ddp.version"),
        "iwarp_ddp.rsvdulp" => digits("ddp.rsvd_ulp"),
        "iwarp_ddp.stag" => number("ddp.stag"),
        "iwarp_ddp.tagged_offset" => number("ddp.to"),
        "iwarp_ddp.qn" => number("ddp.qn"),
        "iwarp_ddp.msn" => number("ddp.msn"),
        "iwarp_ddp.mo" => number("ddp.mo"),
        "iwarp_rdma.version" => number("rdmap.version"),
        "iwarp_rdma.rsv" => number("rdmap.reserved"),
        "iwarp_rdma.opcode" => number("rdmap.opcode"),
        "iwarp_rdma.reserved" => digits("rdmap.invalidate_stag"),
        "iwarp_rdma.inval_stag" => number("rdmap.invalidate_stag"),
        "iwarp_rdma.sinkstag" => number("rdmap.sink_stag"),
        "iwarp_rdma.sinkto" => number("rdmap.sink_to"),
        "iwarp_rdma.rdmardsz" => number("rdmap.size"),
        "iwarp_rdma.srcstag" => number("rdmap.source_stag"),
        "iwarp_rdma.srcto" => number("rdmap.source_to"),
        // Soft-iWARP has layer and type, and the header control bits, in reverse order; tshark reads them as the RFC has them.
        "iwarp_rdma.term_layer" => (value(unit, "rdmap.terminate") >> 4).to_string(),
        "iwarp_rdma.term_etype_rdma"
        | "iwarp_rdma.term_etype_ddp"
        | "iwarp_rdma.term_etype_llp" => (value(unit, "rdmap.terminate") & 15).to_string(),
        "iwarp_rdma.term_hdrct_m" => (value(unit, "rdmap.header_control") >> 7).to_string(),
        "iwarp_rdma.hdrct_d" => (value(unit, "rdmap.header_control") >> 6 & 1).to_string(),
        "iwarp_rdma.hdrct_r" => (value(unit, "rdmap.header_control") >> 5 & 1).to_string(),
        "iwarp_rdma.term_rsvd" => ((value(unit, "rdmap.header_control") & 31) << 8
            | value(unit, "rdmap.terminate_reserved"))
        .to_string(),
        name if name.starts_with("iwarp_rdma.term_errcode") => number("rdmap.error_code"),
        name => panic!("tshark's {name} is not compared"),
    }
}

/// Names of the fields that differ.
fn differences(unit: &Unit, dissected: &Dissected) -> Vec<String> {
    let other = dissected
        .iter()
        .filter(|(name, value)| ours(unit, name) != *value);
    other.map(|(name, _)| name.clone()).collect()
}

/// Units of what `role` sent, start frame first, and its port.
fn sent(name: &str, role: Role) -> (u16, Vec<Unit>) {
    let file = fs::read(directory(name).join("wire.pcap")).unwrap();
    let choice = Choice {
        connection: Some(1),
        direction: Some(role),
    };
    let found = Conversation::read(&file, choice).unwrap();
    let (port, start) = match role {
        Role::Initiator => (found.initiator.port(), 0),
        Role::Responder => (found.responder.port(), 1),
    };
    let start = found.start_frames(true).nth(start).unwrap();
    let units = [start].into_iter().chain(found.fpdus(true));
    (port, units.collect())
}

#[test]
fn every_field_has_the_value_that_tshark_shows() {
    let (mut units, mut fields) = (0, 0);
    for name in CAPTURES {
        let theirs = dissection(name);
        assert_eq!(theirs.len(), 2, "{name}");
        for role in [Role::Initiator, Role::Responder] {
            let (port, ours) = sent(name, role);
            let theirs = &theirs[&port];
            assert_eq!(ours.len(), theirs.len(), "{name}, {role}");
            for (number, (unit, dissected)) in ours.iter().zip(theirs).enumerate() {
                let differing = differences(unit, dissected);
                assert!(
                    differing.is_empty(),
                    "{name}, {role}, {number}: {differing:?}"
                );
                units += 1;
                fields += dissected.len();
            }
        }
    }
    assert_eq!(units, 943, "start frames and FPDUs of all captures");
    assert!(fields > 10_000, "{fields} fields");
}

/// The comparison sees each field: another value of any is found.
#[test]
fn another_value_of_any_field_is_found() {
    let mut seen = BTreeMap::new();
    for name in CAPTURES {
        let theirs = dissection(name);
        for role in [Role::Initiator, Role::Responder] {
            let (port, ours) = sent(name, role);
            for (unit, dissected) in ours.iter().zip(&theirs[&port]) {
                for (at, (field, value)) in dissected.iter().enumerate() {
                    if seen.insert(field.clone(), ()).is_some() {
                        continue;
                    }
                    let mut planted = dissected.clone();
                    planted[at].1 = format!("{value}1");
                    assert_eq!(differences(unit, &planted), [field.as_str()]);
                }
            }
        }
    }
    assert!(seen.len() > 30, "{seen:?}");
}

/// Nothing that Linux's soft-iWARP sent is refused for its octets: what the card refuses, it refuses for STags and buffers.
#[test]
fn no_capture_is_refused_for_its_octets() {
    for name in CAPTURES {
        for role in [Role::Initiator, Role::Responder] {
            for unit in sent(name, role).1 {
                assert_eq!(verdict(&unit), None, "{name}, {role}: {unit:?}");
            }
        }
    }
}

/// Soft-iWARP's Terminate: the error that the kernel logged, and the header that it returns.
#[test]
fn a_terminate_says_what_the_kernel_logged() {
    for (name, expected) in [
        ("crc1-rev2-badstag", (1, 1, 0)),
        ("crc1-rev2-oob", (1, 1, 1)),
        ("crc1-rev2-nobuf", (1, 2, 2)),
    ] {
        let logged = common::open(name).terminate().unwrap();
        let numbers = (logged.layer, logged.etype, logged.code);
        assert_eq!(numbers, expected, "{name}");
        let (_, units) = sent(name, Role::Responder);
        let terminate = units.last().unwrap();
        let found = ["rdmap.layer", "rdmap.error_type", "rdmap.error_code"];
        let found = found.map(|field| value(terminate, field) as u8);
        assert_eq!(found, [expected.0, expected.1, expected.2], "{name}");
        let returned = "terminated.ddp.control";
        assert!(terminate.field(returned).is_some(), "{name}: {terminate:?}");
    }
}

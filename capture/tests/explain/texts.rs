//! What people read, as a whole; `UPDATE=1` writes the files again.

use std::fs;

use super::common::directory;
use super::*;
use warpline_capture::explain::{ALL, Conversation, Ink, Tally, unit_text};
use warpline_capture::replay::{Choice, Role};

fn plain(units: &[Unit]) -> String {
    let texts = units
        .iter()
        .map(|unit| unit_text(unit, &|_, text| text.to_owned()));
    texts.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn is_golden(name: &str, text: &str) {
    let path = format!(
        "{}/tests/explain/golden/{name}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert_eq!(text, golden, "{path}");
}

#[test]
fn the_figures_of_the_rfcs() {
    let all = vectors();
    let fpdu = |name: &str| octets(all[name]["fpdu"].as_str().unwrap());
    is_golden("rfc5044-figure5", &plain(&marked(&fpdu("V-MPA-3"), 0)));
    is_golden("rfc5044-figure6", &plain(&marked(&fpdu("V-MPA-4"), 492)));
    is_golden("draft-figure5", &plain(&marked(&fpdu("V-MPA-1"), 0)));
    is_golden("wrong-marker", &plain(&marked(&fpdu("V-ERR-1"), 500)));
    is_golden("wrong-crc", &plain(&marked(&fpdu("V-ERR-2"), 500)));
    is_golden("tagged", &plain(&explained(&fpdu("V-MPA-9"))));
    is_golden("cut-off", &plain(&explained(&fpdu("V-MPA-9")[..9])));
    let name = "V-START-R4 RFC 6581 request rev 2, S=1, A=1 C=1(write RTR), IRD 16 ORD 8";
    let request = octets(all[name]["frame"].as_str().unwrap());
    is_golden("request", &plain(&explained(&request)));
}

/// The example of the command's README is what it prints.
#[test]
fn the_example_of_the_readme() {
    let readme = include_str!("../../../cli/README.md");
    let example = readme.split("$ warpline explain ").nth(1).unwrap();
    let (input, printed) = example.split_once('\n').unwrap();
    let units = explained(&octets(input));
    assert!(printed.starts_with(&plain(&units)), "{}", plain(&units));
}

#[test]
fn the_first_of_several_refused_units_is_told() {
    let all = vectors();
    let wrong = octets(all["V-ERR-2"]["fpdu"].as_str().unwrap());
    let mut unit = marked(&wrong, 500).remove(0);
    let mut tally = Tally::default();
    for number in [3, 5] {
        unit.number = Some(number);
        tally.count(&unit);
    }
    assert_eq!((tally.faulty_units, tally.first_refused), (2, Some(3)));
}

#[test]
fn offsets_have_as_many_digits_as_the_end_needs() {
    let all = vectors();
    let mut unit = explained(&octets(all["V-MPA-9"]["fpdu"].as_str().unwrap())).remove(0);
    for (end, digits) in [
        (0xFFFF, 4),
        (0x1_0000, 8),
        (0xFFFF_FFFF, 8),
        (0x1_0000_0000, 10),
    ] {
        unit.position = Some(end - unit.length as u64);
        let text = unit_text(&unit, &|_, text| text.to_owned());
        let first = text.lines().nth(1).unwrap();
        let offset = first.split_whitespace().next().unwrap();
        assert_eq!(offset.len(), digits, "{end:#x}: {first}");
    }
}

#[test]
fn a_capture() {
    let file = fs::read(directory("crc1-rev2-badstag").join("wire.pcap")).unwrap();
    let choice = Choice {
        direction: Some(Role::Responder),
        ..Choice::default()
    };
    let found = Conversation::read(&file, choice).unwrap();
    let units: Vec<_> = found
        .start_frames(false)
        .chain(found.fpdus(false))
        .collect();
    is_golden("terminate", &plain(&units));
    let file = fs::read(directory("crc1-rev2-mixed").join("wire.pcap")).unwrap();
    let found = Conversation::read(&file, choice).unwrap();
    let reads: Vec<_> = found.fpdus(true).take(1).collect();
    is_golden("with-payload", &plain(&reads));
}

/// Colour is around words, and is not counted as columns.
#[test]
fn colours_change_no_column() {
    let octets = octets(vectors()["V-ERR-1"]["fpdu"].as_str().unwrap());
    let units = marked(&octets, 500);
    let coloured = unit_text(&units[0], &|ink, text| format!("<{ink:?}>{text}</{ink:?}>"));
    let mut without = coloured.clone();
    for ink in [Ink::Strong, Ink::Good, Ink::Bad, Ink::Note, Ink::Dim] {
        without = without
            .replace(&format!("<{ink:?}>"), "")
            .replace(&format!("</{ink:?}>"), "");
    }
    assert_eq!(without, plain(&units));
    assert!(coloured.contains("<Bad>refused:</Bad>"));
    assert!(coloured.contains("<Good>good</Good>"));
}

/// Names for programs are unique, and the README lists them.
#[test]
fn names_are_unique_and_documented() {
    let readme = include_str!("../../README.md");
    for (i, name) in ALL.iter().enumerate() {
        assert!(
            ALL[..i].iter().all(|other| other.id != name.id),
            "{}",
            name.id
        );
        assert!(
            readme.contains(&format!("`{}`", name.id)),
            "{} is not in the README",
            name.id
        );
    }
}

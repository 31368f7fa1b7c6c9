//! Captures as people have them, made here and replayed on the card at 64 bits.

#[path = "../../capture/tests/common/mod.rs"]
mod common;
mod made;

use made::{card, errors, replayed, send, started, write};
use warpline_capture::Side;

/// 65 messages need a second portion of buffers; the pause of the program in front of it is not the card's time.
#[test]
fn a_pause_of_the_program_is_not_counted() {
    let card = card();
    let [full, one_more] = [64, 65].map(|count| {
        let (mut wire, mut next) = started();
        for msn in 1..=count {
            let octets = send(msn, &[msn as u8; 1000]);
            wire.segment(Side::Client, next, &octets);
            next += octets.len() as u32;
        }
        let replayed = replayed(&card, &wire);
        assert_eq!(replayed.report.completions.len(), count as usize);
        replayed.report.octets_per_cycle
    });
    assert!((one_more / full - 1.0).abs() < 0.05, "{full} {one_more}");
}

/// A FIN inside an FPDU is error 3/1 (AMB-31), although the acknowledgement of Linux follows it.
// req: AMB-31
#[test]
fn a_fin_inside_an_fpdu_is_replayed_whatever_follows_it() {
    let (mut wire, mut next) = started();
    for i in 0..3 {
        let octets = write(0x1200, 100 * i, &[i as u8; 100]);
        let sent = &octets[..octets.len() - usize::from(i == 2) * 7];
        wire.segment(Side::Client, next, sent);
        next += sent.len() as u32;
    }
    wire.flagged(Side::Client, next, b"", |tcp| tcp.fin = true);
    wire.segment(Side::Client, next + 1, b"");
    let replayed = replayed(&card(), &wire);
    assert_eq!(replayed.report.completions.len(), 2);
    assert_eq!(errors(&replayed), [(3, 1)]);
}

/// A second copy of octets inside an FPDU is not what the card receives (RFC 9293 §3.10.7.4).
#[test]
fn a_second_copy_with_other_octets_changes_nothing() {
    let (mut wire, mut next) = started();
    for i in 0..4 {
        let octets = write(0x1200, 100 * i, &[i as u8; 100]);
        wire.segment(Side::Client, next, &octets);
        if i == 1 {
            wire.segment(Side::Client, next + 30, &[0xFF; 50]);
        }
        next += octets.len() as u32;
    }
    let replayed = replayed(&card(), &wire);
    assert_eq!(replayed.report.completions.len(), 4);
    assert_eq!(errors(&replayed), []);
    let (_, memory) = &replayed.landed.memory[0];
    assert!((0..4).all(|i| memory[100 * i..][..100] == [i as u8; 100]));
}

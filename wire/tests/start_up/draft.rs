//! The draft's Start Key, a profile for tests: its Passive end is the Initiator, its Active end the
//! Responder.

use crate::{failure, refuses, vector};
use warpline_wire::start::{
    Answer, CallError, Cause, Event, Initiator, Kind, Profile, Responder, Settings, StartError,
};

fn settings(markers: bool, crc: bool) -> Settings {
    Settings {
        profile: Profile::Draft,
        markers,
        crc_off: !crc,
        ..Settings::default()
    }
}

fn key(markers: bool, crc: bool) -> Vec<u8> {
    let name = format!("V-START-D M={} C={}", u8::from(markers), u8::from(crc));
    vector(&name)
}

const FLAGS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

// req: MPA-START-06, MPA-START-07, MPA-START-09, MPA-START-13, MPA-START-17, MPA-START-19
#[test]
fn the_passive_end_sends_its_key_at_once_and_the_active_end_after_a_valid_one() {
    for (passive_flags, active_flags) in FLAGS.iter().flat_map(|a| FLAGS.map(|b| (*a, b))) {
        let (passive_markers, passive_crc) = passive_flags;
        let (active_markers, active_crc) = active_flags;
        let settings_of = |(markers, crc)| settings(markers, crc);
        let mut passive = Initiator::new(settings_of(passive_flags), None, b"", 0, 0).unwrap();
        let mut active = Responder::new(settings_of(active_flags), 0);
        let first = key(passive_markers, passive_crc);
        assert_eq!(passive.output(), first);
        for octet in first.chunks(1) {
            assert_eq!(active.output(), b"", "silence until the key is there");
            assert_eq!(active.input(octet), 1);
        }
        passive.sent(16);
        assert_eq!(active.poll(0), Some(Event::Requested));
        assert_eq!(active.output(), b"");
        let theirs = active.accept(b"", &Answer::default()).unwrap();
        let second = key(active_markers, active_crc);
        assert_eq!(active.output(), second);
        active.sent(16);

        assert!(passive.proceed().is_err(), "no FPDU before the peer's key");
        assert_eq!(passive.input(&second), 16);
        assert_eq!(passive.poll(0), Some(Event::Replied));
        let ours = passive.proceed().unwrap();
        for parameters in [ours, theirs] {
            assert_eq!((parameters.revision, parameters.ddp_version()), (0, 1));
            assert_eq!(parameters.crc, passive_crc || active_crc);
            assert_eq!((parameters.sent, parameters.received), (16, 16));
        }
        assert_eq!(ours.send_markers, active_markers);
        assert_eq!(ours.receive_markers, passive_markers);
        assert_eq!(theirs.send_markers, passive_markers);
        assert_eq!(theirs.receive_markers, active_markers);
    }
}

// req: MPA-START-11, MPA-START-16, MPA-START-18, MPA-ERR-09, AMB-26
#[test]
fn a_wrong_key_or_revision_closes_the_connection() {
    let active = Responder::new(settings(true, true), 0);
    let mut passive = Initiator::new(settings(true, true), None, b"", 0, 0).unwrap();
    passive.sent(16);
    for bit in 0..8 * 16 {
        let mut wrong = key(true, false);
        wrong[bit / 8] ^= 1 << (bit % 8);
        if bit >= 8 * 15 + 4 {
            // Res, C and M have no wrong value.
            let mut active = active.clone();
            active.input(&wrong);
            assert_eq!(active.poll(0), Some(Event::Requested), "bit {bit}");
            continue;
        }
        let (offset, octet) = (bit / 8, wrong[bit / 8]);
        let cause = match offset {
            15 => StartError::DraftFlags { flags: octet },
            _ => StartError::Key { offset, octet },
        };
        let what = format!("bit {bit}");
        assert_eq!(refuses(&active, &wrong, &what).cause, Cause::Frame(cause));
        assert_eq!(refuses(&passive, &wrong, &what).cause, Cause::Frame(cause));
    }
}

// req: AMB-26
#[test]
fn the_key_is_16_octets_and_carries_nothing_else() {
    let enhanced = crate::negotiation::enhanced(0, 0, None);
    for (block, data) in [(Some(enhanced), &b""[..]), (None, b"data")] {
        let machine = Initiator::new(settings(false, true), block, data, 0, 0);
        assert_eq!(machine.err(), Some(CallError::DraftKey));
    }
    let mut active = Responder::new(settings(false, true), 0);
    active.input(&key(false, true));
    assert_eq!(active.poll(0), Some(Event::Requested));
    let answer = Answer::default();
    assert_eq!(active.reject(b"", &answer), Err(CallError::DraftKey));
    assert_eq!(active.accept(b"data", &answer), Err(CallError::DraftKey));
    active.accept(b"", &answer).unwrap();
    // One octet behind the second key is as early as one behind a Reply.
    let mut passive = Initiator::new(settings(false, true), None, b"", 0, 0).unwrap();
    passive.sent(16);
    let early = [active.output(), b"x"].concat();
    assert_eq!(refuses(&passive, &early, "early").cause, Cause::EarlyOctets);
}

// req: MPA-START-30
#[test]
fn both_ends_time_out() {
    let mut passive = Initiator::new(settings(false, true), None, b"", 0, 0).unwrap();
    let mut active = Responder::new(settings(false, true), 0);
    let timeout = 10_000;
    for (event, kind) in [
        (passive.poll(10_000), Kind::Reply),
        (active.poll(10_000), Kind::Request),
    ] {
        assert_eq!(failure(event).cause, Cause::TimedOut { kind, timeout });
    }
    assert_eq!(passive.peer(), None, "our own key is not the peer's");
}

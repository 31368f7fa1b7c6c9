//! Calls that a machine does not carry out leave it as it was.

use crate::negotiation::enhanced;
use crate::{R1, R2, vector, waiting_initiator, written};
use warpline_wire::start::{
    Answer, CallError, Depth, Enhanced, Event, Frame, Initiator, Kind, Negotiation, Responder, Rtr,
    Settings, StartError,
};

// req: MPA-START-20
#[test]
fn mpa_does_not_start_over_unread_streaming_octets() {
    let settings = Settings::default();
    for octets in [1, 100_000] {
        let unread = CallError::Unread { octets };
        let initiator = Initiator::new(settings, None, b"", octets, 0);
        assert_eq!(initiator.err(), Some(unread));
        let responder = Responder::after_message(settings, b"last", octets, 0);
        assert_eq!(responder.err(), Some(unread));
    }
    assert!(Initiator::new(settings, None, b"", 0, 0).is_ok());
    assert!(Responder::after_message(settings, b"last", 0, 0).is_ok());
}

// req: MPA-START-21
#[test]
fn the_last_streaming_message_has_a_limit() {
    let settings = Settings::default();
    assert!(Responder::after_message(settings, &[1; 532], 0, 0).is_ok());
    let long = Responder::after_message(settings, &[1; 533], 0, 0);
    let (len, max) = (533, 532);
    assert_eq!(long.err(), Some(CallError::LastMessage { len, max }));
}

// req: MPA-PRIV-07, MPA-PRIV-11
#[test]
fn too_much_private_data_is_not_sent() {
    let settings = Settings::default();
    let too_long = Some(CallError::Frame(StartError::PrivateData { len: 513 }));
    assert_eq!(
        Initiator::new(settings, None, &[0; 513], 0, 0).err(),
        too_long
    );
    let block = Some(enhanced(0, 0, None));
    assert!(Initiator::new(settings, block, &[0; 508], 0, 0).is_ok());
    assert_eq!(
        Initiator::new(settings, block, &[0; 509], 0, 0).err(),
        too_long
    );

    let mut machine = Responder::new(settings, 0);
    machine.input(&vector(R1));
    let answer = Answer::default();
    assert_eq!(machine.accept(&[0; 513], &answer).err(), too_long);
    assert_eq!(machine.reject(&[0; 513], &answer).err(), too_long);
    // The decision is still open, and the Request still there.
    assert_eq!(machine.poll(0), Some(Event::Requested));
    assert!(machine.peer().is_some());
    assert_eq!(machine.output(), b"");
    machine.accept(b"hello", &answer).unwrap();
    assert_eq!(machine.output(), vector(R2));
}

#[test]
fn depths_and_rtr_indications_are_checked() {
    let settings = Settings {
        max_ird: 8,
        ..Settings::default()
    };
    let new = |enhanced| Initiator::new(settings, Some(enhanced), b"", 0, 0).err();
    let depth = |depth, max| Some(CallError::Depth { depth, max });
    assert_eq!(new(enhanced(8, 0x3FFE, None)), None);
    assert_eq!(new(enhanced(9, 0, None)), depth(9, 8));
    assert_eq!(new(enhanced(0, 0x3FFF, None)), depth(0x3FFF, 0x3FFE));
    let ulp = Enhanced {
        ird: Depth::Ulp(9),
        ..enhanced(0, 0, None)
    };
    assert_eq!(new(ulp), depth(9, 8));
    assert_eq!(
        new(enhanced(0, 0, Some(Rtr::empty()))),
        Some(CallError::NoRtr)
    );
    let disabled = Settings {
        enhanced: false,
        ..settings
    };
    let machine = Initiator::new(disabled, Some(enhanced(0, 0, None)), b"", 0, 0);
    assert_eq!(machine.err(), Some(CallError::NotEnabled));

    let request = Frame {
        revision: 2,
        negotiation: Some(Negotiation::default()),
        ..crate::plain(Kind::Request)
    };
    let mut machine = Responder::new(settings, 0);
    machine.input(&written(&request));
    let answer = |ird, ord, rtr| Answer { ird, ord, rtr };
    for (wrong, error) in [
        (answer(9, 0, Rtr::WRITE), depth(9, 8)),
        (answer(0, 0x3FFF, Rtr::WRITE), depth(0x3FFF, 0x3FFE)),
        (answer(0, 0, Rtr::empty()), Some(CallError::NoRtr)),
    ] {
        assert_eq!(machine.accept(b"", &wrong).err(), error);
        assert_eq!(machine.reject(b"", &wrong).err(), error);
    }
    machine.accept(b"", &answer(8, 0x3FFE, Rtr::SEND)).unwrap();
}

#[test]
fn decisions_count_once_and_only_when_they_are_due() {
    let answer = Answer::default();
    let mut machine = Responder::new(Settings::default(), 0);
    assert_eq!(machine.accept(b"", &answer), Err(CallError::NotDue));
    assert_eq!(machine.reject(b"", &answer), Err(CallError::NotDue));
    machine.input(&vector(R1));
    // Decided before the event was read: the event is void.
    machine.accept(b"hello", &answer).unwrap();
    assert_eq!(machine.poll(0), None);
    assert_eq!(machine.accept(b"", &answer), Err(CallError::NotDue));
    assert_eq!(machine.reject(b"", &answer), Err(CallError::NotDue));
    assert_eq!(machine.output(), vector(R2));

    let mut machine = waiting_initiator(Settings::default());
    assert_eq!(machine.proceed(), Err(CallError::NotDue));
    assert_eq!(machine.refuse(), Err(CallError::NotDue));
    assert_eq!(machine.abandon(), Err(CallError::NotDue));
    machine.input(&vector(R2));
    machine.proceed().unwrap();
    assert_eq!(machine.poll(0), None);
    assert_eq!(machine.proceed(), Err(CallError::NotDue));
    assert_eq!(machine.abandon(), Err(CallError::NotDue));
    assert_eq!(machine.poll(0), None);
}

#[test]
fn a_machine_is_little_more_than_the_longest_frame() {
    for octets in [size_of::<Initiator>(), size_of::<Responder>()] {
        assert!(octets <= 532 + 300, "{octets}");
    }
}

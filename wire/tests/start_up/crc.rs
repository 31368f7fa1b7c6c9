//! Who decides about CRCs: the administrator and the card, never the ULP.

use crate::{plain, waiting_initiator, written};
use warpline_wire::start::{
    Answer, Event, Frame, Initiator, Kind, Responder, Settings, field, flag,
};

fn settings(crc_off: bool, force_crc: bool) -> Settings {
    Settings {
        crc_off,
        force_crc,
        ..Settings::default()
    }
}

// req: MPA-CRC-02, MPA-CRC-03, MPA-CRC-04, MPA-START-15
#[test]
fn only_the_administrator_asks_for_no_crc_and_the_card_may_disregard_it() {
    assert_eq!(Settings::default(), settings(false, false));
    for (crc_off, force_crc, requested) in [
        (false, false, true),
        (false, true, true),
        (true, false, false),
        (true, true, true),
    ] {
        let settings = settings(crc_off, force_crc);
        let machine = Initiator::new(settings, None, b"", 0, 0).unwrap();
        let sent = machine.output()[field::FLAGS] & flag::CRC != 0;
        assert_eq!(sent, requested, "{settings:?}");

        let mut machine = Responder::new(settings, 0);
        let request = Frame {
            crc: false,
            ..plain(Kind::Request)
        };
        machine.input(&written(&request));
        let parameters = machine.accept(b"", &Answer::default()).unwrap();
        let sent = machine.output()[field::FLAGS] & flag::CRC != 0;
        assert_eq!((sent, parameters.crc), (requested, requested));
    }
}

// req: MPA-CRC-07, MPA-CRC-08, MPA-START-15
#[test]
fn either_c_switches_crcs_on_at_both_ends() {
    for (ours, peers) in [(false, false), (false, true), (true, false), (true, true)] {
        let settings = settings(!ours, false);
        let mut machine = Responder::new(settings, 0);
        let request = Frame {
            crc: peers,
            ..plain(Kind::Request)
        };
        machine.input(&written(&request));
        let parameters = machine.accept(b"", &Answer::default()).unwrap();
        assert_eq!(parameters.crc, ours || peers);
        // A requested CRC is confirmed: some Initiators go by the Reply alone.
        let confirmed = machine.output()[field::FLAGS] & flag::CRC != 0;
        assert_eq!(confirmed, ours || peers);

        let mut machine = waiting_initiator(settings);
        let reply = Frame {
            crc: peers,
            ..plain(Kind::Reply)
        };
        machine.input(&written(&reply));
        assert_eq!(machine.poll(0), Some(Event::Replied));
        assert_eq!(machine.proceed().unwrap().crc, ours || peers);
    }
}

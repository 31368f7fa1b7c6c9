//! The IRD/ORD block: the rules of RFC 6581 §9, over all flags and the depths around each limit.

use crate::{failure, plain, written};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::{
    Answer, Cause, Closing, Depth, Enhanced, Event, Frame, Initiator, Kind, NO_NEGOTIATION,
    Negotiation, Parameters, Responder, Rtr, Settings, StartError, TERMINATE_LAYER, TERMINATE_TYPE,
};

/// The card of these tests.
const MAX_IRD: u16 = 6;
const DEPTHS: [u16; 6] = [0, 1, 4, 6, 7, NO_NEGOTIATION];

pub fn enhanced(ird: u16, ord: u16, rtr: Option<Rtr>) -> Enhanced {
    Enhanced {
        ird: Depth::Negotiated(ird),
        ord: Depth::Negotiated(ord),
        rtr,
    }
}

fn settings() -> Settings {
    Settings {
        max_ird: MAX_IRD,
        ..Settings::default()
    }
}

fn sets() -> impl Iterator<Item = Rtr> + Clone {
    (0..8).map(Rtr::from_bits_truncate)
}

fn block(peer_to_peer: bool, rtr: Rtr, ird: u16, ord: u16) -> Negotiation {
    Negotiation {
        peer_to_peer,
        rtr_send: rtr.contains(Rtr::SEND),
        rtr_write: rtr.contains(Rtr::WRITE),
        rtr_read: rtr.contains(Rtr::READ),
        ird,
        ord,
    }
}

fn flags(block: &Negotiation) -> Rtr {
    let mut set = Rtr::empty();
    set.set(Rtr::SEND, block.rtr_send);
    set.set(Rtr::WRITE, block.rtr_write);
    set.set(Rtr::READ, block.rtr_read);
    set
}

fn frame(kind: Kind, block: Negotiation) -> Frame<'static> {
    Frame {
        revision: 2,
        negotiation: Some(block),
        ..plain(kind)
    }
}

/// The block of the Reply to this Request, and the Responder's parameters if it accepts.
fn reply_to(
    request: Negotiation,
    answer: &Answer,
    rejects: bool,
) -> (Negotiation, Option<Parameters>) {
    let mut machine = Responder::new(settings(), 0);
    machine.input(&written(&frame(Kind::Request, request)));
    assert_eq!(machine.poll(0), Some(Event::Requested));
    let parameters = if rejects {
        machine.reject(b"why", answer).unwrap();
        None
    } else {
        Some(machine.accept(b"why", answer).unwrap())
    };
    let Ok(warpline_wire::start::Progress::Complete { frame, .. }) =
        Frame::parse(machine.output(), Kind::Reply)
    else {
        panic!("{:02x?}", machine.output());
    };
    assert_eq!((frame.revision, frame.rejected), (2, rejects));
    assert_eq!(frame.private_data, b"why");
    (frame.negotiation.unwrap(), parameters)
}

#[test]
fn the_responders_depths_follow_the_initiators() {
    for (ird, ord) in DEPTHS.iter().flat_map(|a| DEPTHS.map(|b| (*a, b))) {
        for (own_ird, own_ord) in [(0, 0), (2, 3), (6, 9)] {
            let answer = Answer {
                ird: own_ird,
                ord: own_ord,
                rtr: Rtr::WRITE,
            };
            let request = block(false, Rtr::empty(), ird, ord);
            let (reply, parameters) = reply_to(request, &answer, false);
            let agreement = parameters.unwrap().agreement.unwrap();
            assert_eq!(agreement.peer, request, "the ULP sees what was sent");
            // 0x3FFF is answered by 0x3FFF, and the local value stays as it is.
            if ird == NO_NEGOTIATION {
                assert_eq!((reply.ord, agreement.ord), (NO_NEGOTIATION, own_ord));
            } else {
                assert!(reply.ord <= ird, "MUST be at most the Initiator's IRD");
                assert_eq!(reply.ord, if own_ord < ird { own_ord } else { ird });
                assert_eq!(agreement.ord, reply.ord);
            }
            assert_eq!(agreement.ird, own_ird);
            let expected = if ord == NO_NEGOTIATION {
                NO_NEGOTIATION
            } else {
                own_ird
            };
            assert_eq!(reply.ird, expected);
        }
    }
}

#[test]
fn the_responders_flags_follow_the_initiators() {
    for peer_to_peer in [false, true] {
        for (requested, own) in sets().flat_map(|a| sets().map(move |b| (a, b))) {
            if own.is_empty() {
                continue; // is no answer
            }
            let answer = Answer {
                ird: 0,
                ord: 0,
                rtr: own,
            };
            let request = block(peer_to_peer, requested, 4, 0);
            let (reply, parameters) = reply_to(request, &answer, false);
            let agreement = parameters.unwrap().agreement.unwrap();
            assert_eq!(reply.peer_to_peer, peer_to_peer);
            assert_eq!(agreement.rtr, flags(&reply));
            if !peer_to_peer {
                assert_eq!(
                    flags(&reply),
                    Rtr::empty(),
                    "B, C, D are ignored and sent as 0"
                );
                continue;
            }
            assert!(!flags(&reply).is_empty(), "MUST set one at least");
            assert!(own.contains(flags(&reply)), "only what we recognise");
            let common = own & requested;
            if !common.is_empty() {
                assert_eq!(flags(&reply), common);
            }
            // A zero-length RDMA Read needs a place, even if our ULP has none to offer.
            assert_eq!(reply.ird, u16::from(reply.rtr_read));
            assert_eq!(agreement.ird, reply.ird);
        }
    }
}

#[test]
fn a_rejection_names_what_would_do() {
    let answer = Answer {
        ird: 2,
        ord: 5,
        rtr: Rtr::READ | Rtr::SEND,
    };
    let request = block(true, Rtr::WRITE, 1, 4);
    let (reply, _) = reply_to(request, &answer, true);
    assert_eq!(reply, block(true, Rtr::READ | Rtr::SEND, 2, 5));
    let request = block(false, Rtr::WRITE, 1, 4);
    let (reply, _) = reply_to(request, &answer, true);
    assert_eq!(reply, block(false, Rtr::empty(), 2, 5));
}

/// What an Initiator makes of this block of a Reply.
fn outcome(asked: Enhanced, reply: Negotiation) -> Result<Parameters, (Cause, Closing)> {
    let mut machine = Initiator::new(settings(), Some(asked), b"", 0, 0).unwrap();
    machine.sent(24);
    let reply = frame(Kind::Reply, reply);
    machine.input(&written(&reply));
    let event = machine.poll(0);
    assert_eq!(machine.peer(), Some(reply), "the ULP sees what was sent");
    match event {
        Some(Event::Replied) => Ok(machine.proceed().unwrap()),
        event => {
            let failure = failure(event);
            assert!(machine.proceed().is_err() && machine.is_over());
            Err((failure.cause, failure.closing))
        }
    }
}

/// The Terminate of this code, framed as the two frames settled it.
fn terminates(closing: Closing, code: u8) {
    let Closing::AfterTerminate(terminate) = closing else {
        panic!("{closing:?}");
    };
    assert_eq!((TERMINATE_LAYER, TERMINATE_TYPE), (2, 0));
    assert_eq!(terminate.number.code(), code);
    assert!(terminate.parameters.crc && !terminate.parameters.send_markers);
    assert_eq!(terminate.parameters.sent, 24);
}

#[test]
fn the_initiators_depths_follow_the_responders() {
    let own = [(0, 0), (1, 3), (4, 4), (6, 9)];
    for (ird, ord) in DEPTHS.iter().flat_map(|a| DEPTHS.map(|b| (*a, b))) {
        for (own_ird, own_ord) in own {
            let reply = block(false, Rtr::empty(), ird, ord);
            let negotiated = enhanced(own_ird, own_ord, None);
            let by_the_ulp = Enhanced {
                ird: Depth::Ulp(own_ird),
                ord: Depth::Ulp(own_ord),
                rtr: None,
            };
            for asked in [negotiated, by_the_ulp] {
                let result = outcome(asked, reply);
                if ord != NO_NEGOTIATION && ord > MAX_IRD {
                    let (cause, closing) = result.unwrap_err();
                    let (needed, available) = (ord, MAX_IRD);
                    assert_eq!(cause, Cause::InsufficientIrd { needed, available });
                    terminates(closing, 6);
                    continue;
                }
                let agreement = result.unwrap().agreement.unwrap();
                if ird == NO_NEGOTIATION {
                    assert_eq!(agreement.ord, own_ord, "left unchanged");
                } else {
                    assert!(agreement.ord <= ird, "MUST be at most the Responder's IRD");
                    assert_eq!(agreement.ord, own_ord.min(ird));
                }
                if ord == NO_NEGOTIATION {
                    assert_eq!(agreement.ird, own_ird, "left unchanged");
                } else {
                    assert!(agreement.ird >= ord, "MUST be at least the Responder's ORD");
                    assert_eq!(agreement.ird, own_ird.max(ord));
                }
                assert_eq!(agreement.peer, reply);
            }
        }
    }
}

#[test]
fn the_block_that_the_ulps_settle_is_all_ones() {
    let asked = Enhanced {
        ird: Depth::Ulp(2),
        ord: Depth::Ulp(3),
        rtr: None,
    };
    let machine = Initiator::new(settings(), Some(asked), b"", 0, 0).unwrap();
    let all_ones = block(false, Rtr::empty(), 0x3FFF, 0x3FFF);
    assert_eq!(machine.output(), written(&frame(Kind::Request, all_ones)));
    let (reply, parameters) = reply_to(
        all_ones,
        &Answer {
            ird: 5,
            ord: 4,
            rtr: Rtr::SEND,
        },
        false,
    );
    assert_eq!(reply, all_ones);
    let agreement = parameters.unwrap().agreement.unwrap();
    assert_eq!((agreement.ird, agreement.ord), (5, 4));
    let agreement = outcome(asked, reply).unwrap().agreement.unwrap();
    assert_eq!((agreement.ird, agreement.ord), (2, 3));
}

#[test]
fn one_rtr_indication_is_chosen_or_the_connection_terminated() {
    for (own, offered) in sets().flat_map(|a| sets().map(move |b| (a, b))) {
        for (ird, own_ord) in [
            (0, 0),
            (0, 2),
            (1, 0),
            (NO_NEGOTIATION, 0),
            (NO_NEGOTIATION, 1),
        ] {
            if own.is_empty() {
                continue; // is no request
            }
            let reply = block(true, offered, ird, 0);
            let result = outcome(enhanced(0, own_ord, Some(own)), reply);
            // The Responder has room for a Read, or the ULPs see to it and we have one to send.
            let room = if ird == NO_NEGOTIATION {
                own_ord > 0
            } else {
                ird > 0
            };
            let mut usable = own & offered;
            usable.set(Rtr::READ, usable.contains(Rtr::READ) && room);
            if usable.is_empty() {
                let (cause, closing) = result.unwrap_err();
                assert_eq!(cause, Cause::NoRtr { own, peer: offered });
                terminates(closing, 7);
                continue;
            }
            let agreement = result.unwrap().agreement.unwrap();
            assert!(usable.contains(agreement.rtr), "{agreement:?}");
            assert_eq!(agreement.rtr.bits().count_ones(), 1);
            if agreement.rtr == Rtr::READ {
                assert!(agreement.ord > 0, "{agreement:?}");
            }
            if usable.contains(Rtr::WRITE) {
                assert_eq!(agreement.rtr, Rtr::WRITE);
            }
        }
    }
}

#[test]
fn two_connection_models_do_not_match() {
    let own = Rtr::WRITE;
    let (cause, closing) = outcome(enhanced(0, 0, Some(own)), block(false, own, 0, 0)).unwrap_err();
    let peer = Rtr::empty();
    assert_eq!(
        cause,
        Cause::NoRtr { own, peer },
        "B, C, D are ignored without A"
    );
    terminates(closing, 7);
    let (cause, closing) = outcome(enhanced(0, 0, None), block(true, own, 0, 0)).unwrap_err();
    assert_eq!(
        cause,
        Cause::NoRtr {
            own: peer,
            peer: own
        }
    );
    terminates(closing, 7);
}

#[test]
fn the_reply_is_enhanced_exactly_if_the_request_is() {
    let mut machine = Initiator::new(settings(), Some(enhanced(0, 0, None)), b"", 0, 0).unwrap();
    machine.sent(24);
    for revision in [1, 2] {
        let reply = Frame {
            revision,
            ..plain(Kind::Reply)
        };
        let failure = crate::refuses(&machine, &written(&reply), "no block");
        assert_eq!(failure.cause, Cause::NotEnhanced { revision });
    }
    let machine = crate::waiting_initiator(settings());
    let reply = frame(Kind::Reply, Negotiation::default());
    let failure = crate::refuses(&machine, &written(&reply), "a block");
    assert_eq!(failure.cause, Cause::Unrequested);
}

#[test]
fn a_block_that_is_cut_short_is_malformed() {
    for len in 0..4 {
        let mut request = written(&frame(Kind::Request, Negotiation::default()));
        request[19] = len;
        let failure = crate::refuses(&Responder::new(settings(), 0), &request, "cut short");
        let len = len.into();
        assert_eq!(failure.cause, Cause::Frame(StartError::Negotiation { len }));
    }
}

#[test]
fn an_initiator_without_means_terminates_with_code_5() {
    let mut machine = Initiator::new(settings(), Some(enhanced(0, 0, None)), b"", 0, 0).unwrap();
    machine.sent(24);
    machine.input(&written(&frame(Kind::Reply, Negotiation::default())));
    assert_eq!(machine.poll(0), Some(Event::Replied));
    machine.abandon().unwrap();
    let failure = failure(machine.poll(0));
    assert_eq!(failure.cause.number(), ErrorNumber::MpaLocalCatastrophic);
    terminates(failure.closing, 5);
    assert!(machine.proceed().is_err());
}

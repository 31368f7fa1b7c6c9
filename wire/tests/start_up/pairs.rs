//! Both machines against each other over TCP that cuts and delays as it likes.

use proptest::collection::vec;
use proptest::prelude::*;
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::{
    Answer, Closing, Depth, Enhanced, Event, Failure, Initiator, Parameters, Responder, Rtr,
    Settings,
};

const FPDUS: &[u8] = b"octets of full operation";
const STREAMING: &[u8] = b"streaming octets of a rejecting ULP";

/// What the ULPs and administrators of both ends want.
#[derive(Clone, Debug)]
struct Plan {
    initiator: Settings,
    responder: Settings,
    enhanced: Option<Enhanced>,
    answer: Answer,
    last_message: Vec<u8>,
    request_data: Vec<u8>,
    reply_data: Vec<u8>,
    rejects: bool,
    refuses: bool,
}

/// How the exchange ended.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outcome {
    initiator: Option<Parameters>,
    responder: Option<Parameters>,
    rejected: bool,
    failures: Vec<Failure>,
    request_data: Vec<u8>,
    reply_data: Vec<u8>,
    /// Octets that no machine took, from the Initiator's side and from the Responder's.
    left: [Vec<u8>; 2],
}

/// One direction of the TCP connection.
#[derive(Default)]
struct Wire(Vec<u8>);

impl Wire {
    /// TCP takes up to `most` octets of what an end has to send.
    fn accept(&mut self, octets: &[u8], most: usize) -> usize {
        let taken = octets.len().min(most);
        self.0.extend_from_slice(&octets[..taken]);
        taken
    }
}

/// Runs the exchange. Each step moves that many octets in one direction; the ULPs decide `patience`
/// steps after they were asked. When the steps are used up, everything moves at once.
fn run(plan: &Plan, steps: &[(bool, usize)], patience: usize) -> Outcome {
    let data = &plan.request_data;
    let mut initiator = Initiator::new(plan.initiator, plan.enhanced, data, 0, 0).unwrap();
    let message = &plan.last_message;
    let mut responder = Responder::after_message(plan.responder, message, 0, 0).unwrap();
    let (mut forward, mut back) = (Wire::default(), Wire::default());
    let mut outcome = Outcome::default();
    let mut asked = [None; 2];
    let mut streaming = message.len(); // octets that the Initiator's ULP reads before MPA starts
    let all = (0..200).map(|step| (step % 2 == 0, 2000));
    for (step, (to_responder, most)) in steps.iter().copied().chain(all).enumerate() {
        if to_responder && streaming == 0 {
            let sent = forward.accept(initiator.output(), most);
            initiator.sent(sent);
            let taken = responder.input(&forward.0[..forward.0.len().min(most)]);
            forward.0.drain(..taken);
        } else if !to_responder {
            let sent = back.accept(responder.output(), most);
            responder.sent(sent);
            if outcome.rejected_by(plan, &responder) && sent > 0 {
                back.0.extend_from_slice(STREAMING);
            }
            let arrived = back.0.len().min(most);
            if streaming > 0 {
                let read = arrived.min(streaming);
                back.0.drain(..read);
                streaming -= read;
            } else {
                let taken = initiator.input(&back.0[..arrived]);
                back.0.drain(..taken);
            }
        }
        for event in [initiator.poll(0), responder.poll(0)] {
            match event {
                Some(Event::Requested) => asked[0] = Some(step),
                Some(Event::Replied) => asked[1] = Some(step),
                Some(Event::Rejected) => {
                    outcome.rejected = true;
                    outcome.reply_data = initiator.peer().unwrap().private_data.to_vec();
                }
                Some(Event::Failed(failure)) => outcome.failures.push(failure),
                None => {}
            }
        }
        let due = |asked: Option<usize>| asked.is_some_and(|since| step >= since + patience);
        if due(asked[0]) {
            asked[0] = None;
            outcome.request_data = responder.peer().unwrap().private_data.to_vec();
            let data = &plan.reply_data;
            if plan.rejects {
                responder.reject(data, &plan.answer).unwrap();
            } else {
                outcome.responder = Some(responder.accept(data, &plan.answer).unwrap());
            }
        }
        if due(asked[1]) {
            asked[1] = None;
            outcome.reply_data = initiator.peer().unwrap().private_data.to_vec();
            if plan.refuses {
                initiator.refuse().unwrap();
            } else {
                outcome.initiator = Some(initiator.proceed().unwrap());
                forward.0.extend_from_slice(FPDUS);
            }
        }
    }
    assert!(initiator.is_over() && responder.is_over());
    outcome.left = [forward.0, back.0];
    outcome
}

impl Outcome {
    /// The Responder has sent all of a rejecting Reply.
    fn rejected_by(&self, plan: &Plan, responder: &Responder) -> bool {
        plan.rejects && responder.is_over()
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    (any::<[bool; 3]>(), 8..20u16).prop_map(|([markers, crc_off, force_crc], max_ird)| Settings {
        markers,
        crc_off,
        force_crc,
        max_ird,
        ..Settings::default()
    })
}

fn enhanced() -> impl Strategy<Value = Enhanced> {
    let depth = || {
        (any::<bool>(), 0..8u16).prop_map(|(ulp, depth)| {
            if ulp {
                Depth::Ulp(depth)
            } else {
                Depth::Negotiated(depth)
            }
        })
    };
    let rtr = prop::option::of((1..8u8).prop_map(Rtr::from_bits_truncate));
    (depth(), depth(), rtr).prop_map(|(ird, ord, rtr)| Enhanced { ird, ord, rtr })
}

fn plan() -> impl Strategy<Value = Plan> {
    let answer = (0..8u16, 0..12u16, 1..8u8).prop_map(|(ird, ord, rtr)| Answer {
        ird,
        ord,
        rtr: Rtr::from_bits_truncate(rtr),
    });
    let data = || prop_oneof![vec(any::<u8>(), 0..=40), vec(any::<u8>(), 500..=508)];
    (
        (settings(), settings()),
        prop::option::of(enhanced()),
        answer,
        (
            prop_oneof![Just(vec![]), vec(any::<u8>(), 1..532)],
            data(),
            data(),
        ),
        (prop::bool::weighted(0.2), prop::bool::weighted(0.2)),
    )
        .prop_map(|(settings, enhanced, answer, data, decisions)| Plan {
            initiator: settings.0,
            responder: settings.1,
            enhanced,
            answer,
            last_message: data.0,
            request_data: data.1,
            reply_data: data.2,
            rejects: decisions.0,
            refuses: decisions.1,
        })
}

/// What must hold between two ends in full operation.
fn agree(initiator: &Parameters, responder: &Parameters, plan: &Plan) {
    assert_eq!(initiator.send_markers, responder.receive_markers);
    assert_eq!(initiator.receive_markers, responder.send_markers);
    assert_eq!(initiator.receive_markers, plan.initiator.markers);
    assert_eq!(responder.receive_markers, plan.responder.markers);
    assert_eq!(initiator.crc, responder.crc);
    let requested = [plan.initiator, plan.responder].map(|settings| settings.requests_crc());
    assert_eq!(initiator.crc, requested.contains(&true));
    assert_eq!(initiator.revision, responder.revision);
    assert_eq!(
        initiator.revision,
        if plan.enhanced.is_some() { 2 } else { 1 }
    );
    assert_eq!(initiator.sent, responder.received);
    assert_eq!(
        initiator.received + plan.last_message.len() as u16,
        responder.sent
    );
    assert!(initiator.gate().is_open() && !responder.gate().is_open());
    let Some(enhanced) = plan.enhanced else {
        assert_eq!((initiator.agreement, responder.agreement), (None, None));
        return;
    };
    let (ours, theirs) = (initiator.agreement.unwrap(), responder.agreement.unwrap());
    // RFC 6581 §9.1: neither end sends more RDMA Reads than the other one takes in.
    if let Depth::Negotiated(_) = enhanced.ord {
        assert!(ours.ord <= theirs.ird, "{ours:?} {theirs:?}");
    }
    if let Depth::Negotiated(_) = enhanced.ird {
        assert!(theirs.ord <= ours.ird, "{ours:?} {theirs:?}");
    }
    assert_eq!(ours.rtr.is_empty(), enhanced.rtr.is_none());
    assert!(theirs.rtr.contains(ours.rtr));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    // req: MPA-START-01, MPA-START-22, MPA-START-26, MPA-START-27, MPA-START-28, MPA-PRIV-09
    // req: MPA-CRC-10, AMB-16, AMB-28, AMB-30
    #[test]
    fn the_outcome_does_not_depend_on_how_tcp_cuts_and_delays(
        plan in plan(),
        steps in vec((any::<bool>(), prop_oneof![0..4usize, 0..700usize]), 0..60),
        patience in 0..10usize,
    ) {
        let outcome = run(&plan, &steps, patience);
        prop_assert_eq!(&outcome, &run(&plan, &[], 0));

        prop_assert_eq!(&outcome.request_data, &plan.request_data);
        let rtr = plan.enhanced.and_then(|enhanced| enhanced.rtr);
        let [forward, back] = &outcome.left;
        if plan.rejects {
            prop_assert!(outcome.rejected && outcome.failures.is_empty());
            prop_assert_eq!(&outcome.reply_data, &plan.reply_data);
            prop_assert_eq!((&forward[..], &back[..]), (&b""[..], STREAMING));
            prop_assert_eq!((outcome.initiator, outcome.responder), (None, None));
        } else if let Some(failure) = outcome.failures.first() {
            // The two ends have no RTR indication in common, or no room for the one that they have.
            let common = rtr.unwrap() & plan.answer.rtr;
            prop_assert!(common.is_empty() || common == Rtr::READ);
            prop_assert_eq!(failure.cause.number(), ErrorNumber::MpaNoMatchingRtr);
            prop_assert!(matches!(failure.closing, Closing::AfterTerminate(_)));
            prop_assert_eq!(outcome.failures.len(), 1);
        } else {
            prop_assert_eq!(&outcome.reply_data, &plan.reply_data);
            let responder = outcome.responder.unwrap();
            prop_assert_eq!(outcome.initiator.is_none(), plan.refuses);
            prop_assert!(back.is_empty());
            match outcome.initiator {
                // None is lost: what the caller still has begins at position 0.
                Some(initiator) => {
                    prop_assert_eq!(&forward[..], FPDUS);
                    agree(&initiator, &responder, &plan);
                }
                None => prop_assert!(forward.is_empty()),
            }
        }
    }
}

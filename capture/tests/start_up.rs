//! Recorded start frames of Linux siw through the start-up machines: each machine takes the place of one
//! end, and writes the frame that siw wrote.

mod common;

use common::{CAPTURES, open};
use warpline_capture::{Connection, Side};
use warpline_wire::start::{
    Answer, Cause, Depth, Enhanced, Event, Initiator, Responder, Rtr, Settings,
};

/// The settings of a siw with or without CRC, whose private maximum of inbound RDMA Reads is 128.
fn settings(crc: bool) -> Settings {
    Settings {
        crc_off: !crc,
        max_ird: 128,
        ..Settings::default()
    }
}

/// All octets that a side sent, and those of its start frame.
fn sent(connection: &Connection, side: Side) -> (Vec<u8>, usize) {
    let octets = connection.sent_by(side).stream().octets;
    let behind = connection.flow(side).unwrap().octets().unwrap();
    let frame = octets.len() - behind.len();
    (octets, frame)
}

// req: MPA-START-01, MPA-START-14, MPA-START-15, MPA-CRC-10, AMB-16
#[test]
fn the_initiator_in_the_place_of_siw_sends_its_request_and_takes_the_recorded_reply() {
    for name in CAPTURES {
        let capture = open(name);
        let connection = &capture.connections[0];
        let mpa = connection.mpa.as_ref().unwrap();
        let asked = mpa.request.negotiation.unwrap();
        let enhanced = Enhanced {
            ird: Depth::Negotiated(asked.ird),
            ord: Depth::Negotiated(asked.ord),
            rtr: asked.peer_to_peer.then(|| Rtr::of(&asked)),
        };
        let settings = settings(mpa.request.crc);
        let data = &mpa.request.private_data;
        let mut machine = Initiator::new(settings, Some(enhanced), data, 0, 0).unwrap();
        let (request, request_len) = sent(connection, Side::Client);
        assert_eq!(machine.output(), &request[..request_len], "{name}");
        machine.sent(request_len);

        let (reply, reply_len) = sent(connection, Side::Server);
        let mut early = machine.clone();
        assert_eq!(machine.input(&reply[..reply_len]), reply_len);
        assert_eq!(machine.poll(0), Some(Event::Replied), "{name}");
        let frame = machine.peer().unwrap();
        assert_eq!(frame.private_data, mpa.reply.private_data);
        let parameters = machine.proceed().unwrap();
        assert_eq!((parameters.revision, parameters.crc), (2, mpa.crc()));
        assert!(!parameters.send_markers && !parameters.receive_markers);
        let lengths = (
            usize::from(parameters.sent),
            usize::from(parameters.received),
        );
        assert_eq!(lengths, (request_len, reply_len));
        let agreement = parameters.agreement.unwrap();
        let answered = mpa.reply.negotiation.unwrap();
        assert_eq!(agreement.peer, answered);
        let depths = (asked.ird.max(answered.ord), asked.ord.min(answered.ird));
        assert_eq!((agreement.ird, agreement.ord), depths, "{name}");

        // The Reply in one piece with what siw sent later: as if it had not waited for our first FPDU.
        early.input(&reply);
        let failed = match early.poll(0) {
            Some(Event::Failed(failure)) => Some(failure.cause),
            _ => None,
        };
        let more = reply.len() > reply_len;
        assert_eq!(failed, more.then_some(Cause::EarlyOctets), "{name}");
    }
}

// req: MPA-START-01, MPA-START-26, MPA-START-36, AMB-16, AMB-28
#[test]
fn the_responder_in_the_place_of_siw_takes_the_recorded_request_and_sends_its_reply() {
    for name in CAPTURES {
        let capture = open(name);
        let connection = &capture.connections[0];
        let mpa = connection.mpa.as_ref().unwrap();
        let (request, request_len) = sent(connection, Side::Client);
        let (reply, reply_len) = sent(connection, Side::Server);

        let mut machine = Responder::new(settings(mpa.reply.crc), 0);
        for octet in request[..request_len].chunks(1) {
            assert_eq!(machine.input(octet), 1);
        }
        assert_eq!(machine.poll(0), Some(Event::Requested), "{name}");
        let frame = machine.peer().unwrap();
        assert_eq!(frame.private_data, mpa.request.private_data);
        assert_eq!(frame.negotiation, mpa.request.negotiation);
        let answered = mpa.reply.negotiation.unwrap();
        let answer = Answer {
            ird: answered.ird,
            ord: answered.ord,
            rtr: match Rtr::of(&answered) {
                rtr if rtr.is_empty() => Rtr::WRITE | Rtr::READ,
                rtr => rtr,
            },
        };
        let parameters = machine.accept(&mpa.reply.private_data, &answer).unwrap();
        assert_eq!(machine.output(), &reply[..reply_len], "{name}");
        machine.sent(reply_len);
        let lengths = (
            usize::from(parameters.sent),
            usize::from(parameters.received),
        );
        assert_eq!(lengths, (reply_len, request_len));
        assert_eq!(parameters.crc, mpa.crc());

        // What follows is left alone, from position 0 on.
        assert_eq!(machine.input(&request[request_len..]), 0);
        assert_eq!(machine.poll(u64::MAX), None);
        let flow = connection.flow(Side::Client).unwrap();
        let start = connection
            .client
            .start_seq()
            .wrapping_add(parameters.received.into());
        assert_eq!(flow.seq_start, start);
    }
}

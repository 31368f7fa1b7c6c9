//! What a segment has to meet before it is sent, and what becomes of requests that are not.

use warpline_hdl::tx::ddp::segment::command::TransmitCommand;
use warpline_hdl::tx::ddp::segment::scheduler::QUANTUM;
use warpline_regmap::transmit::{
    Element, Flags, Gather, Payload, SendRequest, Target, send_element, send_slot, status,
};
use warpline_testbenches::stimulus::Pace;
use warpline_wire::mpa;

use crate::bench::{Bench, Paces};
use crate::model::{Event, Posted, RING};
use crate::requests::{arming, request};

/// A bench with a stream that is armed with this EMSS, without markers.
fn armed(seed: u64, stream: u8, emss: u16) -> Bench<4> {
    let mut bench = Bench::new(seed, Paces::ALWAYS);
    arm(&mut bench, stream, emss, false);
    bench
}

fn arm(bench: &mut Bench<4>, stream: u8, emss: u16, gate: bool) {
    let mut arguments = arming(&mut bench.rng, stream, emss);
    (arguments.markers, arguments.gate) = (false, gate);
    bench.carry_out(TransmitCommand::Arm, arguments);
}

/// A tagged request of these elements.
fn of_elements(lengths: &[u32], flags: Flags) -> SendRequest {
    let elements = lengths.iter().enumerate().map(|(index, length)| Element {
        stag: 0x0100 * (index as u32 + 1),
        length: *length,
        offset: 0x1_0000_0000 * index as u64 + 0xFFFF_FF00,
    });
    let elements: Vec<Element> = elements.collect();
    let target = Target::Tagged {
        stag: 0x4711,
        offset: 0xFFFF_FFFF_0000,
        rsvd_ulp: 0x40,
    };
    let payload = Payload::Gather(Gather::new(&elements).unwrap());
    SendRequest::new(target, flags, 0x1234_5678_9ABC_DEF0, payload).unwrap()
}

fn statuses<const S: usize>(bench: &Bench<S>) -> Vec<u32> {
    bench.seen.iter().map(|seen| seen.status).collect()
}

#[test]
fn nothing_is_sent_beyond_the_ring() {
    let mut bench = armed(1, 2, 1460);
    bench
        .stream(2)
        .post(&of_elements(&[20_000], Flags::default()));
    bench.wait(400);
    let longest = mpa::fpdu_len(0, usize::from(bench.streams[2].mulpdu), false) as u32;
    let fit = (RING / longest) as usize;
    assert_eq!(bench.seen.len(), fit);
    // an octet less than needed does not help
    let needed = bench.streams[2].position + longest - RING;
    bench.events.push_back((2, Event::Freed(needed - 1)));
    bench.wait(200);
    assert_eq!(bench.seen.len(), fit);
    bench.events.push_back((2, Event::Freed(needed)));
    bench.wait(200);
    assert_eq!(bench.seen.len(), fit + 1);
    // another stream is not held up
    arm(&mut bench, 3, 1460, false);
    bench.stream(3).post(&of_elements(&[100], Flags::default()));
    bench.wait(100);
    assert_eq!(bench.seen.len(), fit + 2);
}

/// Room that is freed at any cycle of a turn that finds none is not overlooked.
#[test]
fn room_that_comes_during_a_turn_counts() {
    let mut bench = armed(2, 0, 1460);
    for delay in 0..30 {
        let position = bench.streams[0].position;
        bench.events.push_back((0, Event::Freed(position)));
        bench.wait(1);
        bench
            .stream(0)
            .post(&of_elements(&[3 * 1446, 10], Flags::default()));
        bench.wait(80 + delay);
        let position = bench.streams[0].position;
        bench.events.push_back((0, Event::Freed(position)));
        bench.drain();
    }
}

// req: MPA-START-10, AMB-56
#[test]
fn nothing_is_sent_while_the_gate_is_closed() {
    let mut bench = Bench::new(3, Paces::ALWAYS);
    // a gate that opens before the stream is armed has no effect
    bench.events.push_back((1, Event::Open));
    bench.wait(3);
    bench.streams[1].is_open = false;
    arm(&mut bench, 1, 1460, true);
    bench.stream(1).post(&of_elements(&[100], Flags::default()));
    bench.wait(300);
    assert!(bench.seen.is_empty() && !bench.lockstep.block.is_open[1].val());
    bench.events.push_back((1, Event::Open));
    bench.drain();
    assert_eq!(statuses(&bench), [0]);
    assert!(bench.lockstep.block.is_open[1].val() && bench.lockstep.block.is_armed[1].val());
}

#[test]
fn a_fence_holds_its_request_until_the_others_are_settled() {
    let mut bench = armed(4, 0, 1460);
    let fence = Flags {
        fence: true,
        ..Flags::default()
    };
    bench.streams[0].under_way = 1;
    bench
        .stream(0)
        .post(&of_elements(&[4000], Flags::default()));
    bench.stream(0).post(&of_elements(&[2000], fence));
    bench.events.push_back((0, Event::Freed(0)));
    bench.wait(300);
    let position = bench.streams[0].position;
    bench.events.push_back((0, Event::Freed(position)));
    bench.wait(300);
    let before = bench.seen.len();
    assert_eq!(bench.streams[0].slots.len(), 1, "the second one is held");
    bench.streams[0].under_way = 0;
    bench.events.push_back((0, Event::Settled));
    // its second segment follows the first one, though that is under way
    bench.wait(20);
    bench.streams[0].under_way = 1;
    bench.drain();
    assert_eq!(bench.seen.len(), before + 2);
}

#[test]
fn a_frozen_stream_sends_its_last_message_only() {
    let mut bench = armed(5, 3, 1460);
    let flags = Flags {
        terminate: true,
        ..Flags::default()
    };
    bench
        .stream(3)
        .post(&of_elements(&[20_000], Flags::default()));
    bench.wait(400);
    bench.events.push_back((3, Event::Freeze));
    bench.wait(100);
    let sent = bench.seen.len();
    assert_eq!(statuses(&bench)[sent - 1], status::FLUSHED);
    assert!(!bench.seen[sent - 1].segment.first);
    let position = bench.streams[3].position;
    bench.events.push_back((3, Event::Freed(position)));
    bench.stream(3).post(&of_elements(&[30], Flags::default()));
    bench.stream(3).post(&of_elements(&[40], flags));
    bench.stream(3).post(&of_elements(&[50], Flags::default()));
    bench.drain();
    let behind = &statuses(&bench)[sent..];
    assert_eq!(behind, [status::FLUSHED, 0, status::FLUSHED]);
    assert!(bench.lockstep.block.is_ended[3].val());
}

#[test]
fn behind_a_failure_everything_is_flushed() {
    let mut bench = armed(6, 1, 1460);
    bench
        .stream(1)
        .post(&of_elements(&[20_000], Flags::default()));
    bench.stream(1).post(&of_elements(&[20], Flags::default()));
    bench.wait(200);
    bench.events.push_back((1, Event::Fail));
    bench.drain();
    let statuses = statuses(&bench);
    let sent = statuses.len() - 2;
    assert!(statuses[..sent].iter().all(|status| *status == 0));
    assert_eq!(statuses[sent..], [status::FLUSHED; 2]);
    assert!(!bench.seen[sent].segment.first && bench.seen[sent].segment.last);
    assert!(bench.seen[sent + 1].segment.first);
}

#[test]
fn a_closed_stream_flushes_without_room_or_gate() {
    let mut bench = armed(7, 0, 1460);
    bench
        .stream(0)
        .post(&of_elements(&[20_000], Flags::default()));
    arm(&mut bench, 1, 1460, true);
    bench.stream(1).post(&of_elements(&[200], Flags::default()));
    bench.wait(400);
    for stream in 0..2 {
        let arguments = arming(&mut bench.rng, stream, 1460);
        bench.carry_out(TransmitCommand::Close, arguments);
    }
    bench.drain();
    let count = bench.seen.len();
    assert_eq!(statuses(&bench)[count - 2..], [status::FLUSHED; 2]);
}

/// Elements that contradict `LENGTH` are found in the segment in which they are used; those in front of it are sent.
#[test]
fn wrong_elements_refuse_the_segment_that_uses_them() {
    // element, its length in the slot, octet at which it shows, segments in front
    let cases: [(usize, u32, u32, usize); 5] = [
        (0, 0, 0, 0),
        (1, 0, 600, 1),
        (1, 899, 1499, 2),
        (1, 901, 1500, 2),
        (1, u32::MAX, 1500, 2),
    ];
    for (element, length, wrong_at, in_front) in cases {
        let mut bench = armed(8, 2, 620);
        let request = of_elements(&[600, 900], Flags::default());
        let mut slot = request.emit();
        send_element::LENGTH.put(&mut slot[8 + 4 * element..], length.into());
        bench.stream(2).post_as(Posted {
            slot,
            request: Some(request),
            unread: false,
            wrong_at: Some(wrong_at),
        });
        bench.stream(2).post(&request);
        bench.drain();
        let mut due = vec![0; in_front];
        due.extend([status::MALFORMED, status::FLUSHED]);
        assert_eq!(
            statuses(&bench),
            due,
            "element {element} of {length} octets"
        );
    }
    // an element too many
    let mut bench = armed(9, 2, 620);
    let request = of_elements(&[600, 900], Flags::default());
    let mut slot = request.emit();
    send_slot::COUNT.put(&mut slot, 3);
    bench.stream(2).post_as(Posted {
        slot,
        request: Some(request),
        unread: false,
        wrong_at: Some(1500),
    });
    bench.drain();
    assert_eq!(statuses(&bench), [0, 0, status::MALFORMED]);
}

/// Messages of a queue have consecutive MSNs; those of other queues and streams do not count.
// req: DDP-UNT-10, DDP-UNT-12
#[test]
fn each_queue_has_its_own_msns() {
    let mut bench = Bench::<4>::new(10, Paces::ALWAYS);
    for stream in 0..2 {
        let mut arguments = arming(&mut bench.rng, stream, 500);
        arguments.first_msn = 0xFFFF_FFFE_u64.into();
        bench.carry_out(TransmitCommand::Arm, arguments);
    }
    for _ in 0..6 {
        for (stream, queue) in [(0, 0), (0, 255), (1, 0), (0, 0)] {
            let target = Target::Untagged {
                queue,
                rsvd_ulp: [1, 2, 3, 4, 5],
            };
            let payload = Payload::Gather(Gather::new(&[]).unwrap());
            let request = SendRequest::new(target, Flags::default(), 7, payload).unwrap();
            bench.stream(stream).post(&request);
        }
    }
    bench.drain();
    let msns = |stream: usize, queue: usize| bench.streams[stream].msns[queue];
    assert_eq!([msns(0, 0), msns(0, 255), msns(1, 0)], [10, 4, 4]);
}

/// Streams with long and with short FPDUs, whose peers acknowledge everything, until one has sent all. Positions of the streams.
pub fn share(bench: &mut Bench<4>) -> Result<Vec<u32>, String> {
    let lengths = [1400, 60, 700, 240];
    for (stream, length) in (0..).zip(lengths) {
        let mut arguments = arming(&mut bench.rng, stream, 1460);
        arguments.markers = false;
        bench.try_carry_out(TransmitCommand::Arm, arguments)?;
        for _ in 0..40_000 / length {
            bench
                .stream(stream)
                .post(&of_elements(&[length], Flags::default()));
        }
    }
    let mut until = vec![];
    while bench.streams.iter().all(|stream| stream.slots.len() > 1) {
        for stream in 0..4_u8 {
            let position = bench.streams[usize::from(stream)].position;
            bench.events.push_back((stream, Event::Freed(position)));
        }
        for _ in 0..4 {
            bench.step()?;
        }
        until = bench.streams.iter().map(|stream| stream.position).collect();
    }
    Ok(until)
}

/// They have the same octets, and none stalls for longer than a visit of each other one.
#[test]
fn streams_share_in_octets() {
    let mut bench = Bench::<4>::new(11, Paces::ALWAYS);
    let until = share(&mut bench).unwrap();
    let (least, most) = (*until.iter().min().unwrap(), *until.iter().max().unwrap());
    assert!(
        u64::from(most - least) <= 2 * (QUANTUM + 1500) && least > 20_000,
        "{until:?}"
    );
    let mut last = [0; 4];
    let mut octets = 0;
    for seen in &bench.seen[..bench.seen.len() / 2] {
        let stream = seen.segment.stream.index();
        octets += u64::from(seen.segment.octets.index() as u32);
        let gap = octets - last[stream];
        assert!(
            gap <= 4 * (QUANTUM + 1500),
            "stream {stream}: {gap} octets of others"
        );
        last[stream] = octets;
    }
}

#[test]
fn sixteen_streams_have_rows_of_their_own() {
    let mut bench = Bench::<16>::new(13, Paces::ALWAYS);
    for stream in 0..16 {
        let arguments = arming(&mut bench.rng, stream, 200 + 40 * u16::from(stream));
        bench.carry_out(TransmitCommand::Arm, arguments);
        for length in [50, 400, 0] {
            let request = request(&mut bench.rng, length, false);
            bench.stream(stream).post(&request);
        }
    }
    bench.drain();
    assert!(bench.seen.len() > 48);
    assert!(statuses(&bench).iter().all(|status| *status == 0));
}

/// With a slow sink the block stalls and loses nothing.
#[test]
fn a_stalled_sink_loses_nothing() {
    let paces = Paces {
        piece: Pace::Percent(3),
        segment: Pace::Percent(3),
        slot: Pace::Always,
    };
    let mut bench = Bench::<4>::new(12, paces);
    arm(&mut bench, 0, 300, false);
    for length in [0, 10, 700, 64] {
        let request = request(&mut bench.rng, length, false);
        bench.stream(0).post(&request);
    }
    bench.drain();
    assert!(bench.seen.len() >= 6);
}

//! Events and commands in every cycle around turns, and requests that follow a refused one closely.

use warpline_hdl::tx::ddp::segment::command::TransmitCommand;
use warpline_regmap::transmit::{
    Element, Flags, Gather, Payload, SendRequest, Target, send_element, status,
};
use warpline_testbenches::stimulus::Pace;

use crate::bench::{Bench, Paces};
use crate::model::{Event, Posted, RING};
use crate::requests::{arming, request};

/// Cycles in which the requests of a trial are done with.
const AROUND: usize = 110;

/// Arms a stream again, posts the same mixture of messages to it and to another one, and acts `offset` cycles later. Gives the segments that stream 0
/// has sent, and its reports.
fn trial(
    bench: &mut Bench<4>,
    offset: usize,
    act: &mut dyn FnMut(&mut Bench<4>),
) -> (usize, usize) {
    let arguments = arming(&mut bench.rng, 0, 300);
    bench.carry_out(TransmitCommand::Clear, arguments);
    bench.carry_out(TransmitCommand::Arm, arguments);
    if bench.streams[1].msns.is_empty() {
        let arguments = arming(&mut bench.rng, 1, 300);
        bench.carry_out(TransmitCommand::Arm, arguments);
    }
    let position = bench.streams[1].position;
    bench.events.push_back((1, Event::Freed(position)));
    for stream in 0..2 {
        for length in [0, 20, 700, 1, 64, 33] {
            let request = request(&mut bench.rng, length, false);
            bench.stream(stream).post(&request);
        }
    }
    bench.seen.clear();
    bench.wait(offset);
    act(bench);
    bench.drain();
    let own = |status: u32| {
        let seen = bench.seen.iter();
        let own = seen.filter(|seen| seen.segment.stream.index() == 0 && seen.status == status);
        own.count()
    };
    (own(0), own(status::FLUSHED))
}

/// The model judges each segment; here it is shown that the action met every number of sent segments from none to all.
fn in_every_cycle(paces: Paces, seed: u64, mut act: impl FnMut(&mut Bench<4>)) {
    let mut bench = Bench::<4>::new(seed, paces);
    let all = trial(&mut bench, 0, &mut |_| {}).0;
    let mut met = vec![false; all + 1];
    for offset in 0..AROUND {
        let (sent, flushed) = trial(&mut bench, offset, &mut act);
        assert!(sent <= all && (sent == all || flushed > 0), "{offset}");
        met[sent] = true;
    }
    let different = met.iter().filter(|met| **met).count();
    assert!(met[0] && met[all] && different > all / 2, "{met:?}");
}

#[test]
fn a_stream_freezes_in_any_cycle() {
    in_every_cycle(Paces::ALWAYS, 1, |bench| {
        bench.events.push_back((0, Event::Freeze));
        bench.wait(1);
    });
}

#[test]
fn a_segment_fails_in_any_cycle() {
    in_every_cycle(Paces::ALWAYS, 2, |bench| {
        bench.events.push_back((0, Event::Fail));
        bench.wait(1);
    });
}

#[test]
fn a_stream_closes_in_any_cycle() {
    in_every_cycle(Paces::ALWAYS, 3, |bench| {
        let arguments = arming(&mut bench.rng, 0, 300);
        bench.carry_out(TransmitCommand::Close, arguments);
    });
}

/// Cycles from the requests of a trial to the long message of stream 0, whose turn follows that of stream 1, and to its end.
const LONG: std::ops::Range<usize> = 100..190;

/// Sizes change between segments of a message; each segment has the old or the new one.
// req: MPA-SEG-10, DDP-SEG-15, LLP-02
#[test]
fn emss_changes_in_any_cycle() {
    let mut bench = Bench::<4>::new(4, Paces::ALWAYS);
    let mut counts = vec![];
    for offset in LONG {
        let emss = if offset % 2 == 0 { 128 } else { 900 };
        let (sent, flushed) = trial(&mut bench, offset, &mut |bench| {
            let arguments = arming(&mut bench.rng, 0, emss);
            bench.carry_out(TransmitCommand::SetEmss, arguments);
        });
        assert_eq!(flushed, 0);
        counts.push(sent);
    }
    counts.sort_unstable();
    counts.dedup();

    assert!(counts.len() > 4, "{counts:?}");
}

/// A ring that is nearly full: room comes in any cycle around a turn, and each amount of it is used exactly.
#[test]
fn room_comes_in_any_cycle() {
    let mut bench = Bench::<4>::new(5, Paces::ALWAYS);
    let mut arguments = arming(&mut bench.rng, 0, 600);
    arguments.markers = true;
    bench.carry_out(TransmitCommand::Arm, arguments);
    for _ in 0..40 {
        for length in [0, 64, 1300, 10, 500] {
            let request = request(&mut bench.rng, length, false);
            bench.stream(0).post(&request);
        }
    }
    let mut wait = 0;
    while !bench.streams[0].slots.is_empty() {
        let stream = &bench.streams[0];
        let amount = bench
            .rng
            .u32(0..=stream.position.wrapping_sub(stream.acknowledged));
        let event = Event::Freed(stream.acknowledged.wrapping_add(amount));
        bench.events.push_back((0, event));
        wait = (wait + 1) % 37;
        bench.wait(wait + 1);
    }
    assert!(bench.seen.iter().all(|seen| seen.status == 0));
}

/// Cycles of an `ARM_TRANSMIT` around which an event of another stream may come: those of its sizes, and of its end.
const SIZES: std::ops::Range<usize> = 0..40;
const END: std::ops::Range<usize> = 256..300;

/// Arms stream 1 again; meanwhile, `offset` cycles later, an event of stream 0 comes.
fn arm_beside(bench: &mut Bench<4>, offset: usize, event: Event) {
    let arguments = arming(&mut bench.rng, 1, 300);
    bench.carry_out(TransmitCommand::Clear, arguments);
    bench.command = Some((TransmitCommand::Arm, arguments));
    bench.wait(offset);
    bench.events.push_back((0, event));
    while bench.command.is_some() || !bench.events.is_empty() {
        bench.must_step();
    }
}

/// Stream 0 has filled its ring, and all of it is acknowledged once.
#[test]
fn room_comes_while_another_stream_is_armed() {
    let mut bench = Bench::<4>::new(6, Paces::ALWAYS);
    let arguments = arming(&mut bench.rng, 0, 1460);
    bench.carry_out(TransmitCommand::Arm, arguments);
    for offset in SIZES.chain(END) {
        for _ in 0..RING / 1000 {
            let request = request(&mut bench.rng, 1000, false);
            bench.stream(0).post(&request);
        }
        bench.wait(400);
        assert!(
            !bench.streams[0].slots.is_empty(),
            "{offset}: no room is left"
        );
        let sent = bench.streams[0].position;
        arm_beside(&mut bench, offset, Event::Freed(sent));
        bench.drain();
        let sent = bench.streams[0].position;
        bench.events.push_back((0, Event::Freed(sent)));
        bench.wait(20);
    }
}

/// The gate of stream 0 is closed, and `check` opens it once.
// req: MPA-START-10
#[test]
fn a_gate_opens_while_another_stream_is_armed() {
    let mut bench = Bench::<4>::new(7, Paces::ALWAYS);
    for offset in SIZES.chain(END) {
        let mut arguments = arming(&mut bench.rng, 0, 300);
        arguments.gate = true;
        bench.carry_out(TransmitCommand::Clear, arguments);
        bench.carry_out(TransmitCommand::Arm, arguments);
        let request = request(&mut bench.rng, 10, false);
        bench.stream(0).post(&request);
        bench.wait(50);
        assert!(
            !bench.streams[0].slots.is_empty(),
            "{offset}: the gate is closed"
        );
        arm_beside(&mut bench, offset, Event::Open);
        bench.drain();
    }
}

/// A message of one element, which has fewer octets in the slot than `LENGTH` says: the walk finds it.
fn short() -> Posted {
    let element = Element {
        stag: 0x500,
        length: 40,
        offset: 8,
    };
    let target = Target::Tagged {
        stag: 0x4711,
        offset: 0,
        rsvd_ulp: 0,
    };
    let payload = Payload::Gather(Gather::new(&[element]).unwrap());
    let request = SendRequest::new(target, Flags::default(), 9, payload).unwrap();
    let mut slot = request.emit();
    send_element::LENGTH.put(&mut slot[8..], 30);
    send_element::LENGTH.put(&mut slot[12..], 5);
    Posted {
        slot,
        request: Some(request),
        unread: false,
        wrong_at: Some(30),
    }
}

/// Small requests that were decided before the walk refused the one in front of them are flushed; other streams go on.
pub fn small_ones_behind_a_refused_one(bench: &mut Bench<4>) -> Result<(), String> {
    for stream in 0..2 {
        let arguments = arming(&mut bench.rng, stream, 300);
        bench.try_carry_out(TransmitCommand::Arm, arguments)?;
    }
    for stream in 0..2 {
        for length in [0, 30, 7] {
            let request = request(&mut bench.rng, length, false);
            bench.stream(stream).post(&request);
        }
        if stream == 0 {
            bench.stream(stream).post_as(short());
        }
        for length in [50, 0, 450, 64] {
            let request = request(&mut bench.rng, length, false);
            bench.stream(stream).post(&request);
        }
    }
    bench.try_drain()
}

#[test]
fn what_is_behind_a_refused_request_is_flushed() {
    for percent in [100, 50, 15, 5] {
        let paces = Paces {
            piece: Pace::Percent(percent),
            segment: Pace::Always,
            slot: Pace::Always,
        };
        let mut bench = Bench::<4>::new(6, paces);
        small_ones_behind_a_refused_one(&mut bench).unwrap();
        let statuses = |stream: usize| {
            let seen = bench.seen.iter();
            let own = seen.filter(|seen| seen.segment.stream.index() == stream);
            own.map(|seen| seen.status).collect::<Vec<_>>()
        };
        let due = [0, 0, 0, status::MALFORMED, 1, 1, 1, 1];
        assert_eq!(statuses(0), due, "{percent} %");
        assert!(statuses(1).iter().all(|status| *status == 0));
    }
}

/// Each stream has a mark of its own that its queue has ended: half of the streams have a refused request, then the other half.
#[test]
fn sixteen_streams_end_each_for_itself() {
    for odd in [0, 1] {
        let mut bench = Bench::<16>::new(7, Paces::ALWAYS);
        for stream in 0..16 {
            let arguments = arming(&mut bench.rng, stream, 300);
            bench.carry_out(TransmitCommand::Arm, arguments);
        }
        for stream in 0..16 {
            if stream % 2 == odd {
                bench.stream(stream).post_as(short());
            }
            for length in [50, 0] {
                let request = request(&mut bench.rng, length, false);
                bench.stream(stream).post(&request);
            }
        }
        bench.drain();
        for stream in 0..16 {
            let seen = bench.seen.iter();
            let own = seen.filter(|seen| seen.segment.stream.index() == stream);
            let statuses: Vec<u32> = own.map(|seen| seen.status).collect();
            let due: &[u32] = match stream % 2 == usize::from(odd) {
                true => &[status::MALFORMED, status::FLUSHED, status::FLUSHED],
                false => &[0, 0],
            };
            assert_eq!(statuses, due, "stream {stream}");
        }
    }
}

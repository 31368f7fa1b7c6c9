//! Random requests, events and commands of several streams.

use warpline_hdl::tx::ddp::segment::command::TransmitCommand;
use warpline_testbenches::bad_slots::spoil_head;
use warpline_testbenches::stimulus::{Pace, chance};

use crate::bench::{Bench, Paces};
use crate::model::{Event, Posted};
use crate::requests::{arming, request};

/// What random runs have had among them.
#[derive(Debug, Default)]
struct Cover {
    segments: usize,
    of_many: usize,
    marked: usize,
    empty: usize,
    flushed: usize,
    malformed: usize,
    unread: usize,
    closed: usize,
    resized: usize,
}

/// A slot that is no request.
pub fn bad_slot(bench: &mut Bench<4>) -> Posted {
    let rng = &mut bench.rng;
    let length = rng.u32(2..100);
    let mut slot = request(rng, length, false).emit();
    spoil_head(rng, &mut slot);
    Posted {
        slot,
        request: None,
        unread: chance(rng, 30),
        wrong_at: None,
    }
}

/// Arms a stream, which may have been armed before.
fn arm(bench: &mut Bench<4>, stream: u8) {
    let emss = match bench.rng.u8(0..4) {
        0 => 128 + bench.rng.u16(0..40),
        1 => bench.rng.u16(128..=u16::MAX),
        _ => bench.rng.u16(500..1500),
    };
    let mut arguments = arming(&mut bench.rng, stream, emss);
    arguments.gate = chance(&mut bench.rng, 30);
    bench.carry_out(TransmitCommand::Clear, arguments);
    bench.carry_out(TransmitCommand::Arm, arguments);
}

fn act(bench: &mut Bench<4>, cover: &mut Cover) {
    let number = bench.rng.u8(0..4);
    let stream = &bench.streams[usize::from(number)];
    let (open, position, acknowledged) = (stream.is_open, stream.position, stream.acknowledged);
    let dead = stream.ended || stream.flushing.is_some() || stream.frozen.is_some();
    let action = match dead && chance(&mut bench.rng, 20) {
        true => 87,
        false => bench.rng.u8(0..100),
    };
    match action {
        0..40 if bench.streams[usize::from(number)].slots.len() < 12 => {
            let most = *bench.rng.choice(&[1, 80, 600, 6000]).expect("some");
            let length = bench.rng.u32(0..most);
            let terminate = chance(&mut bench.rng, 2);
            let request = request(&mut bench.rng, length, terminate);
            bench.stream(number).post(&request);
        }
        40..42 if bench.streams[usize::from(number)].slots.len() < 12 => {
            let slot = bad_slot(bench);
            bench.stream(number).post_as(slot);
        }
        45..80 => {
            let room = position.wrapping_sub(acknowledged);
            let amount = bench.rng.u32(0..=room);
            let event = Event::Freed(acknowledged.wrapping_add(amount));
            bench.events.push_back((number, event));
        }
        80..84 if !open => bench.events.push_back((number, Event::Open)),
        84 if chance(&mut bench.rng, 40) => bench.events.push_back((number, Event::Freeze)),
        85 if chance(&mut bench.rng, 40) => bench.events.push_back((number, Event::Fail)),
        86 => {
            let emss = bench.rng.u16(128..3000);
            let mut arguments = arming(&mut bench.rng, number, emss);
            arguments.markers = !bench.streams[usize::from(number)].markers;
            cover.resized += 1;
            bench.carry_out(TransmitCommand::SetEmss, arguments);
        }
        87 => {
            let arguments = arming(&mut bench.rng, number, 128);
            bench.carry_out(TransmitCommand::Close, arguments);
            while !bench.streams[usize::from(number)].slots.is_empty() {
                bench.must_step();
            }
            cover.closed += 1;
            bench.wait(10);
            arm(bench, number);
        }
        _ => bench.must_step(),
    }
    if chance(&mut bench.rng, 30) {
        let cycles = bench.rng.usize(0..50);
        bench.wait(cycles);
    }
}

fn run(seed: u64, paces: Paces, actions: usize) -> Cover {
    let mut cover = Cover::default();
    let mut bench = Bench::<4>::new(seed, paces);
    for stream in 0..4 {
        arm(&mut bench, stream);
    }
    for _ in 0..actions {
        act(&mut bench, &mut cover);
    }
    for number in 0..4 {
        let arguments = arming(&mut bench.rng, number, 128);
        bench.carry_out(TransmitCommand::Close, arguments);
    }
    bench.drain();
    for seen in &bench.seen {
        let record = &seen.segment;
        cover.segments += usize::from(seen.status == 0);
        cover.of_many += usize::from(seen.status == 0 && !(record.first && record.last));
        cover.marked += usize::from(seen.status == 0 && record.markers);
        cover.empty += usize::from(seen.status == 0 && !record.octets.any());
        cover.flushed += usize::from(seen.status == 1);
        cover.malformed += usize::from(seen.status == 2);
        cover.unread += usize::from(seen.status == 6);
    }
    cover
}

// req: DDP-SEG-01, DDP-SEG-03, DDP-SEG-05, DDP-SEG-07, DDP-SEG-09, MPA-SEG-09
#[test]
fn requests_become_segments() {
    let mut all = vec![];
    for (seed, paces) in [
        (1, Paces::ALWAYS),
        (
            2,
            Paces {
                piece: Pace::Percent(60),
                segment: Pace::Percent(50),
                slot: Pace::Percent(50),
            },
        ),
        (
            3,
            Paces {
                piece: Pace::Bursts(40),
                segment: Pace::Bursts(40),
                slot: Pace::Bursts(20),
            },
        ),
    ] {
        let cover = run(seed, paces, 500);
        all.push(cover);
    }
    let sum = |of: fn(&Cover) -> usize| all.iter().map(of).sum::<usize>();
    let rare = [
        sum(|cover| cover.of_many),
        sum(|cover| cover.marked),
        sum(|cover| cover.empty),
        sum(|cover| cover.flushed),
        sum(|cover| cover.malformed),
        sum(|cover| cover.closed),
        sum(|cover| cover.resized),
        sum(|cover| cover.unread),
    ];
    assert!(sum(|cover| cover.segments) > 300, "{all:?}");
    assert!(rare.iter().all(|count| *count >= 1), "{all:?}");
}

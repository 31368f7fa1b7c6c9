//! One completion queue for what is received and for what is sent.

use std::io::Write;
use std::net::Shutdown;
use std::thread;

use fastrand::Rng;
use warpline_driver::Completion;
use warpline_wire::send::{CrcField, FpduWriter, Message};

use crate::bench::{Arming, Bench, Engine, SIGNALLED, each, inline, read, untagged};

/// As many as a receive ring holds: the peer knows nothing of buffers.
const MESSAGES: usize = 250;

/// Messages both ways at once through a small queue, whose consumer is late now and then: each entry comes once and in order.
fn both_ways(engine: Engine, entries: u32, seed: u64) {
    let bench = match engine {
        Engine::Software => Bench::open(engine, entries),
        Engine::Rtl => Bench::stalling(64, entries, seed),
    };
    let (peer, _, stream) = bench.peer(0, Arming::default());
    let mut rng = Rng::with_seed(seed);
    let mut fpdus = Vec::new();
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    for msn in 1..=MESSAGES as u32 {
        let message = Message::Untagged {
            qn: 0,
            msn,
            rsvd_ulp: [0x43, 0, 0, 0, 0],
        };
        writer
            .append_message(message, &msn.to_be_bytes(), 1442, &mut fpdus)
            .unwrap();
    }
    let receives = stream.receive_queue(0).unwrap();
    receives
        .post_many(bench.context.buffers(MESSAGES, 16).unwrap())
        .unwrap();
    let mut reader = peer.try_clone().unwrap();
    let peer = thread::spawn(move || {
        let mut peer = peer;
        peer.write_all(&fpdus).unwrap();
        peer
    });
    let read = thread::spawn(move || read(&mut reader, 28 * MESSAGES));

    let queue = stream.send_queue().unwrap();
    let completions = bench.context.completion_queue();
    let (mut posted, mut sent, mut received) = (0, 0, 0);
    while sent < MESSAGES || received < MESSAGES {
        while posted < MESSAGES && posted - sent < 8 && rng.u8(..4) > 0 {
            let octets = (posted as u32).to_be_bytes();
            queue
                .post(untagged(0), SIGNALLED, posted as u64, inline(&octets))
                .unwrap();
            posted += 1;
        }
        if rng.u8(..8) == 0 {
            bench.card.step(2000).unwrap(); // the consumer is late
        }
        match completions
            .wait(crate::bench::PATIENCE)
            .unwrap()
            .expect("a completion")
        {
            Completion::Sent(completion) => {
                assert_eq!(completion.id, sent as u64);
                sent += 1;
            }
            Completion::Untagged(completion) => {
                received += 1;
                assert_eq!(completion.msn, received as u32);
            }
            other => panic!("{other:?}"),
        }
        if posted == sent && posted < MESSAGES {
            let octets = (posted as u32).to_be_bytes();
            queue
                .post(untagged(0), SIGNALLED, posted as u64, inline(&octets))
                .unwrap();
            posted += 1;
        }
    }
    let octets = read.join().unwrap();
    for (number, fpdu) in octets.chunks(28).enumerate() {
        assert_eq!(fpdu[20..24], (number as u32).to_be_bytes());
    }
    let peer = peer.join().unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    assert!(matches!(bench.completion(), Completion::Closed(_)));
    stream.close().unwrap();
}

// req: AMB-43, AMB-51, DDP-DEL-05
#[test]
fn messages_both_ways_complete_once_each_in_a_small_queue() {
    each(|engine| {
        both_ways(engine, 4, 1);
        both_ways(engine, 16, 2);
    });
}

#[test]
fn messages_both_ways_complete_once_each_in_a_large_queue() {
    each(|engine| {
        both_ways(engine, 1024, 3);
    });
}

/// In software the two writers share the queue half and half.
#[test]
fn a_queue_of_one_entry_is_refused_in_software_only() {
    use warpline_driver::{Context, Error, Options, VfioUser};
    use warpline_sim::{Card, CardOptions};
    each(|engine| {
        let options = CardOptions {
            transmit: true,
            ..CardOptions::default()
        };
        let card = Card::open(&crate::bench::config(engine), options).unwrap();
        let device = VfioUser::over(card.connect().unwrap(), crate::bench::PATIENCE).unwrap();
        let host = Options {
            completion_entries: 1,
            ..Options::default()
        };
        let opened = Context::open(Box::new(device), host).map(drop);
        let refused = matches!(
            opened,
            Err(Error::CompletionQueueRefused { entries: 1, .. })
        );
        assert_eq!(refused, engine == Engine::Software, "{opened:?}");
    });
}

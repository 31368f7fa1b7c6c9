//! Waiting for completions, with a card in software.

mod peer;
mod software_card;

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use peer::Peer;
use rustix::event::{PollFd, PollFlags, Timespec};
use software_card::SoftwareCard;
use warpline_driver::{
    Completion, CompletionQueue, Context, Device, DmaMemory, Error, MemoryRegion, Options,
    Registration, Stream, StreamOptions,
};
use warpline_regmap::register::{self, interrupt};

/// Longer than any test runs: a wait that takes this long has missed its wake-up.
const LONG: Duration = Duration::from_secs(60);

fn open(card: &SoftwareCard) -> (Context, MemoryRegion, Stream) {
    let context = Context::open(Box::new(card.clone()), Options::default()).unwrap();
    let domain = context.protection_domain().unwrap();
    let memory = DmaMemory::new(64).unwrap();
    let region = domain.register(memory, Registration::default()).unwrap();
    let stream = domain.arm(0, StreamOptions::default()).unwrap();
    (context, region, stream)
}

fn readable(queue: &CompletionQueue) -> bool {
    let fd = queue.as_fd();
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
}

#[test]
fn waiting_ends_in_time_or_with_a_completion() {
    let card = SoftwareCard::default();
    let (context, region, stream) = open(&card);
    let queue = context.completion_queue();
    assert!(queue.wait(Duration::ZERO).unwrap().is_none());
    assert!(queue.wait(Duration::from_millis(5)).unwrap().is_none());
    let mut peer = Peer::new(&card, &stream, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(5));
            peer.write(region.stag(), region.base(), &[1]);
        });
        let completion = queue.wait(LONG).unwrap();
        assert!(matches!(completion, Some(Completion::Tagged(_))));
    });
}

#[test]
fn each_request_causes_one_message() {
    let card = SoftwareCard::default();
    let (context, region, stream) = open(&card);
    let queue = context.completion_queue();
    let mut peer = Peer::new(&card, &stream, 0);
    let mut write = || peer.write(region.stag(), region.base(), &[1]);
    let sent = || card.model().messages[interrupt::COMPLETION];

    write();
    assert_eq!((sent(), readable(&queue)), (0, false), "none requested");
    queue.request_interrupt().unwrap();
    assert_eq!(
        (sent(), readable(&queue)),
        (1, true),
        "an entry is there already"
    );
    assert!(queue.poll().unwrap().is_some());
    queue.request_interrupt().unwrap();
    assert_eq!(
        (sent(), readable(&queue)),
        (1, false),
        "requested again, all consumed"
    );
    write();
    write();
    assert_eq!((sent(), readable(&queue)), (2, true), "one shot");
    for _ in 0..2 {
        assert!(queue.poll().unwrap().is_some());
    }
    assert!(queue.poll().unwrap().is_none());
    // An interrupt that was drained late costs one more poll.
    assert!(queue.wait(Duration::from_millis(5)).unwrap().is_none());
    card.assert_no_violations();
}

/// At any timing of card and threads, each completion wakes a thread and arrives once.
#[test]
fn no_wake_up_is_lost() {
    const MESSAGES: u32 = 30_000;
    const THREADS: usize = 3;
    /// A message with these octets ends a thread.
    const END: u64 = 63;
    let card = SoftwareCard::default();
    let (context, region, stream) = open(&card);
    let mut peer = Peer::new(&card, &stream, 0);
    let wait = || {
        let queue = context.completion_queue();
        let mut taken = [0_u32; END as usize];
        loop {
            match queue.wait(LONG).unwrap() {
                Some(Completion::Tagged(completion)) => match completion.offset - region.base() {
                    END => return taken,
                    at => taken[at as usize] += 1,
                },
                None => panic!("slept {LONG:?} with completions under way"),
                other => panic!("{other:?}"),
            }
        }
    };
    let taken = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(wait)).collect();
        let mut random = 1_u32;
        let ends = std::iter::repeat_n(END, THREADS);
        for at in (0..MESSAGES).map(|i| u64::from(i) % END).chain(ends) {
            peer.write(region.stag(), region.base() + at, &[1]);
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match random >> 29 {
                0 => thread::yield_now(),
                1 => thread::sleep(Duration::from_micros(1)),
                _ => {}
            }
        }
        let taken = threads.into_iter().map(|thread| thread.join().unwrap());
        taken.fold([0; END as usize], |mut sum, taken| {
            sum.iter_mut().zip(taken).for_each(|(sum, n)| *sum += n);
            sum
        })
    });
    let expected = |at| MESSAGES / END as u32 + u32::from(at < MESSAGES as usize % END as usize);
    assert_eq!(taken, std::array::from_fn(expected));
    assert!(context.completion_queue().poll().unwrap().is_none());
    card.assert_no_violations();
}

#[test]
fn a_fault_is_the_end() {
    let card = SoftwareCard::default();
    let (context, region, stream) = open(&card);
    let queue = context.completion_queue();
    Peer::new(&card, &stream, 0).write(region.stag(), region.base(), &[1]);
    thread::scope(|scope| {
        let waited = scope.spawn(|| {
            let first = queue.wait(LONG).unwrap();
            assert!(matches!(first, Some(Completion::Tagged(_))));
            queue.wait(LONG).map(|_| ()).unwrap_err()
        });
        thread::sleep(Duration::from_millis(5));
        card.model().raise(interrupt::FAULT);
        assert!(matches!(waited.join().unwrap(), Error::CompletionFault));
    });
    assert!(matches!(queue.poll(), Err(Error::CompletionFault)));
    assert!(matches!(
        queue.request_interrupt(),
        Err(Error::CompletionFault)
    ));
    let revoked = region.revoke().map(|_| ()).unwrap_err();
    assert!(matches!(revoked, Error::Gone));
}

#[test]
fn polling_finds_a_fault_as_well() {
    let card = SoftwareCard::default();
    let (context, ..) = open(&card);
    let queue = context.completion_queue();
    card.model().raise(interrupt::FAULT);
    let fault = (0..1024).find_map(|_| queue.poll().err());
    assert!(matches!(fault, Some(Error::CompletionFault)));
}

#[test]
fn a_message_without_a_fault_is_no_fault() {
    let card = SoftwareCard::default();
    let (context, ..) = open(&card);
    let queue = context.completion_queue();
    card.model().message(interrupt::FAULT);
    assert!(readable(&queue));
    queue.request_interrupt().unwrap();
    assert!(!readable(&queue));
    // Without a device the bus reads all ones.
    card.model().message(interrupt::FAULT);
    let state = register::INTERRUPT_STATE.offset;
    card.model().overrides.insert(state, u32::MAX);
    assert!(matches!(queue.request_interrupt(), Err(Error::Gone)));
}

#[test]
fn moderation_is_written_to_the_device() {
    let card = SoftwareCard::default();
    let open = |interrupt_holdoff| {
        let options = Options {
            interrupt_holdoff,
            ..Options::default()
        };
        Context::open(Box::new(card.clone()), options)
    };
    let _context = open(5000).unwrap();
    let holdoff = card.read(register::INTERRUPT_HOLDOFF.offset).unwrap();
    let enabled = card.read(register::INTERRUPT_ENABLE.offset).unwrap();
    assert_eq!((holdoff, enabled), (5000, 0b11));
    let refused = open(1 << 24).map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::Holdoff { cycles: 0x100_0000 }));
}

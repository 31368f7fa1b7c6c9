//! The driver over vfio-user, with a card in software at the other end of the socket.

mod peer;
mod software_card;

use std::net::Shutdown;
use std::time::{Duration, Instant};

use peer::Peer;
use software_card::SoftwareCard;
use software_card::function::Function;
use warpline_driver::{
    Completion, Context, Device, DmaMemory, Error, OpenError, Options, Registration, StreamOptions,
    VfioUser,
};
use warpline_regmap::register;
use warpline_vfio_user::Listener;

const LONG: Duration = Duration::from_secs(60);

fn device(function: Function) -> Result<VfioUser, OpenError> {
    VfioUser::over(function.connect().0, LONG)
}

#[test]
fn registers_memory_rings_and_interrupts_over_a_socket() {
    let card = SoftwareCard::default();
    let function = device(Function::new(&card)).unwrap();
    let context = Context::open(Box::new(function), Options::default()).unwrap();
    assert_eq!(context.info().name, "vfio-user");
    let domain = context.protection_domain().unwrap();
    let memory = DmaMemory::new(3 << 20).unwrap();
    let region = domain.register(memory, Registration::default()).unwrap();
    let stream = domain.arm(0, StreamOptions::default()).unwrap();
    let queue = stream.receive_queue(0).unwrap();
    queue.post_many(context.buffers(10, 100).unwrap()).unwrap();
    let completions = context.completion_queue();
    let mut peer = Peer::new(&card, &stream, 0);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let next = || completions.wait(LONG).unwrap();
            (0..20).map_while(|_| next()).collect::<Vec<_>>()
        });
        for msn in 1..=10_u32 {
            peer.write(
                region.stag(),
                region.base() + u64::from(msn) * 200_000,
                &[msn as u8; 999],
            );
            peer.untagged(0, msn, &msn.to_be_bytes());
        }
        let completions = waiting.join().unwrap();
        assert_eq!(completions.len(), 20);
        for (msn, pair) in (1..).zip(completions.chunks(2)) {
            assert!(matches!(&pair[0], Completion::Tagged(_)));
            match &pair[1] {
                Completion::Untagged(completion) => {
                    assert_eq!(completion.msn, msn);
                    assert_eq!(completion.buffer.to_vec()[..4], msn.to_be_bytes());
                }
                other => panic!("{other:?}"),
            }
        }
    });
    stream.close().unwrap();
    let memory = region.revoke().unwrap();
    for msn in 1..=10 {
        assert_eq!(memory[msn * 200_000..][..999], [msn as u8; 999]);
    }
    drop((memory, domain, completions, context));
    card.assert_no_violations();
}

#[test]
fn functions_that_cannot_be_a_card_are_refused() {
    let card = SoftwareCard::default();
    let small = Function {
        register_octets: 2048,
        ..Function::new(&card)
    };
    let refused = device(small).map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, OpenError::RegisterBar { found: 2048 }),
        "{refused}"
    );
    for vectors in [0, 1] {
        let deaf = Function {
            vectors,
            ..Function::new(&card)
        };
        let refused = device(deaf).map(|_| ()).unwrap_err();
        assert!(
            matches!(refused, OpenError::Vectors { found } if found == vectors),
            "{refused}"
        );
    }
    let identity = register::IDENTITY.offset;
    card.model().overrides.insert(identity, 0x8086_1533);
    let other = device(Function::new(&card)).unwrap();
    let refused = Context::open(Box::new(other), Options::default());
    let refused = refused.map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, Error::NotWarpline { found: 0x8086_1533 }),
        "{refused}"
    );
    assert_eq!(
        card.model().resets,
        0,
        "a device that is not a card is not reset"
    );
}

#[test]
fn a_card_is_opened_by_the_path_of_its_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("card");
    let address = path.to_str().unwrap();
    let open = || warpline_driver::open(address, Options::default());
    let absent = open().map(|_| ()).unwrap_err().to_string();
    assert!(
        absent.contains(address) && absent.contains("start the device first"),
        "{absent}"
    );

    let card = SoftwareCard::default();
    let listener = Listener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let host = listener.accept(Some(LONG)).unwrap().unwrap();
            warpline_vfio_user::serve(host, &mut Function::new(&card)).unwrap();
        });
        let context = open().unwrap();
        assert_eq!(context.info().name, address);
        assert_eq!(context.shape().streams, software_card::STREAMS);
    });
    card.assert_no_violations();
}

// req: DDP-SEC-22
#[test]
fn a_card_that_vanishes_is_an_error_and_keeps_its_memory() {
    let card = SoftwareCard::default();
    let (socket, server) = Function::new(&card).connect();
    let hang_up = socket.try_clone().unwrap();
    let device = VfioUser::over(socket, LONG).unwrap();
    let context = Context::open(Box::new(device), Options::default()).unwrap();
    let domain = context.protection_domain().unwrap();
    let memory = DmaMemory::new(4096).unwrap();
    let region = domain.register(memory, Registration::default()).unwrap();
    hang_up.shutdown(Shutdown::Both).unwrap();
    server.join().unwrap();
    let revoked = region.revoke().map(|_| ()).unwrap_err();
    assert!(matches!(revoked, Error::Device { .. }), "{revoked}");
    let gone = domain
        .arm(0, StreamOptions::default())
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(gone, Error::Gone), "{gone}");
    assert!(context.counters().is_err());
}

/// A context over a socket that the test can hang up.
fn fragile(card: &SoftwareCard) -> (Context, impl FnOnce()) {
    let (socket, server) = Function::new(card).connect();
    let copy = socket.try_clone().unwrap();
    let device = VfioUser::over(socket, LONG).unwrap();
    let context = Context::open(Box::new(device), Options::default()).unwrap();
    let hang_up = move || {
        copy.shutdown(Shutdown::Both).unwrap();
        server.join().unwrap();
    };
    (context, hang_up)
}

#[test]
fn a_card_that_vanishes_wakes_all_sleepers() {
    let card = SoftwareCard::default();
    let (context, hang_up) = fragile(&card);
    let wait = || {
        context
            .completion_queue()
            .wait(LONG)
            .map(|_| ())
            .unwrap_err()
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let sleepers = [(); 3].map(|()| scope.spawn(wait));
        std::thread::sleep(Duration::from_millis(20));
        hang_up();
        for sleeper in sleepers {
            let gone = sleeper.join().unwrap();
            assert!(matches!(gone, Error::Gone | Error::Device { .. }), "{gone}");
        }
    });
    assert!(start.elapsed() < LONG / 2, "they slept to the end");
    let queue = context.completion_queue();
    assert!(matches!(queue.request_interrupt(), Err(Error::Gone)));
    assert!(matches!(wait(), Error::Gone));
}

#[test]
fn polling_finds_that_the_card_has_vanished() {
    let card = SoftwareCard::default();
    let (context, hang_up) = fragile(&card);
    let queue = context.completion_queue();
    hang_up();
    let gone = (0..1024).find_map(|_| queue.poll().err());
    assert!(matches!(gone, Some(Error::Gone)), "{gone:?}");
}

#[test]
fn what_a_card_wrote_before_it_vanished_comes_first() {
    let card = SoftwareCard::default();
    let (context, hang_up) = fragile(&card);
    let domain = context.protection_domain().unwrap();
    let memory = DmaMemory::new(64).unwrap();
    let region = domain.register(memory, Registration::default()).unwrap();
    let stream = domain.arm(0, StreamOptions::default()).unwrap();
    let mut peer = Peer::new(&card, &stream, 0);
    peer.write(region.stag(), region.base(), &[1]);
    peer.write(region.stag(), region.base(), &[2]);
    hang_up();
    let queue = context.completion_queue();
    for _ in 0..2 {
        let written = queue.wait(LONG).unwrap();
        assert!(
            matches!(written, Some(Completion::Tagged(_))),
            "{written:?}"
        );
    }
    assert!(queue.wait(LONG).is_err());
    assert!(matches!(queue.wait(LONG), Err(Error::Gone)));
}

#[test]
fn offsets_without_a_register_are_refused() {
    let card = SoftwareCard::default();
    let device = device(Function::new(&card)).unwrap();
    for offset in [1, register::SPACE, u32::MAX] {
        assert!(
            device.read(offset).is_err() && device.write(offset, 0).is_err(),
            "{offset}"
        );
    }
    assert_eq!(
        device.read(register::IDENTITY.offset).unwrap(),
        register::IDENTITY_VALUE
    );
}

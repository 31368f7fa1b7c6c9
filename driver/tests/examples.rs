//! The examples, run with a card in software behind a socket.

#[path = "../examples/async_reactor.rs"]
#[allow(dead_code, reason = "its `main`")]
mod async_reactor;
#[path = "../examples/blocking.rs"]
#[allow(dead_code, reason = "its `main`")]
mod blocking;
mod peer;
#[path = "../examples/polled.rs"]
#[allow(dead_code, reason = "its `main`")]
mod polled;
mod software_card;

use std::thread;
use std::time::Duration;

use peer::Peer;
use software_card::SoftwareCard;
use software_card::function::Function;
use warpline_vfio_user::Listener;

/// Pause that ends an example: longer than any pause between two messages.
const QUIET: Duration = Duration::from_secs(2);
/// More than an example posts at once.
const MESSAGES: u32 = 200;

/// Serves a card to `example`, and sends messages once it has posted buffers.
fn run<E: std::fmt::Display>(example: impl FnOnce(&str, Duration) -> Result<u64, E>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("card");
    let listener = Listener::bind(&path).unwrap();
    let card = SoftwareCard::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let host = listener.accept(None).unwrap().unwrap();
            warpline_vfio_user::serve(host, &mut Function::new(&card)).unwrap();
        });
        scope.spawn(|| {
            while card.model().doorbells == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            let mut peer = Peer::of(&card, 0, 0);
            for msn in 1..=MESSAGES {
                while card.model().buffers(0, 0) == 0 {
                    thread::sleep(Duration::from_micros(100));
                }
                peer.untagged(0, msn, &msn.to_be_bytes());
            }
        });
        let received = example(path.to_str().unwrap(), QUIET);
        assert_eq!(
            received.map_err(|error| error.to_string()),
            Ok(MESSAGES.into())
        );
    });
    card.assert_no_violations();
}

#[test]
fn blocking_receives() {
    run(blocking::receive);
}

#[test]
fn polled_receives() {
    run(polled::receive);
}

#[test]
fn async_reactor_receives() {
    run(async_reactor::receive);
}

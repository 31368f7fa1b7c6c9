//! Two processes would do the same: an association over UDP, a message, and its end. `cargo run --example message`.

use std::error::Error;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use warpline_usrsctp::{Ending, Event, Options, Udp};

/// The SCTP port that is listened at.
const PORT: u16 = 5001;
/// What both ends indicate: DDP (RFC 5043).
const ADAPTATION: u32 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let anywhere = (Ipv4Addr::LOCALHOST, 0).into();
    let options = Options {
        adaptation: Some(ADAPTATION),
        ..Options::default()
    };
    let mut server = Udp::bind(anywhere)?;
    server.listen(PORT, 8, &options)?;
    let mut client = Udp::bind(anywhere)?;
    let mut sender = client.connect(server.local_address()?, PORT, &options)?;
    let mut receiver = None;

    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(10) {
        client.serve(Duration::from_millis(1))?;
        server.serve(Duration::from_millis(1))?;
        while let Some(event) = sender.next_event() {
            println!("sender: {event:?}");
            match event {
                Event::Up { .. } => {
                    sender.send(3, 16, true, b"a message")?;
                    sender.shutdown()?;
                }
                Event::Ended(Ending::ShutDown) => return Ok(()),
                _ => {}
            }
        }
        if let Some((address, accepted)) = server.accept() {
            println!("receiver: accepted from {address}");
            receiver = Some(accepted);
        }
        while let Some(event) = receiver.as_mut().and_then(|end| end.next_event()) {
            println!("receiver: {event:?}");
        }
    }
    Err("ten seconds were not enough".into())
}

#[test]
fn a_message_arrives_over_udp() {
    main().expect("the example succeeds");
}

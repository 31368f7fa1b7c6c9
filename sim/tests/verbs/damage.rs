//! A marker that the path damages: which error it is at either end, and that nothing from its FPDU on is placed.
//!
//! ```text
//!  card A ─► socket ─► relay: inverts an octet of a marker ─► socket ─► card B
//!     ▲                                                                   │
//!     └────────────────────── Terminate ◄─────────────────────────────────┘
//! ```

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use warpline_driver::{
    Cause, Endpoint, ErrorNumber, Local, PairEvent, Registration, Revision, Settings, Work,
    WorkOpcode, WorkRequest,
};
use warpline_wire::{marker, start};

use crate::bench::{Machine, anywhere, each};
use crate::{pair_through, remote};

/// The marker that is damaged, in the stream of FPDUs. A Responder may send, a Terminate as well, once it has an FPDU (AMB-56), so the
/// damage is not in the first one.
const MARKER: usize = 5 * marker::SPACING as usize;
/// The octet that is inverted, behind a Request without private data: the low one of the marker's pointer.
const DAMAGED: usize = start::HEADER_LEN + MARKER + marker::LEN - 1;

/// Passes one connection on to `to`. The octet at `position` of what the Initiator sends is inverted.
fn relay(to: SocketAddr, position: usize) -> SocketAddr {
    let listener = TcpListener::bind(anywhere()).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || -> io::Result<()> {
        let (mut client, _) = listener.accept()?;
        let mut server = TcpStream::connect(to)?;
        let (mut back, mut forth) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut back, &mut forth);
            forth.shutdown(Shutdown::Write)
        });
        io::copy(&mut (&mut client).take(position as u64), &mut server)?;
        let mut octet = [0];
        client.read_exact(&mut octet)?;
        server.write_all(&[!octet[0]])?;
        io::copy(&mut client, &mut server)?;
        server.shutdown(Shutdown::Write)
    });
    address
}

/// The cause in the first Terminate that a machine makes or gets. Its Write may have ended before.
fn terminate(next: impl Fn() -> Work) -> Cause {
    loop {
        match next() {
            Work::Event {
                event: PairEvent::Terminating(terminate) | PairEvent::Terminated(terminate),
                ..
            } => return terminate.cause,
            // The device's error record, in front of the Terminate that is made of it.
            Work::Event {
                event: PairEvent::StreamError(_),
                ..
            } => {}
            Work::Completion(done) => assert_eq!(done.opcode, WorkOpcode::Write),
            other => panic!("{other:?}"),
        }
    }
}

/// With CRCs the damage is a wrong CRC, which covers markers; without them it is the marker that does not fit.
// req: MPA-ERR-04, MPA-ERR-05
#[test]
fn a_damaged_marker_ends_the_stream_at_both_ends() {
    each(|engine| {
        for (crc_off, error) in [(true, ErrorNumber::MpaMarker), (false, ErrorNumber::MpaCrc)] {
            let (client, server) = (Machine::new(engine, 21), Machine::new(engine, 22));
            for machine in [&client, &server] {
                let settings = Settings {
                    markers: true,
                    crc_off,
                    ..Settings::default()
                };
                machine.context.configure(settings).unwrap();
            }
            let way = |at: Endpoint| relay(at.address, DAMAGED).into();
            let (at, revision) = (anywhere().into(), Revision::One);
            let (ours, theirs) = pair_through(way, at, &client, &server, revision, b"", b"");
            let source = client.region(&[0x5A; 6000], Registration::local());
            let target = server.region(&[0; 6000], Registration::default());
            let write = WorkRequest::write(1, Local::all(&source).unwrap(), remote(&target));
            ours.post_send(write).unwrap();

            assert_eq!(terminate(|| server.next()), Cause::Lower(error));
            assert_eq!(
                terminate(|| client.next_while_polled(&server)),
                Cause::Lower(error)
            );
            let memory = Arc::into_inner(target).unwrap().revoke().unwrap();
            let placed = memory.iter().position(|octet| *octet == 0).unwrap();
            assert!((1..MARKER).contains(&placed), "{placed}");
            assert!(memory[placed..].iter().all(|octet| *octet == 0));
            drop((ours, theirs));
            client.empties();
            server.empties();
        }
    });
}

//! The end that writes and reads the peer's memory, or does what the peer must refuse.

use std::io::ErrorKind;
use std::net::SocketAddrV4;
use std::time::Duration;

use warpline_wire::rdmap::ReadRequest;
use warpline_wire::sctp::ppid;

use crate::association::{Association, OPTIONS};
use crate::error::PeerError;
use crate::event::Event;
use crate::kernel::{Note, Options, Received, Socket};
use crate::memory::{Memory, READS, Region};
use crate::offer::Offer;
use crate::outbox::Payload;
use crate::private::{as_agreed, private_data};

/// The pair of streams of the session: not the first one, which warpline's own end takes.
const PAIR: u16 = 2;
/// Octets of private data in the Initiate.
const PRIVATE: usize = 20;
/// Octets of an RDMA Write or Read.
const PIECE: usize = 64 << 10;
/// STags: of the file, and of the sink of the Read that follows Writes.
const FILE: u32 = 0x0F11_E000;
const PROBE: u32 = 0x0B0B_E000;
/// Tagged Offset of the file's first octet.
const BASE: u64 = 0x2_0000_0100;

/// The peer: the address of its datagrams, and its SCTP port.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// Address and UDP port.
    pub datagrams: SocketAddrV4,
    /// SCTP port.
    pub port: u16,
}

impl Remote {
    fn connect(self, options: Options) -> Result<Socket, PeerError> {
        let address = SocketAddrV4::new(*self.datagrams.ip(), self.port);
        Socket::connect(address, self.datagrams.port(), options).map_err(PeerError::sctp("connect"))
    }
}

/// Writes octets to the peer's region.
pub fn put(remote: Remote, octets: Vec<u8>) -> Result<(), PeerError> {
    let len = octets.len();
    let (mut association, offer) = accepted(remote, octets)?;
    fits(len, &offer)?;
    for (at, len) in pieces(len) {
        let payload = Payload::Region {
            stag: FILE,
            to: BASE + at,
            len,
        };
        association.write(offer.stag, offer.base + at, payload)?;
    }
    // The Read is answered when it is delivered, which is behind the placement of all that was sent before (RFC 5040 §5.5).
    association.read(ReadRequest {
        sink_stag: PROBE,
        sink_to: 0,
        size: 1,
        source_stag: offer.stag,
        source_to: offer.base + (len as u64).saturating_sub(1),
    })?;
    wait(&mut association, "the peer has not placed all", |event| {
        matches!(event, Event::ReadDone)
    })?;
    println!("put: {len} octets");
    finish(association)
}

/// Reads the peer's region, as long as it is.
pub fn get(remote: Remote, len: usize) -> Result<Vec<u8>, PeerError> {
    let (mut association, offer) = accepted(remote, vec![0; len])?;
    fits(len, &offer)?;
    let mut left = pieces(len);
    let mut outstanding = 0;
    loop {
        while outstanding < READS
            && let Some((at, size)) = left.next()
        {
            association.read(ReadRequest {
                sink_stag: FILE,
                sink_to: BASE + at,
                size,
                source_stag: offer.stag,
                source_to: offer.base + at,
            })?;
            outstanding += 1;
        }
        if outstanding == 0 {
            break;
        }
        wait(&mut association, "a read is outstanding", |event| {
            matches!(event, Event::ReadDone)
        })?;
        outstanding -= 1;
    }
    println!("get: {len} octets");
    let octets = association.memory.octets(FILE).to_vec();
    finish(association)?;
    Ok(octets)
}

/// Writes to an STag that the peer has not given; the peer's Terminate is to follow.
pub fn bad_stag(remote: Remote) -> Result<(), PeerError> {
    let (mut association, offer) = accepted(remote, private_data(64))?;
    let payload = Payload::Region {
        stag: FILE,
        to: BASE,
        len: 64,
    };
    association.write(offer.stag ^ 0x0001_0000, offer.base, payload)?;
    wait(
        &mut association,
        "the peer is to terminate",
        |event| match event {
            Event::Terminated(cause) => {
                println!("terminated: {cause}");
                true
            }
            _ => false,
        },
    )?;
    finish(association)
}

/// Asks for a session that the peer is to reject.
pub fn rejected(remote: Remote) -> Result<(), PeerError> {
    let mut association = initiated(remote, Memory::default())?;
    loop {
        match association.next("the peer is to reject")? {
            Event::Rejected(data) => {
                let (all, good) = (data.len(), as_agreed(&data));
                println!("rejected: {all} octets, {good} as agreed");
            }
            Event::Free => return shut_down(association),
            event => return unexpected("the peer is to reject", &event),
        }
    }
}

/// Sets up an association with another indication, or without one, which the peer is to abort.
pub fn indicate(remote: Remote, indication: Option<u32>) -> Result<(), PeerError> {
    let connected = remote.connect(Options {
        indication,
        ..OPTIONS
    });
    let mut socket = match connected {
        // It was up, and is over before this program has looked.
        Err(PeerError::Sctp { source, .. }) if source.kind() == ErrorKind::ConnectionReset => {
            println!("aborted by the peer");
            return Ok(());
        }
        connected => connected?,
    };
    // Should the ABORT be lost, the next packet is answered with another one (RFC 9260 §8.4).
    let initiate = [0, 0, 0, 1];
    for _ in 0..20 {
        match socket.receive().map_err(PeerError::sctp("recvmsg"))? {
            Received::Nothing => {
                let wait = socket.wait_for(false, Duration::from_secs(1));
                if !wait.map_err(PeerError::sctp("poll"))? {
                    let sent = socket.send(PAIR, ppid::CONTROL, &initiate);
                    sent.map_err(PeerError::sctp("sendmsg"))?;
                }
            }
            Received::Note(Note::Lost) => {
                println!("aborted by the peer");
                return Ok(());
            }
            Received::End => break,
            Received::Note(note) => println!("{note:?}"),
            Received::Message { ppid, .. } => println!("a chunk of PPID {ppid}"),
        }
    }
    println!("not aborted");
    Ok(())
}

/// Places and lengths of pieces.
fn pieces(len: usize) -> impl Iterator<Item = (u64, u32)> {
    let starts = (0..len).step_by(PIECE);
    starts.map(move |at| (at as u64, PIECE.min(len - at) as u32))
}

fn fits(len: usize, offer: &Offer) -> Result<(), PeerError> {
    let (length, size) = (len as u64, offer.length);
    if length > size {
        return Err(PeerError::Outside { length, size });
    }
    Ok(())
}

/// An association with a session that is asked for.
fn initiated(remote: Remote, memory: Memory) -> Result<Association, PeerError> {
    let mut association = Association::new(remote.connect(OPTIONS)?, memory)?;
    match association.next("the association is set up")? {
        Event::Up => {}
        event => return unexpected("the association is set up", &event),
    }
    association.initiate(PAIR, &private_data(PRIVATE))?;
    Ok(association)
}

/// A session for a file of these octets, and what the peer offers.
fn accepted(remote: Remote, octets: Vec<u8>) -> Result<(Association, Offer), PeerError> {
    let mut memory = Memory::default();
    let local = |base, octets| Region {
        base,
        octets,
        // The sink of a Read is written by the peer's Response.
        remote_write: true,
        remote_read: false,
    };
    memory.register(FILE, local(BASE, octets));
    memory.register(PROBE, local(0, vec![0]));
    let mut association = initiated(remote, memory)?;
    match association.next("the peer is to accept")? {
        Event::Accepted(data) => {
            let octets = data.len();
            let offer = Offer::parse(&data).ok_or(PeerError::NoOffer { octets })?;
            Ok((association, offer))
        }
        event => unexpected("the peer is to accept", &event),
    }
}

/// Waits for one event; any other one is an error.
fn wait(
    association: &mut Association,
    what: &'static str,
    is_it: impl Fn(&Event) -> bool,
) -> Result<(), PeerError> {
    match association.next(what)? {
        event if is_it(&event) => Ok(()),
        event => unexpected(what, &event),
    }
}

fn unexpected<T>(what: &'static str, event: &Event) -> Result<T, PeerError> {
    let event = format!("{event:?}");
    Err(PeerError::Unexpected { what, event })
}

/// Ends the session at both ends, and the association.
fn finish(mut association: Association) -> Result<(), PeerError> {
    association.finish();
    loop {
        match association.next("the session ends")? {
            Event::HalfClosed => {}
            Event::Free => return shut_down(association),
            event => return unexpected("the session ends", &event),
        }
    }
}

fn shut_down(mut association: Association) -> Result<(), PeerError> {
    println!("session: over");
    association.shutdown()?;
    match association.next("the association ends")? {
        Event::Ended(how) => println!("association: {how}"),
        event => return unexpected("the association ends", &event),
    }
    println!("{}", association.counts());
    Ok(())
}

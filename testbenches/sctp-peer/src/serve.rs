//! The end that offers its memory, or rejects sessions.

use crate::association::{Association, Counts, OPTIONS};
use crate::error::PeerError;
use crate::event::Event;
use crate::kernel::Socket;
use crate::memory::{Memory, Region};
use crate::offer::Offer;
use crate::private::{as_agreed, private_data};

/// STag of the region, and Tagged Offset of its first octet: not 0, and not on a page's border.
const STAG: u32 = 0x5C79_0100;
const BASE: u64 = 0x1_0000_0040;

/// What is done with sessions that peers ask for.
#[derive(Clone, Copy, Debug)]
pub enum Decision {
    /// They are offered a region of so many octets.
    Accept(usize),
    /// They are rejected, with so many octets of private data.
    Reject(usize),
}

/// Serves peers at an SCTP port, one association after the other, until `count` sessions are over. Returns the region as it is then.
pub fn serve(port: u16, decision: Decision, count: usize) -> Result<Vec<u8>, PeerError> {
    let (size, does) = match decision {
        Decision::Accept(size) => (size, "serving"),
        Decision::Reject(_) => (0, "rejecting"),
    };
    let mut memory = Memory::default();
    let region = Region {
        base: BASE,
        octets: vec![0; size],
        remote_write: true,
        remote_read: true,
    };
    memory.register(STAG, region);
    let listener = Socket::listen(port, OPTIONS).map_err(PeerError::sctp("listen"))?;
    println!("{does} at SCTP port {port}");
    let (mut over, mut counts) = (0, Counts::default());
    while over < count {
        let socket = listener.accept().map_err(PeerError::sctp("accept"))?;
        let mut association = Association::new(socket, memory)?;
        match sessions(&mut association, decision) {
            Ok(ended) => over += ended,
            Err(PeerError::NotDdp(refusal)) => println!("refused: {refusal}"),
            Err(error) => return Err(error),
        }
        counts.add(association.counts());
        memory = association.memory;
    }
    println!("{counts}");
    Ok(memory.octets(STAG).to_vec())
}

/// Sessions of one association until it is over; returns how many there were.
fn sessions(association: &mut Association, decision: Decision) -> Result<usize, PeerError> {
    let mut over = 0;
    loop {
        match association.next("a peer is served")? {
            Event::Up => {}
            Event::Requested(data) => {
                let (all, good) = (data.len(), as_agreed(&data));
                println!("requested: {all} octets of private data, {good} as agreed");
                match decision {
                    Decision::Accept(size) => association.accept(
                        &Offer {
                            stag: STAG,
                            base: BASE,
                            length: size as u64,
                        }
                        .emit(),
                    )?,
                    Decision::Reject(octets) => association.reject(&private_data(octets))?,
                }
            }
            Event::HalfClosed => association.finish(),
            Event::Free => {
                println!("session: over");
                over += 1;
            }
            Event::Terminated(cause) => println!("terminated: {cause}"),
            Event::Terminating(why) => println!("terminating: {why}"),
            Event::Ended(how) => {
                println!("association: {how}");
                return Ok(over);
            }
            event => println!("{event:?}"),
        }
    }
}

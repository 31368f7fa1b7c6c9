//! Start frames: from the TCP connection to what the host and the peer have agreed on.
//!
//! ```text
//!  Accepted ──► Responder ──► Requested ──► ACCEPT ──► Arming        REJECT ──► Draining
//!  CONNECT ───► Initiator ──► Replied ───────────────► Arming       Rejected ─► Draining
//!                                              Failed ─► closing
//! ```
//!
//! A Responder's connection is read until the host has answered: an octet in that time is an error (AMB-28), and a FIN or RST
//! ends the request. From the answer, and from the Reply at the Initiator, on nothing is read: all that the peer sends then
//! lies in TCP until the connection is attached, so that the first octet behind the start frame is the stream's first (AMB-16).

use crate::closing::{begin_draining, fail, failed};
use crate::entry::{Entry, Notes, State};
use crate::machine::Machine;
use crate::network::{Event, Network, Sequences};
use crate::session_start_up;
use crate::settings::{refusal, rtr};
use crate::start_up_end::arm;
use warpline_regmap::mailbox::{
    self, Accept, Connect, FailureCause, Offer, Refusal, Reject, Settings,
};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::{self, Answer, Depth, Enhanced, Initiator, MAX_FRAME_LEN, Parameters};

/// The machine of a connection that the host makes.
pub(crate) fn initiator(
    connect: &Connect,
    settings: &Settings,
    now: u64,
) -> Result<Initiator, Refusal> {
    let enhanced = connect.offer.map(
        |Offer {
             ird,
             ord,
             rtr: kinds,
         }| Enhanced {
            ird: depth(ird),
            ord: depth(ord),
            rtr: kinds.map(rtr),
        },
    );
    let private_data = connect.private_data.as_slice();
    let settings = crate::settings::initiator(settings);
    Initiator::new(settings, enhanced, private_data, 0, now).map_err(refusal)
}

const fn depth(depth: mailbox::Depth) -> Depth {
    match depth {
        mailbox::Depth::Negotiated(depth) => Depth::Negotiated(depth),
        mailbox::Depth::Ulp(depth) => Depth::Ulp(depth),
    }
}

/// An event of a connection that connects or exchanges start frames.
pub(crate) fn event<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settings: &Settings,
    event: &Event<N::Listener>,
    now: u64,
) {
    if entry.machine.session().is_some() {
        return session_start_up::event(entry, network, event);
    }
    match event {
        Event::Connected => {
            entry.state = State::Starting;
            exchange(entry, network, settings, now);
        }
        Event::Refused => {
            let cause = FailureCause::Unreachable;
            fail(entry, network, cause, ErrorNumber::MpaConnection);
        }
        Event::Readable | Event::Writable => exchange(entry, network, settings, now),
        Event::HalfClosed => {
            entry.machine.finish();
            judge(entry, network, settings, now);
        }
        Event::Lost => {
            entry.machine.lose();
            judge(entry, network, settings, now);
        }
        Event::Accepted(_) | Event::Answered(_) | Event::Detached | Event::SegmentChanged => {}
    }
}

/// Sends and reads as far as TCP and the machine allow.
fn exchange<N: Network>(entry: &mut Entry<N>, network: &mut N, settings: &Settings, now: u64) {
    let mut octets = [0; MAX_FRAME_LEN + 1];
    // A frame may come octet by octet; one more is an error.
    for _ in 0..=octets.len() {
        let (State::Starting, Some(handle)) = (entry.state, entry.handle) else {
            return;
        };
        if !entry.machine.output().is_empty() {
            match network.write(handle, entry.machine.output()) {
                Ok(sent) => entry.machine.sent(sent),
                Err(_) => entry.machine.lose(),
            }
        }
        let mut more = false;
        // A machine that sends takes no octets yet.
        if entry.machine.output().is_empty() {
            match network.read(handle, &mut octets) {
                Ok(count) => {
                    more = count > 0;
                    entry.machine.input(octets.get(..count).unwrap_or_default());
                }
                Err(_) => entry.machine.lose(),
            }
        }
        judge(entry, network, settings, now);
        if !more {
            return;
        }
    }
}

/// Acts on what the machine says, time-outs included.
pub(crate) fn judge<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settings: &Settings,
    now: u64,
) {
    if entry.machine.session().is_some() {
        return session_start_up::expired(entry, network);
    }
    match entry.machine.poll(now) {
        None => {}
        Some(start::Event::Requested) => entry.notes.insert(Notes::REQUESTED),
        Some(start::Event::Replied) => {
            // The machine itself goes on when the stream is armed: until then it can still say that there is none.
            let parameters = match &entry.machine {
                Machine::Initiator(machine) => machine.clone().proceed().ok(),
                Machine::Responder(_) | Machine::Session(_) => None,
            };
            settle(entry, network, parameters);
        }
        Some(start::Event::Rejected) => {
            entry.notes.insert(Notes::REJECTED);
            begin_draining(entry, network, settings, now);
        }
        Some(start::Event::Failed(failure)) => failed(entry, network, settings, failure, now),
    }
}

/// Start-up has succeeded: the stream can be armed.
fn settle<N: Network>(entry: &mut Entry<N>, network: &mut N, parameters: Option<Parameters>) {
    let unsent = entry.machine.output().len() as u32; // of our own frame, at most 532
    let sequences = entry
        .handle
        .and_then(|handle| network.sequences(handle).ok())
        .map(|sequences| Sequences {
            receive: sequences.receive,
            send: sequences.send.wrapping_add(unsent),
        });
    arm(entry, network, parameters.zip(sequences));
}

/// The host accepts.
pub(crate) fn accept<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    accept: &Accept,
) -> Result<(), Refusal> {
    if entry.machine.session().is_some() {
        session_start_up::accept(entry, network, accept.private_data)?;
        (entry.options, entry.counted) = (accept.stream, true);
        return Ok(());
    }
    let (State::Starting, Machine::Responder(machine)) = (entry.state, &mut entry.machine) else {
        return Err(Refusal::State);
    };
    let answer = answer(accept.ird, accept.ord, accept.rtr);
    let private_data = accept.private_data.as_slice();
    let parameters = machine.accept(private_data, &answer).map_err(refusal)?;
    (entry.options, entry.counted) = (accept.stream, true);
    settle(entry, network, Some(parameters));
    Ok(())
}

/// The host rejects, and forgets the connection.
pub(crate) fn reject<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settings: &Settings,
    reject: &Reject,
    now: u64,
) -> Result<(), Refusal> {
    if entry.machine.session().is_some() {
        return session_start_up::reject(entry, network, reject.private_data);
    }
    let (State::Starting, Machine::Responder(machine)) = (entry.state, &mut entry.machine) else {
        return Err(Refusal::State);
    };
    let answer = answer(reject.ird, reject.ord, reject.rtr);
    let private_data = reject.private_data.as_slice();
    machine.reject(private_data, &answer).map_err(refusal)?;
    (entry.forgotten, entry.notes) = (true, Notes::empty());
    begin_draining(entry, network, settings, now);
    Ok(())
}

fn answer(ird: u16, ord: u16, kinds: mailbox::Rtr) -> Answer {
    let rtr = rtr(kinds);
    Answer { ird, ord, rtr }
}

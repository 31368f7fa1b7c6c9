//! The body of the fuzz target and of the stable smoke test of MPA start-up: arbitrary calls of one
//! machine, whose guarantees are checked after each of them.
//!
//! Arbitrary octets alone would rarely pass a key, so an input to the machine is mostly a piece of a
//! valid frame.

use arbitrary::{Arbitrary, Result, Unstructured};
use warpline_wire::start::{
    Answer, Closing, Depth, Enhanced, Event, Frame, Initiator, Kind, MAX_FRAME_LEN, Negotiation,
    Parameters, Profile, Responder, Rtr, Settings,
};

/// One input.
#[derive(Debug)]
pub struct Input {
    initiator: bool,
    settings: Settings,
    enhanced: Option<Enhanced>,
    data: Vec<u8>,
    /// What the peer sends.
    stream: Vec<u8>,
    calls: Vec<Call>,
}

/// What the caller does next.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Call {
    /// Hands over this many octets of the peer's stream.
    Input(u8),
    InputAll,
    Sent(u8),
    SentAll,
    Poll(u16),
    Finish,
    Lose,
    /// `accept` or `proceed`.
    Accept(u8),
    /// `reject` or `refuse`.
    Reject(u8),
    Abandon,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        let initiator = source.arbitrary()?;
        let mut settings = Settings {
            markers: source.arbitrary()?,
            crc_off: source.arbitrary()?,
            force_crc: source.arbitrary()?,
            enhanced: source.ratio(3, 4)?,
            max_ird: source.int_in_range(0..=9)?,
            ..Settings::default()
        };
        if source.ratio(1, 8)? {
            settings.profile = Profile::Draft;
        }
        settings.timeouts.start_frames = source.int_in_range(1..=3000)?;
        let enhanced = source.ratio(1, 2)?.then_some(Enhanced {
            ird: Depth::Negotiated(source.int_in_range(0..=10)?),
            ord: Depth::Ulp(source.int_in_range(0..=10)?),
            rtr: source.ratio(1, 2)?.then_some(rtr(source.arbitrary()?)),
        });
        let data = data(source)?;
        let kind = if initiator {
            Kind::Reply
        } else {
            Kind::Request
        };
        let stream = stream(source, kind, settings.profile)?;
        let count = source.int_in_range(1..=24)?;
        let calls = (0..count).map(|_| call(source)).collect::<Result<_>>()?;
        Ok(Self {
            initiator,
            settings,
            enhanced,
            data,
            stream,
            calls,
        })
    }
}

/// Mostly octets and decisions; ends of the connection are rare.
fn call(source: &mut Unstructured<'_>) -> Result<Call> {
    Ok(match source.int_in_range(0..=9)? {
        0..=2 => Call::Input(source.arbitrary()?),
        3 => Call::InputAll,
        4..=5 => Call::SentAll,
        6 => Call::Accept(source.arbitrary()?),
        7 => Call::Poll(source.int_in_range(0..=300)?),
        _ => source.arbitrary()?,
    })
}

fn rtr(bits: u8) -> Rtr {
    Rtr::from_bits_truncate(bits)
}

/// Up to 600 octets, mostly few.
fn data(source: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let len = match source.int_in_range(0..=7)? {
        0 => source.int_in_range(0..=600)?,
        _ => source.int_in_range(0..=20)?,
    };
    Ok((0..len).map(|i| i as u8).collect())
}

/// A valid frame, one with a bit flipped, one of the wrong kind, or octets as they are; others behind it.
fn stream(source: &mut Unstructured<'_>, kind: Kind, profile: Profile) -> Result<Vec<u8>> {
    let data = data(source)?;
    let enhanced = source.arbitrary()?;
    let bits: [bool; 5] = source.arbitrary()?;
    let negotiation = Negotiation {
        peer_to_peer: bits[0],
        rtr_send: bits[1],
        rtr_write: bits[2],
        rtr_read: bits[3],
        ird: source.int_in_range(0..=12)?,
        ord: source.int_in_range(0..=12)?,
    };
    let frame = Frame {
        kind,
        markers: source.arbitrary()?,
        crc: source.arbitrary()?,
        rejected: source.ratio(1, 6)?,
        revision: if enhanced { 2 } else { 1 },
        negotiation: enhanced.then_some(negotiation),
        private_data: &data,
    };
    let mut octets = vec![0; MAX_FRAME_LEN];
    let len = frame.emit(&mut octets).unwrap_or(0);
    octets.truncate(len);
    if profile == Profile::Draft {
        octets = b"MPA ident frame\x40".to_vec();
    }
    if source.ratio(1, 3)? && !octets.is_empty() {
        let bit = source.int_in_range(0..=8 * octets.len() - 1)?;
        octets[bit / 8] ^= 1 << (bit % 8);
    }
    if source.ratio(1, 3)? {
        octets.extend(source.arbitrary::<[u8; 5]>()?);
    }
    Ok(octets)
}

/// Either machine.
#[derive(Clone)]
enum Machine {
    Initiator(Initiator),
    Responder(Responder),
}

macro_rules! either {
    ($machine:expr, $it:ident => $call:expr) => {
        match $machine {
            Machine::Initiator($it) => $call,
            Machine::Responder($it) => $call,
        }
    };
}

/// What was seen of a machine.
#[derive(Default)]
struct Seen {
    events: Vec<String>,
    taken: usize,
    sent: usize,
    over: bool,
    failed: bool,
    decided: bool,
}

/// Runs one input, panics if a guarantee is broken, and returns what happened as text.
pub fn run(input: &Input) -> Vec<String> {
    let (settings, data) = (input.settings, &input.data);
    let new = if input.initiator {
        Initiator::new(settings, input.enhanced, data, 0, 0).map(Machine::Initiator)
    } else {
        Responder::after_message(settings, data, 0, 0).map(Machine::Responder)
    };
    let mut machine = match new {
        Ok(machine) => machine,
        Err(error) => return vec![name(&error)],
    };
    let mut seen = Seen::default();
    let mut now = 0;
    for &call in &input.calls {
        let before = (machine.clone(), seen.decided);
        let rest = &input.stream[seen.taken..];
        match call {
            Call::Input(len) => give(&mut machine, &mut seen, &rest[..rest.len().min(len.into())]),
            Call::InputAll => give(&mut machine, &mut seen, rest),
            Call::Sent(octets) => send(&mut machine, &mut seen, octets.into()),
            Call::SentAll => send(&mut machine, &mut seen, usize::MAX),
            Call::Poll(later) => now += u64::from(later),
            Call::Finish => either!(&mut machine, it => it.finish()),
            Call::Lose => either!(&mut machine, it => it.lose()),
            Call::Accept(bits) => accept(&mut machine, input, &mut seen, bits),
            Call::Reject(bits) => reject(&mut machine, input, &mut seen, bits),
            Call::Abandon => {
                if let Machine::Initiator(it) = &mut machine {
                    seen.decided |= it.abandon().is_ok();
                }
            }
        }
        if seen.decided && !before.1 {
            assert!(peer(&before.0).is_some(), "decided without a frame");
        }
        check(&mut machine, &mut seen, now);
    }
    seen.events
}

fn peer(machine: &Machine) -> Option<Frame<'_>> {
    either!(machine, it => it.peer())
}

/// Hands octets over; the caller keeps what is not taken.
fn give(machine: &mut Machine, seen: &mut Seen, octets: &[u8]) {
    // The same in two halves leads to the same.
    let mut halves = machine.clone();
    let (first, second) = octets.split_at(octets.len() / 2);
    let taken = either!(machine, it => it.input(octets));
    assert!(taken <= octets.len());
    assert!(
        !seen.over || taken == 0,
        "a machine that is over takes nothing"
    );
    let mut of_halves = either!(&mut halves, it => it.input(first));
    if of_halves == first.len() {
        of_halves += either!(&mut halves, it => it.input(second));
    }
    let mut whole = machine.clone();
    let events = [&mut whole, &mut halves].map(|machine| either!(machine, it => it.poll(0)));
    assert_eq!(events[0], events[1], "the event depends on the cut");
    if !matches!(events[0], Some(Event::Failed(_))) {
        assert_eq!(taken, of_halves);
    }
    seen.taken += taken;
    assert!(seen.taken <= MAX_FRAME_LEN, "never more than one frame");
}

fn send(machine: &mut Machine, seen: &mut Seen, most: usize) {
    let output = either!(&*machine, it => it.output().len());
    either!(machine, it => it.sent(most));
    seen.sent += output.min(most);
}

fn accept(machine: &mut Machine, input: &Input, seen: &mut Seen, bits: u8) {
    let result = match machine {
        Machine::Initiator(it) => it.proceed(),
        Machine::Responder(it) => it.accept(&input.data, &answer(bits)),
    };
    match result {
        Ok(parameters) => {
            seen.decided = true;
            consistent(&parameters, machine, input, seen);
            seen.events.push("FullOperation".into());
        }
        Err(error) => seen.events.push(name(&error)),
    }
}

fn reject(machine: &mut Machine, input: &Input, seen: &mut Seen, bits: u8) {
    let result = match machine {
        Machine::Initiator(it) => it.refuse(),
        Machine::Responder(it) => it.reject(&input.data, &answer(bits)),
    };
    match result {
        Ok(()) => seen.decided = true,
        Err(error) => seen.events.push(name(&error)),
    }
}

fn answer(bits: u8) -> Answer {
    Answer {
        ird: u16::from(bits >> 4),
        ord: u16::from(bits >> 2 & 3),
        rtr: rtr(bits | 2),
    }
}

/// What must hold of parameters, whatever the peer sent.
fn consistent(parameters: &Parameters, machine: &Machine, input: &Input, seen: &Seen) {
    let settings = &input.settings;
    assert_eq!(usize::from(parameters.received), seen.taken);
    let unsent = either!(machine, it => it.output().len());
    assert_eq!(usize::from(parameters.sent), seen.sent + unsent);
    assert_eq!(parameters.receive_markers, settings.markers);
    assert!(parameters.crc || !settings.requests_crc());
    assert_eq!(parameters.gate().is_open(), input.initiator);
    if let Some(agreement) = parameters.agreement {
        assert!(settings.enhanced && parameters.revision == 2);
        assert!(input.initiator || agreement.ord <= agreement.peer.ird);
        assert!(agreement.ird <= settings.max_ird.max(1));
        assert!(!input.initiator || agreement.rtr.bits().count_ones() <= 1);
    }
}

/// Polls, and checks what holds after every call.
fn check(machine: &mut Machine, seen: &mut Seen, now: u64) {
    let pending = either!(&*machine, it => it.output().len());
    assert!(pending <= MAX_FRAME_LEN);
    if let Some(event) = either!(&mut *machine, it => it.poll(now)) {
        assert!(
            !seen.over && !seen.failed,
            "an event after the end: {event:?}"
        );
        match event {
            Event::Requested | Event::Replied => assert!(peer(machine).is_some()),
            Event::Rejected => {
                assert!(peer(machine).is_some_and(|frame| frame.rejected));
                seen.over = true;
            }
            Event::Failed(failure) => {
                seen.failed = true;
                let output = either!(&*machine, it => it.output().len());
                assert!(output == 0 || failure.closing == Closing::AfterOutput);
                let terminate = matches!(failure.closing, Closing::AfterTerminate(_));
                assert!(!terminate || failure.cause.number().code() >= 5);
            }
        }
        seen.events.push(match event {
            Event::Failed(failure) => name(&failure.cause),
            event => name(&event),
        });
    }
    assert_eq!(
        either!(&mut *machine, it => it.poll(now)),
        None,
        "one event at a time"
    );
    seen.over |= seen.failed || seen.decided;
    let over = either!(&*machine, it => it.is_over() && it.deadline().is_none());
    assert!(!seen.over || over || pending > 0);
    assert!(!seen.over || either!(machine, it => it.input(b"MPA ID Re")) == 0);
}

/// The name of a variant.
fn name(value: &impl core::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let text = text.strip_prefix("Frame(").unwrap_or(&text);
    text.split([' ', '(', '{'])
        .next()
        .unwrap_or_default()
        .into()
}

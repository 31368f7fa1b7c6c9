//! The body of the fuzz target and of the stable smoke test of DDP over SCTP: arbitrary calls of an
//! association, whose guarantees are checked after each of them; arbitrary octets for the formats, and
//! segments in arbitrary order for the reference receiver.

use arbitrary::{Arbitrary, Result, Unstructured};
use std::collections::BTreeSet;
use warpline_wire::receive::{Scope, StagEntry, Target};
use warpline_wire::sctp::receive::{self, Receiver, SessionConfig};
use warpline_wire::sctp::{
    Association, Cause, Chunk, ChunkError, Control, DataChunk, Ending, Event, Function, Indication,
    Ip, MAX_CONTROL_LEN, MAX_IN_FLIGHT, Path, Peer, Receipt, Received, Segment, Settings, Sink,
    Ssn, Stream, Timeouts, ppid,
};

/// Streams of the association.
const STREAMS: u16 = 3;
/// The window of its sessions.
const WINDOW: u16 = 32;

/// One input.
#[derive(Debug)]
pub struct Input {
    settings: Settings,
    calls: Vec<Call>,
    octets: Vec<u8>,
    segments: Vec<(u16, u8, u8)>,
}

/// What happens next.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Call {
    /// The chunk that a conforming peer could send next.
    Legal {
        stream: u8,
        choice: u8,
    },
    /// A control message, its number relative to the next one in order.
    Control {
        stream: u8,
        ahead: i8,
        function: u8,
        data: u8,
    },
    /// A segment, likewise.
    Segment {
        stream: u8,
        ahead: i8,
    },
    /// A chunk with any number.
    Any {
        stream: u8,
        ppid: u8,
        ssn: u16,
    },
    /// A chunk that ends within its header.
    Cut {
        stream: u8,
        ppid: u8,
        len: u8,
    },
    Initiate {
        stream: u8,
        data: u16,
    },
    Accept {
        stream: u8,
        data: u16,
    },
    Reject {
        stream: u8,
        data: u16,
    },
    Terminate {
        stream: u8,
    },
    Send {
        stream: u8,
        len: u16,
    },
    Sent,
    Acknowledged {
        stream: u8,
        chunks: u8,
    },
    AllAcknowledged,
    Overflow {
        stream: u8,
    },
    Poll {
        later: u8,
    },
    Path {
        mtu: u16,
    },
    End {
        ending: u8,
    },
    Established {
        indication: u8,
        outbound: u8,
        inbound: u8,
    },
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        let settings = Settings {
            indication: Indication(u32::from(!source.ratio(1, 40)?)),
            backlog: source.int_in_range(0..=2)?,
            window: WINDOW,
            reserve: source.int_in_range(0..=40)?,
            timeouts: Timeouts {
                answer: source.int_in_range(1..=200)?,
                decision: source.int_in_range(1..=200)?,
                end: source.int_in_range(1..=200)?,
            },
        };
        let count = source.int_in_range(1..=40)?;
        let calls = (0..count).map(|_| call(source)).collect::<Result<_>>()?;
        let len = source.int_in_range(0..=40)?;
        let octets = source.bytes(len)?.to_vec();
        let count = source.int_in_range(0..=12)?;
        let segments = (0..count)
            .map(|_| {
                Ok((
                    source.arbitrary()?,
                    source.arbitrary()?,
                    source.arbitrary()?,
                ))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            settings,
            calls,
            octets,
            segments,
        })
    }
}

/// Mostly what makes a session go on; ends of the association are rare.
fn call(source: &mut Unstructured<'_>) -> Result<Call> {
    let stream = match source.int_in_range(0..=31)? {
        0 => STREAMS as u8,
        other => other % STREAMS as u8,
    };
    let data = 0;
    Ok(match source.int_in_range(0..=31)? {
        0..=9 => Call::Legal {
            stream,
            choice: source.arbitrary()?,
        },
        10 => Call::Control {
            stream,
            ahead: source.int_in_range(0..=2)?,
            function: source.int_in_range(1..=4)?,
            // 513 octets, one too many.
            data: if source.ratio(1, 8)? { 171 } else { 0 },
        },
        11..=12 => Call::Segment {
            stream,
            ahead: source.int_in_range(-1..=4)?,
        },
        13..=15 => Call::Initiate { stream, data },
        16..=17 => Call::Accept { stream, data },
        18..=19 => Call::Terminate { stream },
        20..=23 => Call::Sent,
        24..=25 => Call::AllAcknowledged,
        26..=27 => Call::Send { stream, len: 4 },
        _ => match source.arbitrary()? {
            Call::End { .. } if source.ratio(3, 4)? => Call::Sent,
            call => call,
        },
    })
}

type End = Association<[Stream<1>; STREAMS as usize], 1>;

/// What was seen of a session.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// A session that the ULP knows is there.
    known: bool,
    /// The ULP has been asked, and has not decided.
    asked: bool,
    placed: BTreeSet<u16>,
    /// Chunks in order so far, without wrap.
    in_order: u64,
    terminated: bool,
    /// Chunks that this end has sent.
    sent: u64,
    rejected: bool,
}

#[derive(Default)]
struct Run {
    seen: [Seen; STREAMS as usize],
    names: Vec<String>,
    max_segment: u16,
    up: bool,
}

/// Runs one input, panics if a guarantee is broken, and returns what happened as text.
pub fn run(input: &Input) -> Vec<String> {
    let mut names = associations(input);
    formats(&input.octets);
    names.extend(receiver(&input.segments));
    names
}

fn peer(indication: u8, outbound: u8, inbound: u8) -> Peer {
    Peer {
        indication: (indication != 2).then_some(Indication(u32::from(indication))),
        outbound: outbound.into(),
        inbound: inbound.into(),
        path: Path::new(Ip::V4, 1500),
    }
}

fn associations(input: &Input) -> Vec<String> {
    let mut end = End::new(input.settings, Default::default()).expect("a window that fits");
    let mut run = Run::default();
    let mut now = 0;
    establish(&mut end, &mut run, &peer(1, 3, 3));
    for &call in &input.calls {
        step(&mut end, &mut run, call, &mut now);
        check(&end, &run);
    }
    run.names
}

fn establish(end: &mut End, run: &mut Run, peer: &Peer) {
    let was_up = end.is_up();
    let mut max_segment = None;
    let result = end.established(peer, &mut |event: Event<'_>| match event {
        Event::MaxSegment { octets } => max_segment = Some(octets),
        other => panic!("{other:?}"),
    });
    match result {
        Ok(pairs) => {
            assert!(!was_up && pairs > 0 && pairs <= STREAMS.min(peer.outbound).min(peer.inbound));
            assert_eq!(peer.indication, Some(Indication::DDP));
            run.max_segment = max_segment.expect("DDP learns the maximum");
        }
        Err(refusal) => run.names.push(name(&refusal)),
    }
    run.up = end.is_up();
}

fn step(end: &mut End, run: &mut Run, call: Call, now: &mut u64) {
    let at = *now;
    let data = vec![0xA5; 600];
    let of = |len: u16| &data[..usize::from(len % 600)];
    match call {
        Call::Legal { stream, choice } => {
            let seen = run
                .seen
                .get(usize::from(stream))
                .cloned()
                .unwrap_or_default();
            let [high, low] = (seen.in_order as u16).to_be_bytes();
            let (ppid, octets) = match choice % 16 {
                _ if !seen.known => (ppid::CONTROL, vec![0, 0, 0, 1]),
                0..12 if seen.in_order == 0 => (ppid::CONTROL, vec![0, 0, 0, 2]),
                12..14 if seen.in_order == 0 => (ppid::CONTROL, vec![0, 0, 0, 3]),
                _ if seen.in_order == 0 => (ppid::CONTROL, vec![0, 0, 0, 4]),
                0..12 => (ppid::SEGMENT, vec![high, low, 0xD0]),
                _ => (ppid::CONTROL, vec![high, low, 0, 4]),
            };
            give(end, run, at, stream.into(), ppid, &octets);
        }
        Call::Control {
            stream,
            ahead,
            function,
            data,
        } => {
            let ssn = relative(run, stream, ahead);
            let [high, low] = ssn.to_be_bytes();
            let mut octets = vec![high, low, 0, function];
            octets.resize(4 + usize::from(data) * 3, 0xDA);
            give(end, run, at, stream.into(), ppid::CONTROL, &octets);
        }
        Call::Segment { stream, ahead } => {
            let [high, low] = relative(run, stream, ahead).to_be_bytes();
            give(
                end,
                run,
                at,
                stream.into(),
                ppid::SEGMENT,
                &[high, low, 0xD0],
            );
        }
        Call::Any { stream, ppid, ssn } => {
            let [high, low] = ssn.to_be_bytes();
            give(end, run, at, stream.into(), ppid.into(), &[high, low, 0, 4]);
        }
        Call::Cut { stream, ppid, len } => {
            let octets = [0; 3];
            let octets = &octets[..usize::from(len % 4)];
            give(
                end,
                run,
                at,
                stream.into(),
                16 + u32::from(ppid % 2),
                octets,
            );
        }
        Call::Initiate { stream, data } => {
            let result = end.initiate(stream.into(), of(data), at);
            if result.is_ok() {
                let seen = &mut run.seen[usize::from(stream)];
                assert!(!seen.known, "a session on a stream in use");
                *seen = Seen {
                    known: true,
                    ..Seen::default()
                };
            }
            note(run, &result);
        }
        Call::Accept { stream, data } => {
            let result = end.accept(stream.into(), of(data));
            decided(run, stream, result.is_ok());
            assert_eq!(
                end.is_open(stream.into()),
                result.is_ok() || end.is_open(stream.into())
            );
            note(run, &result);
        }
        Call::Reject { stream, data } => {
            let result = end.reject(stream.into(), of(data));
            decided(run, stream, result.is_ok());
            if result.is_ok() {
                let seen = &mut run.seen[usize::from(stream)];
                (seen.known, seen.rejected) = (false, true);
            }
            note(run, &result);
        }
        Call::Terminate { stream } => {
            let result = end.terminate(stream.into(), at, &mut Judge(run));
            note(run, &result);
        }
        Call::Send { stream, len } => {
            let mut out = [0; 1600];
            let open = end.is_open(stream.into());
            let result = end.send(stream.into(), &[0; 14], of(len), &mut out);
            if let Ok(written) = result {
                let seen = &mut run.seen[usize::from(stream)];
                assert!(open && written == 16 + usize::from(len % 600));
                assert!(seen.sent > 0, "the control message goes first");
                assert_eq!(out[..2], (seen.sent as u16).to_be_bytes());
                seen.sent += 1;
            }
            note(run, &result);
        }
        Call::Sent => {
            let Some(output) = end.output() else { return };
            let stream = output.stream;
            let control = Control::parse(output.user_data).expect("well formed");
            let seen = &mut run.seen[usize::from(stream)];
            match control.function {
                Function::Reject => assert!(std::mem::take(&mut seen.rejected), "the ULP alone"),
                Function::Initiate | Function::Accept => assert_eq!(control.ssn, Ssn::FIRST),
                Function::Terminate => {}
            }
            assert!(control.ssn == Ssn::FIRST || control.ssn.0 == seen.sent as u16);
            seen.sent = u64::from(control.ssn.0) + 1;
            events(run, |sink| end.sent(stream, sink));
        }
        Call::Acknowledged { stream, chunks } => {
            events(run, |sink| {
                end.acknowledged(stream.into(), chunks.into(), sink)
            });
        }
        Call::AllAcknowledged => events(run, |sink| end.all_acknowledged(sink)),
        Call::Overflow { stream } => {
            let mut result = Ok(());
            events(run, |sink| result = end.early_overflow(stream.into(), sink));
            note(run, &result);
        }
        Call::Poll { later } => {
            *now += u64::from(later);
            let now = *now;
            events(run, |sink| end.poll(now, sink));
            assert!(end.deadline().is_none_or(|deadline| deadline > now));
        }
        Call::Path { mtu } => events(run, |sink| end.path_changed(Path::new(Ip::V6, mtu), sink)),
        Call::End { ending } => {
            let endings = [
                Ending::Lost,
                Ending::Aborted,
                Ending::ShutDown,
                Ending::Restarted,
            ];
            events(run, |sink| end.end(endings[usize::from(ending % 4)], sink));
            assert!(
                run.seen.iter().all(|seen| !seen.known),
                "each session is told"
            );
            assert_eq!((end.in_use(), end.output().is_some()), (0, false));
            run.seen = Default::default();
            run.up = false;
            if ending % 4 == 3 && ending < 200 {
                establish(end, run, &peer(1, 3, 3));
            }
        }
        Call::Established {
            indication,
            outbound,
            inbound,
        } => {
            establish(end, run, &peer(indication % 3, outbound % 5, inbound % 5));
        }
    }
}

/// A DDP-SSN relative to the next one in order of the stream.
fn relative(run: &Run, stream: u8, ahead: i8) -> u16 {
    let next = run
        .seen
        .get(usize::from(stream))
        .map_or(0, |seen| seen.in_order);
    (next as u16).wrapping_add_signed(ahead.into())
}

fn decided(run: &mut Run, stream: u8, done: bool) {
    if let Some(seen) = run.seen.get_mut(usize::from(stream)) {
        assert!(!done || seen.asked, "a decision that was not due");
        seen.asked &= !done;
    }
}

fn note<T, E: core::fmt::Debug>(run: &mut Run, result: &std::result::Result<T, E>) {
    if let Err(error) = result {
        run.names.push(name(error));
    }
}

fn give(end: &mut End, run: &mut Run, now: u64, stream: u16, ppid: u32, user_data: &[u8]) {
    let received = Received {
        stream,
        ppid,
        user_data,
    };
    let mut receipt = Receipt::Taken;
    events(run, |sink| receipt = end.receive(&received, now, sink));
    if receipt == Receipt::Early {
        assert!(run.seen[usize::from(stream)].asked && ppid == ppid::SEGMENT);
        run.names.push("Early".into());
    }
}

/// Checks each event.
struct Judge<'r>(&'r mut Run);

impl Sink for Judge<'_> {
    fn event(&mut self, event: Event<'_>) {
        judge(self.0, event);
    }
}

fn events(run: &mut Run, call: impl FnOnce(&mut Judge<'_>)) {
    call(&mut Judge(run));
}

fn judge(run: &mut Run, event: Event<'_>) {
    assert!(
        run.up,
        "an association that is not up says nothing: {event:?}"
    );
    run.names.push(match event {
        Event::Failed { cause, .. } => format!("Failed {}", cause_name(&cause)),
        Event::Stray { cause, .. } => format!("Stray {}", cause_name(&cause)),
        _ => name(&event),
    });
    let stream = match event {
        Event::MaxSegment { octets } => {
            assert!(octets >= 516 && octets != run.max_segment);
            run.max_segment = octets;
            return;
        }
        Event::Stray { stream, cause } => {
            let unpaired = matches!(cause, Cause::Unpaired { .. });
            assert!(unpaired || !run.seen[usize::from(stream)].known);
            if !unpaired {
                run.seen[usize::from(stream)] = Seen::default();
            }
            return;
        }
        Event::Requested { stream, .. }
        | Event::Accepted { stream, .. }
        | Event::Rejected { stream, .. }
        | Event::Refused { stream }
        | Event::Segment { stream, .. }
        | Event::InOrder { stream, .. }
        | Event::Terminated { stream }
        | Event::Failed { stream, .. }
        | Event::Abandoned { stream }
        | Event::Free { stream }
        | Event::Lost { stream, .. } => stream,
    };
    let seen = &mut run.seen[usize::from(stream)];
    match event {
        Event::Requested { .. } => {
            assert!(!seen.known, "a session on a stream in use");
            *seen = Seen {
                known: true,
                asked: true,
                in_order: 1,
                ..Seen::default()
            };
            return;
        }
        Event::Free { .. } => {
            *seen = Seen::default();
            return;
        }
        _ => assert!(seen.known, "{event:?} of no session"),
    }
    match event {
        Event::Segment { segment, .. } => {
            assert!(!seen.asked && !seen.terminated);
            let ahead = segment.ssn.ahead_of(Ssn(seen.in_order as u16));
            assert!(ahead < WINDOW, "{ahead} ahead");
            assert!(seen.placed.insert(segment.ssn.0), "placed twice");
        }
        Event::InOrder { next, .. } => {
            let steps = next.ahead_of(Ssn(seen.in_order as u16));
            assert!(steps > 0 && steps <= WINDOW);
            seen.in_order += u64::from(steps);
            // Memory of this checker, not of the machine: numbers out of reach may come again.
            let in_order = seen.in_order as u16;
            seen.placed
                .retain(|ssn| Ssn(*ssn).ahead_of(Ssn(in_order)) < WINDOW);
        }
        Event::Terminated { .. } => {
            assert!(!seen.terminated);
            seen.terminated = true;
            if seen.asked {
                (seen.known, seen.asked) = (false, false);
            }
        }
        Event::Accepted { .. } => assert_eq!(seen.in_order, 0),
        _ => (seen.known, seen.asked) = (false, false),
    }
}

/// What holds after each call.
fn check(end: &End, run: &Run) {
    assert_eq!(end.is_up(), run.up);
    assert!(end.in_use() <= usize::from(STREAMS));
    for (seen, stream) in run.seen.iter().zip(0..) {
        assert!(!end.is_open(stream) || seen.known, "open, and not known");
    }
    if let Some(output) = end.output() {
        assert!(run.up && output.ppid == ppid::CONTROL && output.stream < STREAMS);
        assert!(output.user_data.len() <= MAX_CONTROL_LEN);
    }
}

/// What a parser accepts, it writes the same.
fn formats(octets: &[u8]) {
    for ppid in [ppid::SEGMENT, ppid::CONTROL, 0] {
        let mut out = [0; 64];
        let written = match Chunk::parse(ppid, octets) {
            Ok(Chunk::Control(control)) => control.emit(&mut out).expect("room"),
            Ok(Chunk::Segment(segment)) => {
                Segment::emit(segment.ssn, segment.octets, &[], &mut out).expect("room")
            }
            Err(_) => continue,
        };
        assert_eq!(out[..written], *octets);
    }
    if let Ok(chunk) = DataChunk::new_checked(octets) {
        assert!(chunk.user_data().len() + 16 <= octets.len());
        assert!(chunk.total_len() <= octets.len());
        let _ = (chunk.flags(), chunk.tsn(), chunk.stream(), chunk.ppid());
    }
    if let Ok(Some(indication)) = Indication::find(octets) {
        assert!(octets.windows(8).any(|window| window == indication.emit()));
    }
}

/// Segments in any order: nothing is placed outside, twice, or delivered before its turn.
fn receiver(segments: &[(u16, u8, u8)]) -> Vec<String> {
    let mut receiver = Receiver::default();
    let config = SessionConfig {
        window: WINDOW,
        ..SessionConfig::default()
    };
    receiver.open(1, config).expect("a window that fits");
    receiver.enable_queue(1, 0, 1).expect("a queue of its own");
    receiver.post(1, 0, 8).expect("room");
    receiver.set_stag(
        7,
        StagEntry {
            valid: true,
            scope: Scope::ProtectionDomain(0),
            remote_write: true,
            base: 16,
            length: 32,
        },
    );
    let mut names = Vec::new();
    let (mut failed, mut taken) = (false, BTreeSet::new());
    for &(ssn, place, kind) in segments {
        // Mostly near, sometimes anywhere.
        let ssn = if place % 16 == 0 { ssn } else { ssn % 8 };
        let octets = match kind % 4 {
            0 => vec![
                0x41,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                1,
                0,
                0,
                0,
                place % 10,
                9,
            ],
            1 => vec![kind; usize::from(place % 20)],
            _ => vec![
                0xC1,
                0,
                0,
                0,
                0,
                7,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                place % 56,
                1,
                2,
                3,
            ],
        };
        let mut placed = 0;
        let mut sink = |event: receive::Event<'_>| {
            assert!(!failed, "an event behind the error");
            match event {
                receive::Event::Place { target, octets, .. } => {
                    placed += 1;
                    match target {
                        Target::Tagged { to, .. } => {
                            assert!(to >= 16 && to + octets.len() as u64 <= 48);
                        }
                        Target::Untagged { offset, .. } => {
                            assert!(offset as usize + octets.len() <= 8);
                        }
                    }
                    names.push("Place".into());
                }
                receive::Event::Delivered { .. } => names.push("Delivered".into()),
                receive::Event::Failed(failure) => {
                    failed = true;
                    names.push(match failure {
                        receive::Failure::Ddp(_) => "Ddp".into(),
                        receive::Failure::Ssn { .. } => "Ssn".into(),
                    });
                }
            }
        };
        let segment = Segment {
            ssn: Ssn(ssn),
            octets: &octets,
        };
        match kind % 16 {
            15 => receiver.control(1, Ssn(ssn), &mut sink),
            _ => receiver.segment(1, segment, &mut sink),
        }
        .expect("the stream is open");
        assert!(placed <= 1);
        assert!(placed == 0 || taken.insert(ssn), "placed twice");
        let waiting = receiver.waiting(1).expect("the stream is open");
        assert!(waiting < usize::from(WINDOW) && waiting <= taken.len() + segments.len());
        assert_eq!(receiver.is_frozen(1), Ok(failed));
    }
    names
}

/// The name of a cause, and of the format error in it.
fn cause_name(cause: &Cause) -> String {
    match cause {
        Cause::Chunk(error) => chunk_name(error),
        cause => name(cause),
    }
}

fn chunk_name(error: &ChunkError) -> String {
    name(error)
}

/// The name of a variant.
fn name(value: &impl core::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let text = text.strip_prefix("Chunk(").unwrap_or(&text);
    text.split([' ', '(', '{', ')'])
        .next()
        .unwrap_or_default()
        .into()
}

const _: () = assert!(WINDOW < MAX_IN_FLIGHT);

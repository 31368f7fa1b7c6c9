//! DDP over SCTP: formats, order, sessions, associations, and the reference receiver.

#[path = "../common/mod.rs"]
mod common;

mod association;
mod formats;
mod hostile;
mod illegal;
mod order;
mod pairs;
mod receiver;
mod sender;
mod sessions;
mod sizes;

use warpline_wire::sctp::{
    Association, Cause, Ending, Event, FULL_WINDOW_WORDS, Indication, Ip, Path, Peer, Receipt,
    Received, Settings, Sink, Ssn, Stream, ppid,
};

/// An association with the largest window.
type End = Association<Vec<Stream<FULL_WINDOW_WORDS>>, FULL_WINDOW_WORDS>;

const PATH: Path = Path::new(Ip::V4, 1500);

/// A peer that speaks DDP on as many streams.
fn peer(streams: u16) -> Peer {
    Peer {
        indication: Some(Indication::DDP),
        outbound: streams,
        inbound: streams,
        path: PATH,
    }
}

fn new(settings: Settings, streams: u16) -> End {
    Association::new(settings, vec![Stream::default(); streams.into()]).unwrap()
}

/// An association that is up.
fn up(settings: Settings, streams: u16) -> End {
    let mut end = new(settings, streams);
    let mut log = Log::default();
    assert_eq!(end.established(&peer(streams), &mut log), Ok(streams));
    assert_eq!(log.take(), [Seen::MaxSegment(1434)]);
    end
}

/// An event that owns its octets.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Requested(u16, Vec<u8>),
    Accepted(u16, Vec<u8>),
    Rejected(u16, Vec<u8>),
    Refused(u16),
    Segment(u16, u16, Vec<u8>),
    InOrder(u16, u16),
    Terminated(u16),
    Failed(u16, Cause),
    Stray(u16, Cause),
    Abandoned(u16),
    Free(u16),
    Lost(u16, Ending),
    MaxSegment(u16),
}

/// Keeps events in order.
#[derive(Debug, Default)]
struct Log(Vec<Seen>);

impl Log {
    fn take(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.0)
    }
}

impl Sink for Log {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Requested {
                stream,
                private_data,
            } => Seen::Requested(stream, private_data.to_vec()),
            Event::Accepted {
                stream,
                private_data,
            } => Seen::Accepted(stream, private_data.to_vec()),
            Event::Rejected {
                stream,
                private_data,
            } => Seen::Rejected(stream, private_data.to_vec()),
            Event::Refused { stream } => Seen::Refused(stream),
            Event::Segment { stream, segment } => {
                Seen::Segment(stream, segment.ssn.0, segment.octets.to_vec())
            }
            Event::InOrder { stream, next } => Seen::InOrder(stream, next.0),
            Event::Terminated { stream } => Seen::Terminated(stream),
            Event::Failed { stream, cause } => Seen::Failed(stream, cause),
            Event::Stray { stream, cause } => Seen::Stray(stream, cause),
            Event::Abandoned { stream } => Seen::Abandoned(stream),
            Event::Free { stream } => Seen::Free(stream),
            Event::Lost { stream, ending } => Seen::Lost(stream, ending),
            Event::MaxSegment { octets } => Seen::MaxSegment(octets),
        });
    }
}

/// Octets of hexadecimal text with spaces.
fn hex(text: &str) -> Vec<u8> {
    hex::decode(text.replace(' ', "")).unwrap()
}

/// The events that a chunk of the peer causes, at time 0. It must be taken.
#[track_caller]
fn chunk(end: &mut End, stream: u16, ppid: u32, user_data: &[u8]) -> Vec<Seen> {
    let mut log = Log::default();
    let received = Received {
        stream,
        ppid,
        user_data,
    };
    assert_eq!(end.receive(&received, 0, &mut log), Receipt::Taken);
    log.take()
}

/// A control message of the peer, as hexadecimal text.
#[track_caller]
fn control(end: &mut End, stream: u16, text: &str) -> Vec<Seen> {
    chunk(end, stream, ppid::CONTROL, &hex(text))
}

/// A DDP segment of the peer with one octet of content, which the session machine does not examine.
#[track_caller]
fn segment(end: &mut End, stream: u16, ssn: u16) -> Vec<Seen> {
    chunk(end, stream, ppid::SEGMENT, &segment_octets(ssn))
}

fn segment_octets(ssn: u16) -> [u8; 3] {
    let [high, low] = ssn.to_be_bytes();
    [high, low, 0xD0]
}

/// What the machine reports for such a segment.
fn placed(stream: u16, ssn: u16) -> Seen {
    Seen::Segment(stream, ssn, vec![0xD0])
}

/// Hands the machine's control message to SCTP: stream and user data.
fn output(end: &mut End) -> Option<(u16, Vec<u8>)> {
    let output = end.output()?;
    assert_eq!(output.ppid, 17);
    let message = (output.stream, output.user_data.to_vec());
    let mut log = Log::default();
    end.sent(message.0, &mut log);
    assert_eq!(log.take(), [], "a message that SCTP has taken is no news");
    Some(message)
}

/// The machine's control message must be this one.
#[track_caller]
fn sends(end: &mut End, stream: u16, text: &str) {
    assert_eq!(output(end), Some((stream, hex(text))));
}

#[track_caller]
fn sends_nothing(end: &mut End) {
    assert_eq!(output(end), None);
}

/// SCTP acknowledges chunks of the machine.
fn acknowledged(end: &mut End, stream: u16, chunks: u16) -> Vec<Seen> {
    let mut log = Log::default();
    end.acknowledged(stream, chunks, &mut log);
    log.take()
}

fn terminate(end: &mut End, stream: u16) -> Vec<Seen> {
    let mut log = Log::default();
    end.terminate(stream, 0, &mut log).unwrap();
    log.take()
}

fn poll(end: &mut End, now: u64) -> Vec<Seen> {
    let mut log = Log::default();
    end.poll(now, &mut log);
    log.take()
}

/// An active side whose Initiate SCTP has taken, and nobody has acknowledged.
fn initiating(settings: Settings) -> End {
    let mut end = up(settings, 4);
    end.initiate(1, b"hi!", 0).unwrap();
    sends(&mut end, 1, "0000 0001 68 69 21");
    end
}

/// An active side whose session is accepted.
fn active() -> End {
    let mut end = initiating(Settings::default());
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    let accepted = [Seen::Accepted(1, vec![]), Seen::InOrder(1, 1)];
    assert_eq!(control(&mut end, 1, "0000 0002"), accepted);
    end
}

/// A passive side with an Initiate that waits for the decision.
fn pending() -> End {
    let mut end = up(Settings::default(), 4);
    let requested = [Seen::Requested(1, b"hi!".to_vec())];
    assert_eq!(control(&mut end, 1, "0000 0001 68 69 21"), requested);
    end
}

/// A passive side that has accepted. Its Accept is acknowledged.
fn passive() -> End {
    let mut end = pending();
    end.accept(1, b"").unwrap();
    sends(&mut end, 1, "0000 0002");
    assert_eq!(acknowledged(&mut end, 1, 1), []);
    end
}

/// Sends a segment of one octet; its user data.
fn send(end: &mut End, stream: u16) -> Result<Vec<u8>, warpline_wire::sctp::SendError> {
    let mut out = [0xEE; 8];
    let len = end.send(stream, &[0xD0], &[], &mut out)?;
    Ok(out[..len].to_vec())
}

/// The DDP-SSN of a chunk that the machine has written.
fn ssn(user_data: &[u8]) -> Ssn {
    Ssn(u16::from_be_bytes([user_data[0], user_data[1]]))
}

//! The common body of the fuzz target `server` and of the stable smoke test: an arbitrary client, mostly with well-formed
//! messages that have a fault, and a server with a model.
//!
//! Checked: no panic, a reply to each command that requires one, in order, the right kind of end, no descriptor left open,
//! and the guarantees that the model checks.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::thread;

use arbitrary::{Arbitrary, Result, Unstructured};
use warpline_vfio_user::protocol::{
    Command, DeviceInfo, DmaMapRequest, DmaUnmap, HEADER_LENGTH, Header, IrqInfo, IrqSet,
    MAX_MESSAGE, MAX_VERSION_MESSAGE, RegionAccess, RegionInfo, flags,
};
use warpline_vfio_user::{ServeError, serve};
use zerocopy::{FromBytes, IntoBytes};

use crate::model::Model;
use crate::raw::{Tracer, message, try_send};

/// One input: what a client sends before it disconnects.
#[derive(Debug)]
pub struct Input {
    pieces: Vec<Piece>,
    /// Octets that the last message lacks.
    lacks: usize,
}

/// Octets that are sent at once, and their number of descriptors.
#[derive(Debug)]
struct Piece {
    octets: Vec<u8>,
    descriptors: usize,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Input> {
        let mut pieces = Vec::new();
        if !source.ratio(1, 12)? {
            let text: &[u8] = match source.int_in_range(0..=15)? {
                0 => b"\0\0\0\0{\"capabilities\":7}\0",
                1 => b"\x01\0\0\0",
                2 => b"\0\0\0\0{\"capabilities\":{\"max_msg_fds\":3}}\0",
                _ => b"\0\0\0\0",
            };
            let octets = message(source.arbitrary()?, Command::VERSION, flags::COMMAND, text);
            pieces.push(Piece {
                octets,
                descriptors: 0,
            });
        }
        for _ in 0..source.int_in_range(0..=16)? {
            pieces.push(piece(source)?);
        }
        let lacks = if source.ratio(1, 4)? {
            source.int_in_range(1..=40)?
        } else {
            0
        };
        Ok(Input { pieces, lacks })
    }
}

fn piece(source: &mut Unstructured<'_>) -> Result<Piece> {
    let (command, payload, wanted) = request(source)?;
    let kind = if source.ratio(1, 10)? {
        flags::COMMAND | flags::NO_REPLY
    } else {
        flags::COMMAND
    };
    let mut octets = message(source.arbitrary()?, command, kind, &payload);
    match source.int_in_range(0..=19)? {
        // A wrong octet in the header.
        0 => octets[source.int_in_range(0..=HEADER_LENGTH - 1)?] = source.arbitrary()?,
        // A payload of another length, with a header that fits it.
        1 => {
            let length = source.int_in_range(0..=40)?;
            let payload: Vec<u8> = source.bytes(length)?.to_vec();
            octets = message(source.arbitrary()?, command, kind, &payload);
        }
        2 => {
            let length = source.int_in_range(1..=40)?;
            octets = source.bytes(length)?.to_vec();
        }
        // Wrong octets in the payload.
        3..=6 if !payload.is_empty() => {
            for _ in 0..source.int_in_range(1..=3)? {
                let place = source.int_in_range(HEADER_LENGTH..=octets.len() - 1)?;
                octets[place] = source.arbitrary()?;
            }
        }
        _ => {}
    }
    let descriptors = match source.int_in_range(0..=9)? {
        0 => source.int_in_range(0..=20)?,
        _ => wanted,
    };
    Ok(Piece {
        octets,
        descriptors,
    })
}

/// A request, mostly correct, and its number of descriptors.
fn request(source: &mut Unstructured<'_>) -> Result<(Command, Vec<u8>, usize)> {
    let iova = if source.arbitrary()? {
        source.int_in_range(0..=9)?
    } else {
        u64::MAX - source.int_in_range(0..=9)?
    };
    let region = source.int_in_range(0..=5)?;
    let index = source.int_in_range(0..=5)?;
    let mut wanted = 0;
    let (command, payload) = match source.int_in_range(0..=12)? {
        0 | 1 => {
            wanted = source.int_in_range(0..=1)?;
            let map = DmaMapRequest {
                argsz: size_of::<DmaMapRequest>() as u32,
                flags: source.int_in_range(0..=4)?,
                offset: 0,
                iova,
                length: source.int_in_range(0..=9)?,
            };
            (Command::DMA_MAP, map.as_bytes().to_vec())
        }
        2 => {
            let flags = source.int_in_range(0..=2)?;
            let unmap = DmaUnmap {
                argsz: size_of::<DmaUnmap>() as u32,
                flags,
                iova: if flags == 0 { iova } else { 0 },
                length: if flags == 0 {
                    source.int_in_range(0..=40)?
                } else {
                    0
                },
            };
            (Command::DMA_UNMAP, unmap.as_bytes().to_vec())
        }
        3 => {
            let info = DeviceInfo {
                argsz: source.int_in_range(12..=40)?,
                ..Default::default()
            };
            (Command::DEVICE_GET_INFO, info.as_bytes().to_vec())
        }
        4 => {
            let info = RegionInfo {
                argsz: source.int_in_range(30..=50)?,
                index: region,
                ..Default::default()
            };
            (Command::DEVICE_GET_REGION_INFO, info.as_bytes().to_vec())
        }
        5 => {
            let info = IrqInfo {
                argsz: source.int_in_range(14..=20)?,
                index,
                ..Default::default()
            };
            (Command::DEVICE_GET_IRQ_INFO, info.as_bytes().to_vec())
        }
        6 | 7 => {
            let count = source.int_in_range(0..=5)?;
            let disable = source.ratio(1, 4)?;
            let set = IrqSet {
                argsz: size_of::<IrqSet>() as u32,
                flags: if disable { 0x21 } else { 0x24 },
                index: if source.ratio(1, 4)? { index } else { 2 },
                start: if disable {
                    0
                } else {
                    source.int_in_range(0..=39)?
                },
                count: if disable { 0 } else { count },
            };
            wanted = if disable || source.arbitrary()? {
                0
            } else {
                count as usize
            };
            (Command::DEVICE_SET_IRQS, set.as_bytes().to_vec())
        }
        8 | 9 => {
            let access = RegionAccess {
                offset: source.int_in_range(0..=0x90)?,
                region,
                count: source.int_in_range(0..=30)?,
            };
            (Command::REGION_READ, access.as_bytes().to_vec())
        }
        10 => {
            let length = source.int_in_range(0..=30)?;
            let access = RegionAccess {
                offset: source.int_in_range(0..=0x90)?,
                region,
                count: length as u32,
            };
            let data = source.bytes(length)?;
            (Command::REGION_WRITE, [access.as_bytes(), data].concat())
        }
        11 => (Command::DEVICE_RESET, Vec::new()),
        _ => (Command(source.int_in_range(0..=20)?), Vec::new()),
    };
    Ok((command, payload, wanted))
}

/// The expected end of the stream, derived from its octets alone.
#[derive(Debug, PartialEq)]
enum End {
    Left,
    Truncated,
    Size,
    NotACommand,
    /// The first message was not accepted.
    Greeting,
}

/// Runs one input, panics when a guarantee is broken, and returns the cases reached, as text.
pub fn run(input: &Input) -> Vec<String> {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let server = thread::spawn(move || {
        let mut model = Model::default();
        let result = serve(theirs, &mut model);
        assert_eq!(model.disconnects, 1);
        result
    });
    let mut tracer = Tracer::default();
    let mut wire = Vec::new();
    for (n, piece) in input.pieces.iter().enumerate() {
        let mut octets = &piece.octets[..];
        if n + 1 == input.pieces.len() {
            octets = &octets[..octets.len().saturating_sub(input.lacks)];
        }
        if octets.is_empty() {
            break;
        }
        // A server that has ended reads no more; octets that it did not read do not affect its result.
        wire.extend_from_slice(octets);
        if !try_send(&ours, octets, &vec![tracer.fd(); piece.descriptors]) {
            break;
        }
    }
    let _ = ours.shutdown(std::net::Shutdown::Write);
    let mut replies = Vec::new();
    // A server that ends with octets unread causes a reset; its earlier replies have been received by then.
    let _ = (&ours).read_to_end(&mut replies);
    let result = server.join().expect("no panic");
    drop(ours);
    assert!(tracer.closes(), "a descriptor is still open");
    judge(&wire, &replies, result)
}

fn judge(wire: &[u8], replies: &[u8], result: std::result::Result<(), ServeError>) -> Vec<String> {
    let mut seen = Vec::new();
    let (mut wire, mut replies) = (wire, replies);
    let mut greeted = false;
    let end = loop {
        if wire.is_empty() {
            break End::Left;
        }
        let Ok((header, rest)) = Header::read_from_prefix(wire) else {
            break End::Truncated;
        };
        if header.flags & flags::TYPE != flags::COMMAND {
            break End::NotACommand;
        }
        let most = if greeted {
            MAX_MESSAGE
        } else {
            MAX_VERSION_MESSAGE
        };
        if !(HEADER_LENGTH..=most).contains(&(header.size as usize)) {
            break End::Size;
        }
        let length = header.size as usize - HEADER_LENGTH;
        if rest.len() < length {
            break End::Truncated;
        }
        wire = &rest[length..];
        let mut refused = None;
        if header.flags & flags::NO_REPLY == 0 {
            let (reply, rest) = Header::read_from_prefix(replies).expect("a reply");
            assert_eq!((reply.id, reply.command), (header.id, header.command));
            let error = reply.flags == flags::REPLY | flags::ERROR;
            assert!(error || reply.flags == flags::REPLY);
            assert_eq!(error, reply.errno != 0);
            assert!(!error || reply.size as usize == HEADER_LENGTH);
            replies = &rest[reply.size as usize - HEADER_LENGTH..];
            refused = Some(error);
            let what = if error { "refused" } else { "done" };
            seen.push(format!("{} {what}", Command(header.command)));
        }
        // Without a reply the server's end shows whether the version was accepted.
        let failed = refused.unwrap_or(matches!(
            result,
            Err(ServeError::NoVersion { .. }
                | ServeError::Version { .. }
                | ServeError::Capabilities { .. })
        ));
        if !greeted && failed {
            break End::Greeting;
        }
        assert!(greeted || header.command == Command::VERSION.0);
        greeted = true;
    };
    assert!(replies.is_empty(), "a reply to nothing");
    let kind = match &result {
        Ok(()) => "Left",
        Err(ServeError::Truncated { .. }) => "Truncated",
        Err(ServeError::Size { .. }) => "Size",
        Err(ServeError::NotACommand { .. }) => "NotACommand",
        Err(ServeError::NoVersion { .. }) => "NoVersion",
        Err(ServeError::Version { .. }) => "Version",
        Err(ServeError::Capabilities { .. }) => "Capabilities",
        Err(other) => panic!("{other}"),
    };
    let expected = match end {
        End::Left => kind == "Left",
        End::Truncated => kind == "Truncated",
        End::Size => kind == "Size",
        End::NotACommand => kind == "NotACommand",
        End::Greeting => ["NoVersion", "Version", "Capabilities"].contains(&kind),
    };
    assert!(expected, "{kind} instead of {end:?}");
    seen.push(kind.into());
    seen
}

//! The common body of the fuzz target `client` and of the stable smoke test: arbitrary calls of a client, whose server
//! sends correct replies with random faults.
//!
//! All replies are in the socket before the first call, so no call waits. Checked: no panic, each result matches the octets
//! of the reply, and every call after a malformed reply returns `Closed`.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use warpline_vfio_user::protocol::{
    Command, DeviceInfo, DmaUnmap, HEADER_LENGTH, Header, IrqInfo, RegionAccess, RegionInfo, flags,
};
use warpline_vfio_user::{Client, Error, Fault, Permissions};
use zerocopy::IntoBytes;

use crate::raw::{message, send};

/// One input: calls and their replies.
#[derive(Debug)]
pub struct Input {
    greeting: Vec<u8>,
    /// The version reply is correct.
    honest: bool,
    calls: Vec<(Call, Vec<u8>)>,
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Device,
    Region(u32),
    Irq(u32),
    Read(RegionAccess),
    Write(RegionAccess),
    Map,
    Unmap { iova: u64, length: u64 },
    SetIrqs,
    Reset,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Input> {
        let mut greeting = message(0, Command::VERSION, flags::REPLY, b"\0\0\0\0{}\0");
        let honest = !source.ratio(1, 8)?;
        if !honest {
            spoil(source, &mut greeting)?;
        }
        let mut calls = Vec::new();
        for n in 0..source.int_in_range(0..=12)? {
            let call = call(source)?;
            let (command, payload) = honest_reply(call, source)?;
            // The version message had id 0.
            let mut reply = message(n + 1, command, flags::REPLY, &payload);
            match source.int_in_range(0..=9)? {
                0 => spoil(source, &mut reply)?,
                1 => {
                    let header = Header {
                        id: n + 1,
                        command: command.0,
                        size: HEADER_LENGTH as u32,
                        flags: flags::REPLY | flags::ERROR,
                        errno: source.arbitrary()?,
                    };
                    reply = header.as_bytes().to_vec();
                }
                _ => {}
            }
            calls.push((call, reply));
        }
        Ok(Input {
            greeting,
            honest,
            calls,
        })
    }
}

fn call(source: &mut Unstructured<'_>) -> Result<Call> {
    let access = RegionAccess {
        offset: source.int_in_range(0..=300)?,
        region: source.int_in_range(0..=8)?,
        count: source.int_in_range(1..=24)?,
    };
    Ok(match source.int_in_range(0..=8)? {
        0 => Call::Device,
        1 => Call::Region(access.region),
        2 => Call::Irq(access.region),
        3 => Call::Read(access),
        4 => Call::Write(access),
        5 => Call::Map,
        6 => Call::Unmap {
            iova: access.offset,
            length: source.arbitrary()?,
        },
        7 => Call::SetIrqs,
        _ => Call::Reset,
    })
}

fn honest_reply(call: Call, source: &mut Unstructured<'_>) -> Result<(Command, Vec<u8>)> {
    Ok(match call {
        Call::Device => {
            let info = DeviceInfo {
                argsz: 16,
                flags: 3,
                regions: source.arbitrary()?,
                irqs: source.arbitrary()?,
            };
            (Command::DEVICE_GET_INFO, info.as_bytes().to_vec())
        }
        Call::Region(index) => {
            let info = RegionInfo {
                argsz: 32,
                flags: source.int_in_range(0..=15)?,
                index,
                size: source.arbitrary()?,
                ..Default::default()
            };
            (Command::DEVICE_GET_REGION_INFO, info.as_bytes().to_vec())
        }
        Call::Irq(index) => {
            let info = IrqInfo {
                argsz: 16,
                flags: 1,
                index,
                count: source.arbitrary()?,
            };
            (Command::DEVICE_GET_IRQ_INFO, info.as_bytes().to_vec())
        }
        Call::Read(access) => {
            let data = source.bytes(access.count as usize)?;
            (Command::REGION_READ, [access.as_bytes(), data].concat())
        }
        Call::Write(access) => (Command::REGION_WRITE, access.as_bytes().to_vec()),
        Call::Map => (Command::DMA_MAP, Vec::new()),
        Call::Unmap { iova, length } => {
            let unmap = DmaUnmap {
                argsz: 24,
                flags: 0,
                iova,
                length,
            };
            (Command::DMA_UNMAP, unmap.as_bytes().to_vec())
        }
        Call::SetIrqs => (Command::DEVICE_SET_IRQS, Vec::new()),
        Call::Reset => (Command::DEVICE_RESET, Vec::new()),
    })
}

/// Changes some octets, the length of the message, or both.
fn spoil(source: &mut Unstructured<'_>, reply: &mut Vec<u8>) -> Result<()> {
    for _ in 0..source.int_in_range(0..=2)? {
        let place = source.int_in_range(0..=reply.len() - 1)?;
        reply[place] = if source.arbitrary()? {
            reply[place] ^ 1
        } else {
            source.arbitrary()?
        };
    }
    match source.int_in_range(0..=5)? {
        0 => reply.truncate(source.int_in_range(0..=reply.len())?),
        1 => {
            let more = source.int_in_range(0..=20)?;
            reply.extend_from_slice(source.bytes(more)?);
        }
        _ => {}
    }
    Ok(())
}

/// The expected result of a call.
#[derive(Debug, PartialEq)]
enum Verdict {
    Fine(Vec<u8>),
    Refused(u32),
    Broken(&'static str),
}

/// Derives the expected result of the call with this id from the octets of a stream, and moves past its reply.
fn judge(call: Call, id: u16, stream: &mut &[u8]) -> Verdict {
    let (command, length) = match call {
        Call::Device => (Command::DEVICE_GET_INFO, 16),
        Call::Region(_) => (Command::DEVICE_GET_REGION_INFO, 32),
        Call::Irq(_) => (Command::DEVICE_GET_IRQ_INFO, 16),
        Call::Read(access) => (Command::REGION_READ, 16 + access.count as usize),
        Call::Write(_) => (Command::REGION_WRITE, 16),
        Call::Map => (Command::DMA_MAP, 0),
        Call::Unmap { .. } => (Command::DMA_UNMAP, 24),
        Call::SetIrqs => (Command::DEVICE_SET_IRQS, 0),
        Call::Reset => (Command::DEVICE_RESET, 0),
    };
    let word =
        |octets: &[u8], at: usize| u32::from_ne_bytes(octets[at..at + 4].try_into().unwrap());
    if stream.len() < 16 {
        return Verdict::Broken("Ended");
    }
    let (header, rest) = stream.split_at(16);
    let error = word(header, 8) & 0x20 != 0;
    let size = if error { 16 } else { 16 + length };
    if word(header, 8) & 15 != 1 {
        return Verdict::Broken("NotAReply");
    } else if header[..2] != id.to_ne_bytes() {
        return Verdict::Broken("Id");
    } else if header[2..4] != command.0.to_ne_bytes() {
        return Verdict::Broken("Command");
    } else if word(header, 4) as usize != size {
        return Verdict::Broken("Size");
    }
    *stream = rest;
    if error {
        return Verdict::Refused(word(header, 12));
    } else if word(header, 12) != 0 {
        return Verdict::Broken("StrayErrno");
    }
    // A wrong field in the structure is found before missing data after it.
    let front = if matches!(call, Call::Read(_)) {
        16
    } else {
        length
    };
    if rest.len() < front {
        return Verdict::Broken("Ended");
    }
    let agrees = match call {
        Call::Device => word(rest, 0) >= 16,
        Call::Region(index) => word(rest, 0) >= 32 && word(rest, 8) == index,
        Call::Irq(index) => word(rest, 0) >= 16 && word(rest, 8) == index,
        Call::Read(access) | Call::Write(access) => rest.starts_with(access.as_bytes()),
        Call::Unmap { iova, length } => {
            rest[8..16] == iova.to_ne_bytes() && rest[16..24] == length.to_ne_bytes()
        }
        Call::Map | Call::SetIrqs | Call::Reset => true,
    };
    if !agrees {
        return Verdict::Broken("Field");
    } else if rest.len() < length {
        return Verdict::Broken("Ended");
    }
    let (payload, rest) = rest.split_at(length);
    *stream = rest;
    Verdict::Fine(match call {
        Call::Device => payload[8..].to_vec(),
        Call::Region(_) => payload[16..24].to_vec(),
        Call::Irq(_) => payload[12..].to_vec(),
        Call::Read(_) => payload[16..].to_vec(),
        _ => Vec::new(),
    })
}

fn perform(
    client: &Client,
    call: Call,
    file: &std::fs::File,
) -> std::result::Result<Vec<u8>, Error> {
    match call {
        Call::Device => client
            .device_info()
            .map(|info| [info.regions, info.irqs].as_bytes().to_vec()),
        Call::Region(index) => client
            .region_info(index)
            .map(|info| info.size.as_bytes().to_vec()),
        Call::Irq(index) => client
            .irq_info(index)
            .map(|info| info.count.as_bytes().to_vec()),
        Call::Read(RegionAccess {
            offset,
            region,
            count,
        }) => {
            let mut data = vec![0; count as usize];
            client.region_read(region, offset, &mut data).map(|()| data)
        }
        Call::Write(RegionAccess {
            offset,
            region,
            count,
        }) => client
            .region_write(region, offset, &vec![0; count as usize])
            .map(|()| Vec::new()),
        Call::Map => client
            .dma_map(0, 1, file.as_fd(), 0, Permissions::READ)
            .map(|()| Vec::new()),
        Call::Unmap { iova, length } => client.dma_unmap(iova, length).map(|()| Vec::new()),
        Call::SetIrqs => client
            .set_irqs(2, 0, &[Some(file.as_fd())])
            .map(|()| Vec::new()),
        Call::Reset => client.reset().map(|()| Vec::new()),
    }
}

/// Runs one input, panics when a guarantee is broken, and returns the cases reached, as text.
pub fn run(input: &Input) -> Vec<String> {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let wire: Vec<u8> = input
        .calls
        .iter()
        .flat_map(|(_, reply)| reply.clone())
        .collect();
    send(&theirs, &[&input.greeting[..], &wire].concat(), &[]);
    theirs.shutdown(std::net::Shutdown::Write).expect("open");
    let client = match Client::over(ours, Duration::from_secs(30)) {
        Ok(client) if input.honest => client,
        Err(error) if input.honest => panic!("{error}"),
        // A random first reply may be a valid version.
        other => {
            let call = |client: Client| {
                client
                    .reset()
                    .map_err(|error| assert!(!error.to_string().is_empty()))
            };
            return vec![
                if other.is_ok_and(|client| call(client).is_ok()) {
                    "Odd"
                } else {
                    "NoGreeting"
                }
                .into(),
            ];
        }
    };
    let file = std::fs::File::open("/dev/null").expect("/dev/null");
    let mut stream = &wire[..];
    let mut seen = Vec::new();
    for (n, (call, _)) in input.calls.iter().enumerate() {
        let verdict = judge(*call, n as u16 + 1, &mut stream);
        let result = perform(&client, *call, &file);
        match (&verdict, &result) {
            (Verdict::Fine(expected), Ok(found)) => {
                assert_eq!(expected, found);
                seen.push("Fine".into());
                continue;
            }
            (Verdict::Refused(expected), Err(Error::Refused { errno, .. })) => {
                assert_eq!(expected, errno);
                seen.push("Refused".into());
                continue;
            }
            (Verdict::Broken(expected), Err(Error::Broken { fault, .. })) => {
                let kind = match fault {
                    Fault::Ended { .. } => "Ended",
                    Fault::NotAReply { .. } => "NotAReply",
                    Fault::Id { .. } => "Id",
                    Fault::Command { .. } => "Command",
                    Fault::Size { .. } => "Size",
                    Fault::StrayErrno { .. } => "StrayErrno",
                    Fault::Field { .. } => "Field",
                    other => panic!("{other}"),
                };
                assert_eq!(*expected, kind);
                seen.push(kind.into());
            }
            _ => panic!("{call:?}: {result:?} instead of {verdict:?}"),
        }
        // After a malformed reply the connection stays closed.
        for (call, _) in &input.calls {
            let result = perform(&client, *call, &file);
            assert!(matches!(result, Err(Error::Closed { .. })), "{result:?}");
        }
        seen.push("Closed".into());
        break;
    }
    seen
}

//! A client against servers that break the rules: always an error, never a hang, and the connection is closed.

use std::io::Write;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use warpline_vfio_user::protocol::{
    Command, DeviceInfo, DmaUnmap, HEADER_LENGTH, Header, RegionAccess, RegionInfo, Version, flags,
};
use warpline_vfio_user::{Client, Error, Fault, Permissions, serve};
use zerocopy::{FromBytes, IntoBytes};

use crate::model::Model;
use crate::raw::{PATIENCE, Tracer, message, receive, send};

/// The correct reply to a request.
fn reply_to(header: Header, payload: &[u8]) -> Vec<u8> {
    message(header.id, Command(header.command), flags::REPLY, payload)
}

/// A client whose first request after the handshake is answered by `spoil`; the server then stays connected and silent.
fn against<T>(
    timeout: Duration,
    spoil: impl FnOnce(&UnixStream, Header, Vec<u8>) + Send,
    call: impl FnOnce(&Client) -> Result<T, Error>,
) -> Error {
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (header, _) = receive(&theirs).unwrap();
            send(
                &theirs,
                &reply_to(header, Version::default().as_bytes()),
                &[],
            );
            let (header, payload) = receive(&theirs).unwrap();
            spoil(&theirs, header, payload);
            // The client has closed the connection.
            assert!(receive(&theirs).is_none());
        });
        let client = Client::over(ours, timeout).unwrap();
        let start = Instant::now();
        let error = call(&client).err().expect("an error");
        assert!(start.elapsed() < PATIENCE, "a hang");
        let Err(Error::Closed { reason }) = client.reset() else {
            panic!("still open after {error}");
        };
        assert_eq!(*reason, *error.to_string());
        error
    })
}

/// As above for a device info whose reply is changed.
fn changed(change: impl FnOnce(&mut Vec<u8>) + Send) -> Fault {
    let honest = DeviceInfo {
        argsz: 16,
        flags: 3,
        regions: 9,
        irqs: 5,
    };
    let error = against(
        PATIENCE,
        |stream, header, _| {
            let mut reply = reply_to(header, honest.as_bytes());
            change(&mut reply);
            send(stream, &reply, &[]);
        },
        |client| client.device_info(),
    );
    match error {
        Error::Broken {
            command: Command::DEVICE_GET_INFO,
            fault,
        } => fault,
        other => panic!("{other}"),
    }
}

fn header(reply: &mut [u8], change: impl FnOnce(&mut Header)) {
    let (header, _) = Header::mut_from_prefix(reply).unwrap();
    change(header);
}

#[test]
fn each_wrong_field_of_a_reply_is_found() {
    assert!(matches!(
        changed(|reply| header(reply, |h| h.id ^= 0x100)),
        Fault::Id {
            sent: 1,
            found: 0x101
        }
    ));
    assert!(matches!(
        changed(|reply| header(reply, |h| h.command = 5)),
        Fault::Command {
            found: Command::DEVICE_GET_REGION_INFO
        }
    ));
    assert!(matches!(
        changed(|reply| header(reply, |h| h.flags = flags::COMMAND)),
        Fault::NotAReply { flags: 0 }
    ));
    assert!(matches!(
        changed(|reply| header(reply, |h| h.flags = 9)),
        Fault::NotAReply { flags: 9 }
    ));
    assert!(matches!(
        changed(|reply| header(reply, |h| h.errno = 5)),
        Fault::StrayErrno { errno: 5 }
    ));
    for size in [0, 15, 16, 31, 33, u32::MAX] {
        assert!(matches!(
            changed(move |reply| header(reply, |h| h.size = size)),
            Fault::Size { found, least: 32, most: 32 } if found == size
        ));
    }
    // An error reply is a header and nothing else.
    assert!(matches!(
        changed(|reply| header(reply, |h| h.flags |= flags::ERROR)),
        Fault::Size {
            found: 32,
            least: 16,
            most: 16
        }
    ));
    assert!(matches!(
        changed(|reply| reply[HEADER_LENGTH] = 15),
        Fault::Field {
            field: "argsz",
            sent: 16,
            found: 15
        }
    ));
}

#[test]
fn a_reply_about_something_else_is_found() {
    let error = against(
        PATIENCE,
        |stream, header, payload| {
            let mut info = RegionInfo::read_from_bytes(&payload).unwrap();
            info.index += 1;
            send(stream, &reply_to(header, info.as_bytes()), &[]);
        },
        |client| client.region_info(3),
    );
    assert!(
        error.to_string().contains("region 0x4 instead of 0x3"),
        "{error}"
    );

    type Spoil = fn(&mut RegionAccess);
    let spoils: [Spoil; 3] = [|a| a.offset += 1, |a| a.region ^= 1, |a| a.count -= 1];
    for spoil in spoils {
        let read = against(
            PATIENCE,
            |stream, header, payload| {
                let mut access = RegionAccess::read_from_bytes(&payload).unwrap();
                spoil(&mut access);
                let reply = [access.as_bytes(), &[1, 2, 3, 4]].concat();
                send(stream, &reply_to(header, &reply), &[]);
            },
            |client| client.region_read(0, 8, &mut [0; 4]),
        );
        let write = against(
            PATIENCE,
            |stream, header, payload| {
                let (mut access, data) = RegionAccess::read_from_prefix(&payload).unwrap();
                assert_eq!(data, [5; 4]);
                spoil(&mut access);
                send(stream, &reply_to(header, access.as_bytes()), &[]);
            },
            |client| client.region_write(0, 8, &[5; 4]),
        );
        for error in [read, write] {
            assert!(
                matches!(
                    error,
                    Error::Broken {
                        fault: Fault::Field { .. },
                        ..
                    }
                ),
                "{error}"
            );
        }
    }
    let error = against(
        PATIENCE,
        |stream, header, payload| {
            let mut unmap = DmaUnmap::read_from_bytes(&payload).unwrap();
            unmap.length /= 2;
            send(stream, &reply_to(header, unmap.as_bytes()), &[]);
        },
        |client| client.dma_unmap(0, 0x2000),
    );
    assert!(matches!(
        error,
        Error::Broken {
            fault: Fault::Field {
                field: "length",
                ..
            },
            ..
        }
    ));
}

#[test]
fn a_long_reply_is_not_read() {
    let error = against(
        PATIENCE,
        |stream, header, _| send(stream, &reply_to(header, &[0; 8]), &[]),
        |client| client.reset(),
    );
    assert!(matches!(
        error,
        Error::Broken {
            fault: Fault::Size {
                found: 24,
                least: 16,
                most: 16
            },
            ..
        }
    ));
}

#[test]
fn an_error_reply_is_an_error_whatever_its_number() {
    for errno in [0, 22, 4095, 0x7fff_ffff, u32::MAX] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || {
            let (header, _) = receive(&theirs).unwrap();
            send(
                &theirs,
                &reply_to(header, Version::default().as_bytes()),
                &[],
            );
            while let Some((header, _)) = receive(&theirs) {
                let reply = Header {
                    size: HEADER_LENGTH as u32,
                    flags: flags::REPLY | flags::ERROR,
                    errno,
                    ..header
                };
                send(&theirs, reply.as_bytes(), &[]);
            }
        });
        let client = Client::over(ours, PATIENCE).unwrap();
        let memory = tempfile::tempfile().unwrap();
        let results = [
            client.device_info().map(drop),
            client.region_info(0).map(drop),
            client.irq_info(0).map(drop),
            client.region_read(0, 0, &mut [0; 4]),
            client.region_write(0, 0, &[0; 4]),
            client.dma_map(0, 1, memory.as_fd(), 0, Permissions::READ),
            client.dma_unmap(0, 1),
            client.dma_unmap_all(),
            client.set_irqs(2, 0, &[None]),
            client.disable_irqs(2),
            client.reset(),
        ];
        for result in results {
            let error = result.expect_err("an error reply");
            assert!(matches!(error, Error::Refused { errno: found, .. } if found == errno));
            assert!(!error.to_string().is_empty());
        }
        drop(client);
        server.join().unwrap();
    }
}

/// Long enough for a handshake on a busy machine.
const SHORT: Duration = Duration::from_millis(500);

fn timed_out(error: Error) {
    assert!(
        matches!(error, Error::TimedOut { timeout: SHORT, .. }),
        "{error}"
    );
}

#[test]
fn silence_ends_at_the_time_out() {
    let start = Instant::now();
    timed_out(against(SHORT, |_, _, _| {}, |client| client.device_info()));
    assert!(start.elapsed() >= SHORT);
    // Not even a handshake.
    let (ours, _theirs) = UnixStream::pair().unwrap();
    timed_out(Client::over(ours, SHORT).unwrap_err());
}

#[test]
fn half_a_reply_ends_at_the_time_out() {
    for length in [1, 15, 16, 17, 31] {
        timed_out(against(
            SHORT,
            |stream, header, payload| {
                send(stream, &reply_to(header, &payload)[..length], &[]);
            },
            |client| client.device_info(),
        ));
    }
}

// Single octets must not extend the deadline.
#[test]
fn a_trickle_ends_at_the_time_out() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let mut sent = 0;
        let reply = reply_to(
            Header {
                command: 1,
                ..Default::default()
            },
            &[0; 4000],
        );
        while (&theirs)
            .write_all(&reply[sent % reply.len()..][..1])
            .is_ok()
        {
            sent += 1;
            thread::sleep(Duration::from_millis(5));
        }
        sent
    });
    timed_out(Client::over(ours, SHORT).unwrap_err());
    let sent = server.join().unwrap();
    assert!(sent < 4016, "{sent} octets were waited for");
}

// A server that reads nothing blocks the sender, once the socket is full.
#[test]
fn a_server_that_does_not_read_ends_at_the_time_out() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let (header, _) = receive(&theirs).unwrap();
        send(
            &theirs,
            &reply_to(header, Version::default().as_bytes()),
            &[],
        );
        theirs
    });
    let client = Client::over(ours, SHORT).unwrap();
    let _theirs = server.join().unwrap();
    timed_out(client.region_write(0, 0, &vec![0; 1 << 20]).unwrap_err());
    assert!(matches!(client.reset(), Err(Error::Closed { .. })));
}

#[test]
fn a_server_that_vanishes_is_an_error() {
    for length in [0, 1, 15, 16, 31] {
        let error = against(
            PATIENCE,
            |stream, header, payload| {
                send(
                    stream,
                    &reply_to(header, &payload)[..length.max(1)][..length],
                    &[],
                );
                stream.shutdown(std::net::Shutdown::Write).unwrap();
            },
            |client| client.device_info(),
        );
        assert!(
            matches!(error, Error::Broken { fault: Fault::Ended { received }, .. } if received == length % 16),
            "{error}"
        );
    }
}

#[test]
fn unexpected_descriptors_are_closed() {
    let mut tracer = Tracer::default();
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let fd = tracer.fd();
        scope.spawn(move || {
            let (header, _) = receive(&theirs).unwrap();
            let reply = reply_to(header, Version::default().as_bytes());
            send(&theirs, &reply, &[fd; 20]);
        });
        Client::over(ours, PATIENCE).unwrap();
    });
    assert!(tracer.closes());
}

#[test]
fn a_malformed_handshake_is_an_error() {
    let version = |major, minor| Version { major, minor }.as_bytes().to_vec();
    let text = |text: &str| [&version(0, 0), text.as_bytes()].concat();
    let cases: [(Vec<u8>, &str); 7] = [
        (version(1, 0), "version 1.0"),
        (version(0, 1), "version 0.1"),
        (vec![0; 3], "19 octets instead of 20 to 4096"),
        (vec![0; 4081], "4097 octets instead of 20 to 4096"),
        (text("{}"), "instead of NUL"),
        (text("{\0"), "cannot be read: EOF"),
        (
            text("{\"capabilities\":[1]}\0"),
            "capabilities are [1], not an object",
        ),
    ];
    for (payload, expected) in cases {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || {
            let (header, _) = receive(&theirs).unwrap();
            send(&theirs, &reply_to(header, &payload), &[]);
        });
        let error = Client::over(ours, PATIENCE).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        server.join().unwrap();
    }
}

// The server names its limits, and the client respects them.
#[test]
fn the_servers_limits_are_kept() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let (header, _) = receive(&theirs).unwrap();
        let text = b"\0\0\0\0{\"capabilities\":{\"max_data_xfer_size\":8}}\0";
        send(&theirs, &reply_to(header, text), &[]);
        let mut counts = Vec::new();
        while let Some((header, payload)) = receive(&theirs) {
            match Command(header.command) {
                Command::DEVICE_SET_IRQS => {
                    counts.push(u32::from_ne_bytes(payload[16..20].try_into().unwrap()));
                    send(&theirs, &reply_to(header, &[]), &[]);
                }
                _ => send(&theirs, &reply_to(header, &payload[..16]), &[]),
            }
        }
        counts
    });
    let client = Client::over(ours, PATIENCE).unwrap();
    client.region_write(0, 0, &[0; 8]).unwrap();
    assert!(matches!(
        client.region_write(0, 0, &[0; 9]),
        Err(Error::TooLong {
            length: 9,
            limit: 8
        })
    ));
    // One descriptor per message, since the server names no limit; a missing one does not count.
    let eventfd = tempfile::tempfile().unwrap();
    let some = Some(eventfd.as_fd());
    client
        .set_irqs(2, 0, &[some, some, None, None, some])
        .unwrap();
    drop(client);
    assert_eq!(server.join().unwrap(), [1, 1, 2, 1]);
}

/// A thread that sleeps until the device interrupts also polls the connection.
#[test]
fn a_closed_connection_is_hung_up() {
    let hung_up = |client: &Client| {
        let mut fds = [PollFd::new(client, PollFlags::RDHUP)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() > 0
    };
    // By the server.
    let (ours, theirs) = UnixStream::pair().unwrap();
    let shut = theirs.try_clone().unwrap();
    let server = thread::spawn(move || serve(theirs, &mut Model::default()));
    let client = Client::over(ours, PATIENCE).unwrap();
    assert!(!hung_up(&client));
    client.device_info().unwrap();
    assert!(!hung_up(&client));
    shut.shutdown(Shutdown::Both).unwrap();
    server.join().unwrap().unwrap();
    assert!(hung_up(&client));
    let ended = client.reset().unwrap_err();
    let fault = Fault::Ended { received: 0 };
    assert!(ended.to_string().contains(&fault.to_string()), "{ended}");
    // By the client, after a malformed answer: the server sees it as well.
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let (hello, _) = receive(&theirs).unwrap();
        let version = message(hello.id, Command::VERSION, flags::REPLY, &[0; 4]);
        send(&theirs, &version, &[]);
        let (asked, _) = receive(&theirs).unwrap();
        send(
            &theirs,
            &message(asked.id ^ 1, Command::DEVICE_RESET, flags::REPLY, &[]),
            &[],
        );
        receive(&theirs).is_none()
    });
    let client = Client::over(ours, PATIENCE).unwrap();
    assert!(client.reset().is_err());
    assert!(hung_up(&client));
    assert!(server.join().unwrap(), "the server sees it");
}

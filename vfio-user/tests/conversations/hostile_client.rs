//! A server against clients that break the rules: an error reply while the stream can be trusted, the end of the
//! connection otherwise. No descriptor leaks.

use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use warpline_vfio_user::protocol::{
    Command, DeviceInfo, DmaMapRequest, DmaUnmap, HEADER_LENGTH, Header, IrqInfo, IrqSet, MAX_DATA,
    MAX_DESCRIPTORS, MAX_MESSAGE, RegionAccess, RegionInfo, Version, dma_unmap_flags, flags,
    irq_set_flags,
};
use warpline_vfio_user::{Errno, GREETING, ServeError, serve};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::model::Model;
use crate::raw::{Tracer, command, hello, message, receive, send};

/// Runs a client against a server, and returns the server's result.
fn with_server(client: impl FnOnce(UnixStream)) -> (Result<(), ServeError>, Model) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let mut model = Model::default();
        let result = serve(theirs, &mut model);
        (result, model)
    });
    client(ours);
    let (result, model) = server.join().unwrap();
    assert_eq!(model.disconnects, 1);
    (result, model)
}

/// As above after a handshake; the client may disconnect at any time.
fn greeted(client: impl FnOnce(UnixStream)) -> Result<(), ServeError> {
    with_server(|stream| {
        send(&stream, &hello(), &[]);
        receive(&stream).unwrap();
        client(stream);
    })
    .0
}

/// The answer to one message: payload or error number.
fn ask(stream: &UnixStream, octets: &[u8]) -> Result<Vec<u8>, Errno> {
    send(stream, octets, &[]);
    answer(stream, octets)
}

fn answer(stream: &UnixStream, octets: &[u8]) -> Result<Vec<u8>, Errno> {
    let (sent, _) = Header::read_from_prefix(octets).unwrap();
    let (header, payload) = receive(stream).expect("an answer");
    assert_eq!((header.id, header.command), (sent.id, sent.command));
    if header.flags == flags::REPLY {
        assert_eq!(header.errno, 0);
        return Ok(payload);
    }
    assert_eq!(header.flags, flags::REPLY | flags::ERROR);
    assert!(payload.is_empty());
    Err(Errno::from_raw_os_error(header.errno as i32))
}

fn ask_for(
    stream: &UnixStream,
    number: Command,
    payload: &(impl IntoBytes + Immutable + ?Sized),
) -> Result<Vec<u8>, Errno> {
    ask(stream, &command(7, number, payload))
}

#[test]
fn a_stream_that_cannot_be_followed_ends() {
    let header = |size, kind| Header {
        id: 1,
        command: Command::DEVICE_RESET.0,
        size,
        flags: kind,
        errno: 0,
    };
    for size in [0, 1, 15, MAX_MESSAGE as u32 + 1, u32::MAX] {
        let result = greeted(|stream| {
            send(&stream, header(size, flags::COMMAND).as_bytes(), &[]);
            assert!(receive(&stream).is_none());
        });
        assert!(matches!(result, Err(ServeError::Size { size: found, .. }) if found == size));
    }
    for kind in [flags::REPLY, 2, 15, flags::REPLY | flags::ERROR] {
        let result = greeted(|stream| {
            send(&stream, header(16, kind).as_bytes(), &[]);
            assert!(receive(&stream).is_none());
        });
        assert!(matches!(result, Err(ServeError::NotACommand { flags: found }) if found == kind));
    }
}

#[test]
fn a_client_that_vanishes_in_a_message_is_noticed() {
    let write = command(1, Command::REGION_WRITE, &[0u8; 40]);
    for length in [1, 15, 16, 17, 55] {
        let result = greeted(|stream| send(&stream, &write[..length], &[]));
        let expected = if length < 16 {
            (length, 16)
        } else {
            (length - 16, 40)
        };
        match result {
            // Between header and payload an end looks like a pause.
            Err(ServeError::Truncated {
                received,
                expected: all,
            }) => {
                assert_eq!((received, all), expected);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(greeted(drop).is_ok());
}

#[test]
fn a_client_that_reads_no_replies_may_leave() {
    let result = greeted(|stream| {
        for id in 0..100 {
            send(&stream, &command(id, Command::DEVICE_RESET, &[0; 0]), &[]);
        }
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn the_first_message_is_about_versions() {
    let (result, _) = with_server(|stream| {
        let reset = command(3, Command::DEVICE_RESET, &[0; 0]);
        assert_eq!(ask(&stream, &reset), Err(Errno::PROTO));
        assert!(receive(&stream).is_none());
    });
    assert!(matches!(
        result,
        Err(ServeError::NoVersion {
            command: Command::DEVICE_RESET
        })
    ));
    let (result, _) = with_server(|stream| {
        let version = Version { major: 1, minor: 2 };
        let answer = ask_for(&stream, Command::VERSION, &version);
        assert_eq!(answer, Err(Errno::PROTONOSUPPORT));
        assert!(receive(&stream).is_none());
    });
    assert!(matches!(
        result,
        Err(ServeError::Version { major: 1, minor: 2 })
    ));
    for payload in [
        &[0; 3][..],
        b"\0\0\0\0{}",
        b"\0\0\0\0{]\0",
        b"\0\0\0\0\xff\xff\0",
    ] {
        let (result, _) = with_server(|stream| {
            let answer = ask_for(&stream, Command::VERSION, payload);
            assert_eq!(answer, Err(Errno::INVAL));
            assert!(receive(&stream).is_none());
        });
        assert!(matches!(result, Err(ServeError::Capabilities { .. })));
    }
    // A megabyte of capabilities is not even read.
    let (result, _) = with_server(|stream| {
        let header = Header {
            command: 1,
            size: 4097,
            ..Default::default()
        };
        send(&stream, header.as_bytes(), &[]);
        assert!(receive(&stream).is_none());
    });
    assert!(matches!(result, Err(ServeError::Size { size: 4097, .. })));
    // A later minor version is answered with ours; a second version message is an error.
    let (result, _) = with_server(|stream| {
        let version = Version { major: 0, minor: 9 };
        let answer = ask_for(&stream, Command::VERSION, &version).unwrap();
        assert_eq!(&answer[..4], [0; 4]);
        assert_eq!(
            ask_for(&stream, Command::VERSION, &version),
            Err(Errno::INVAL)
        );
        assert_eq!(ask_for(&stream, Command::DEVICE_RESET, &[0; 0]), Ok(vec![]));
    });
    assert!(result.is_ok());
}

#[test]
fn payloads_of_another_length_are_refused() {
    let lengths = [
        (Command::DMA_MAP, size_of::<DmaMapRequest>()),
        (Command::DMA_UNMAP, size_of::<DmaUnmap>()),
        (Command::DEVICE_GET_INFO, size_of::<DeviceInfo>()),
        (Command::DEVICE_GET_REGION_INFO, size_of::<RegionInfo>()),
        (Command::DEVICE_GET_IRQ_INFO, size_of::<IrqInfo>()),
        (Command::DEVICE_SET_IRQS, size_of::<IrqSet>()),
        (Command::REGION_READ, size_of::<RegionAccess>()),
        (Command::REGION_WRITE, size_of::<RegionAccess>()),
        (Command::DEVICE_RESET, 0),
    ];
    let result = greeted(|stream| {
        for (number, length) in lengths {
            for wrong in [0, length.saturating_sub(1), length + 1, 4000] {
                if wrong != length {
                    let answer = ask_for(&stream, number, &vec![0; wrong][..]);
                    assert_eq!(answer, Err(Errno::INVAL), "{number} with {wrong} octets");
                }
            }
        }
    });
    assert!(result.is_ok());
}

#[test]
fn what_is_not_served_is_refused() {
    let served = [1, 2, 3, 4, 5, 7, 8, 9, 10, 13];
    let result = greeted(|stream| {
        for number in (0..=20).chain([255, 0x8000, u16::MAX]) {
            if !served.contains(&number) {
                let answer = ask_for(&stream, Command(number), &[1; 24]);
                assert_eq!(answer, Err(Errno::OPNOTSUPP), "{number}");
            }
        }
    });
    assert!(result.is_ok());
}

#[test]
fn infos_need_room_for_the_answer() {
    let result = greeted(|stream| {
        for argsz in [0, 15, 16, 31, 32, u32::MAX] {
            let info = DeviceInfo {
                argsz,
                ..Default::default()
            };
            let answer = ask_for(&stream, Command::DEVICE_GET_INFO, &info);
            assert_eq!(answer.is_ok(), argsz >= 16);
            let info = RegionInfo {
                argsz,
                ..Default::default()
            };
            let answer = ask_for(&stream, Command::DEVICE_GET_REGION_INFO, &info);
            assert_eq!(answer.is_ok(), argsz >= 32);
            if let Ok(answer) = answer {
                // The length of the whole answer, which is also the length sent.
                assert_eq!((answer.len(), answer[..4].as_ref()), (32, 32u32.as_bytes()));
            }
            let info = IrqInfo {
                argsz,
                ..Default::default()
            };
            let answer = ask_for(&stream, Command::DEVICE_GET_IRQ_INFO, &info);
            assert_eq!(answer.is_ok(), argsz >= 16);
        }
    });
    assert!(result.is_ok());
}

#[test]
fn accesses_stay_inside_their_region() {
    let access = |region, offset, count| RegionAccess {
        offset,
        region,
        count,
    };
    let result = greeted(|stream| {
        for (access, expected) in [
            (access(0, 0, 0), Errno::INVAL),
            (access(0, 0xfff, 2), Errno::INVAL),
            (access(0, 0x1001, 0), Errno::INVAL),
            (access(0, u64::MAX, 1), Errno::INVAL),
            (access(0, u64::MAX, u32::MAX), Errno::INVAL),
            (access(3, 0, 1), Errno::INVAL),
            (access(5, 0, 1), Errno::INVAL),
            (access(u32::MAX, 0, 1), Errno::INVAL),
            (access(4, 0, MAX_DATA as u32 + 1), Errno::INVAL),
            (access(2, 0, 1), Errno::PERM),
        ] {
            let answer = ask_for(&stream, Command::REGION_READ, &access);
            assert_eq!(answer, Err(expected), "{access:?}");
        }
        // The count and the data must agree.
        for (count, length) in [(4, 3), (4, 5), (4, 0), (u32::MAX, 4)] {
            let write = [access(0, 0, count).as_bytes(), &vec![1; length]].concat();
            let answer = ask_for(&stream, Command::REGION_WRITE, &write[..]);
            assert_eq!(answer, Err(Errno::INVAL), "{count} {length}");
        }
        let read = ask_for(&stream, Command::REGION_READ, &access(0, 0, 8)).unwrap();
        assert_eq!(read[16..], [0; 8]);
    });
    assert!(result.is_ok());
}

#[test]
fn no_reply_means_no_reply() {
    let result = greeted(|stream| {
        let quiet = flags::COMMAND | flags::NO_REPLY;
        send(&stream, &message(1, Command::DEVICE_RESET, quiet, &[]), &[]);
        send(&stream, &message(2, Command(99), quiet, &[]), &[]);
        let write = [
            RegionAccess {
                offset: 5,
                region: 0,
                count: 1,
            }
            .as_bytes(),
            &[42],
        ]
        .concat();
        send(
            &stream,
            &message(3, Command::REGION_WRITE, quiet, &write),
            &[],
        );
        // The next message is the answer to this request, and all earlier requests are done.
        let read = RegionAccess {
            offset: 5,
            region: 0,
            count: 1,
        };
        let answer = ask_for(&stream, Command::REGION_READ, &read).unwrap();
        assert_eq!(answer[16..], [42]);
    });
    assert!(result.is_ok());
}

#[test]
fn descriptors_in_wrong_places_are_closed() {
    let map = |iova| {
        let request = DmaMapRequest {
            argsz: 32,
            flags: 3,
            offset: 0,
            iova,
            length: 0x1000,
        };
        command(9, Command::DMA_MAP, &request)
    };
    let irqs = |count| {
        let request = IrqSet {
            argsz: 20,
            flags: irq_set_flags::DATA_EVENTFD | irq_set_flags::ACTION_TRIGGER,
            index: 2,
            start: 0,
            count,
        };
        command(9, Command::DEVICE_SET_IRQS, &request)
    };
    let info = DeviceInfo {
        argsz: 16,
        ..Default::default()
    };
    let cases = [
        (command(9, Command::DEVICE_GET_INFO, &info), 1, Errno::INVAL),
        (command(9, Command::DEVICE_RESET, &[0; 0]), 3, Errno::INVAL),
        (command(9, Command(77), &[0; 0]), 1, Errno::INVAL),
        (map(0), 2, Errno::INVAL),
        (map(u64::MAX), 1, Errno::INVAL),
        (map(0), MAX_DESCRIPTORS + 1, Errno::MFILE),
        (map(0), 60, Errno::MFILE),
        (irqs(2), 1, Errno::INVAL),
        (irqs(1), 2, Errno::INVAL),
        (irqs(0), 1, Errno::INVAL),
        (irqs(17), 17, Errno::MFILE),
        (irqs(41), 1, Errno::INVAL),
    ];
    for (octets, count, expected) in cases {
        let mut tracer = Tracer::default();
        let result = greeted(|stream| {
            send(&stream, &octets, &vec![tracer.fd(); count]);
            assert_eq!(answer(&stream, &octets), Err(expected));
            // Closed while the client is connected, and the connection still works.
            assert!(tracer.closes(), "{count} descriptors");
            assert!(ask_for(&stream, Command::DEVICE_RESET, &[0; 0]).is_ok());
        });
        assert!(result.is_ok());
    }
    // With the handshake, in the middle of a message, and in half of one.
    let mut tracers: [Tracer; 3] = Default::default();
    let (result, _) = with_server(|stream| {
        send(&stream, &hello(), &[tracers[0].fd()]);
        receive(&stream).unwrap();
        let octets = map(0);
        send(&stream, &octets[..20], &[]);
        send(&stream, &octets[20..], &[tracers[1].fd()]);
        assert_eq!(answer(&stream, &octets), Ok(vec![]));
        send(&stream, &octets[..20], &[tracers[2].fd()]);
    });
    assert!(matches!(result, Err(ServeError::Truncated { .. })));
    assert!(tracers.iter_mut().all(Tracer::closes));
}

#[test]
fn unmaps_that_make_no_sense_are_refused() {
    let unmap = |argsz, flags, iova, length| DmaUnmap {
        argsz,
        flags,
        iova,
        length,
    };
    let result = greeted(|stream| {
        for (unmap, expected) in [
            (unmap(23, 0, 0, 1), Errno::INVAL),
            (unmap(24, 0, 0, 0), Errno::INVAL),
            (unmap(24, 0, u64::MAX, 2), Errno::INVAL),
            (unmap(24, dma_unmap_flags::ALL, 0, 1), Errno::INVAL),
            (unmap(24, dma_unmap_flags::ALL, 1, 0), Errno::INVAL),
            (
                unmap(24, dma_unmap_flags::GET_DIRTY_BITMAP, 0, 1),
                Errno::OPNOTSUPP,
            ),
            (unmap(24, 3, 0, 0), Errno::OPNOTSUPP),
            (unmap(24, 1 << 31, 0, 1), Errno::OPNOTSUPP),
        ] {
            let answer = ask_for(&stream, Command::DMA_UNMAP, &unmap);
            assert_eq!(answer, Err(expected), "{unmap:?}");
        }
    });
    assert!(result.is_ok());
}

#[test]
fn interrupts_are_set_in_two_ways_only() {
    use irq_set_flags::{
        ACTION_MASK, ACTION_TRIGGER, ACTION_UNMASK, DATA_BOOL, DATA_EVENTFD, DATA_NONE,
    };
    let set = |flags, start, count| IrqSet {
        argsz: 20,
        flags,
        index: 2,
        start,
        count,
    };
    let result = greeted(|stream| {
        for all in 0..64 {
            let eventfds = all == DATA_EVENTFD | ACTION_TRIGGER;
            let disable = all == DATA_NONE | ACTION_TRIGGER;
            let one = ask_for(&stream, Command::DEVICE_SET_IRQS, &set(all, 0, 1));
            let none = ask_for(&stream, Command::DEVICE_SET_IRQS, &set(all, 0, 0));
            assert_eq!((one.is_ok(), none.is_ok()), (eventfds, disable), "{all:#x}");
        }
        for flags in [
            DATA_NONE | ACTION_MASK,
            DATA_NONE | ACTION_UNMASK,
            DATA_NONE | ACTION_TRIGGER,
        ] {
            let answer = ask_for(&stream, Command::DEVICE_SET_IRQS, &set(flags, 0, 1));
            assert_eq!(answer, Err(Errno::OPNOTSUPP));
        }
        // Booleans follow the structure as data.
        let request = IrqSet {
            argsz: 21,
            ..set(DATA_BOOL | ACTION_TRIGGER, 0, 1)
        };
        let octets = [request.as_bytes(), &[1]].concat();
        let answer = ask_for(&stream, Command::DEVICE_SET_IRQS, &octets[..]);
        assert_eq!(answer, Err(Errno::OPNOTSUPP));
        for (start, count) in [(40, 1), (0, 41), (u32::MAX, 1), (1, u32::MAX)] {
            let request = set(DATA_EVENTFD | ACTION_TRIGGER, start, count);
            let answer = ask_for(&stream, Command::DEVICE_SET_IRQS, &request);
            assert_eq!(answer, Err(Errno::INVAL));
        }
    });
    assert!(result.is_ok());
}

/// The opening of a session as QEMU's `vfio-user-pci` sends it: order, flags and lengths.
#[test]
fn qemu_is_served() {
    let memory = tempfile::tempfile().unwrap();
    let result = with_server(|stream| {
        let text = concat!(
            r#"{"capabilities": {"migration": {"max_bitmap_size": 268435456, "pgsize": 4096}, "#,
            r#""max_dma_maps": 65535, "max_msg_fds": 16, "max_data_xfer_size": 1048576, "#,
            r#""pgsizes": 4096, "write_multiple": true}}"#,
            "\0"
        );
        let version = [&[0; 4], text.as_bytes()].concat();
        let answer = ask_for(&stream, Command::VERSION, &version[..]).unwrap();
        // It accepts no reply that is longer than the request, and requires a closing NUL.
        assert!(answer.len() <= version.len() && answer.last() == Some(&0));
        // First all memory, without waiting for replies.
        let map = |iova, length, flags| DmaMapRequest {
            argsz: 32,
            flags,
            offset: 0,
            iova,
            length,
        };
        let ram = command(1, Command::DMA_MAP, &map(0, 0xa0000, 3));
        let rom = command(2, Command::DMA_MAP, &map(0xfffc_0000, 0x4_0000, 1));
        send(&stream, &ram, &[std::os::fd::AsFd::as_fd(&memory)]);
        send(&stream, &rom, &[]);
        assert_eq!(
            (self::answer(&stream, &ram), self::answer(&stream, &rom)),
            (Ok(vec![]), Ok(vec![]))
        );
        let info = DeviceInfo {
            argsz: 16,
            ..Default::default()
        };
        assert_eq!(
            ask_for(&stream, Command::DEVICE_GET_INFO, &info)
                .unwrap()
                .len(),
            16
        );
        // MSI-X is enabled without an eventfd for the first interrupt; eventfds follow.
        let set = |flags, start, count| IrqSet {
            argsz: 20,
            flags,
            index: 2,
            start,
            count,
        };
        let eventfds = irq_set_flags::DATA_EVENTFD | irq_set_flags::ACTION_TRIGGER;
        let disable = irq_set_flags::DATA_NONE | irq_set_flags::ACTION_TRIGGER;
        assert_eq!(
            ask_for(&stream, Command::DEVICE_SET_IRQS, &set(eventfds, 0, 1)),
            Ok(vec![])
        );
        let three = command(4, Command::DEVICE_SET_IRQS, &set(eventfds, 0, 3));
        send(&stream, &three, &[std::os::fd::AsFd::as_fd(&memory); 3]);
        assert_eq!(self::answer(&stream, &three), Ok(vec![]));
        assert_eq!(
            ask_for(&stream, Command::DEVICE_SET_IRQS, &set(disable, 0, 0)),
            Ok(vec![])
        );
        // The two halves of the address space, as a vIOMMU unmaps them; then everything at once.
        for (flags, iova, length) in [
            (0, 0, 1 << 63),
            (0, 1 << 63, 1 << 63),
            (dma_unmap_flags::ALL, 0, 0),
        ] {
            let unmap = DmaUnmap {
                argsz: 24,
                flags,
                iova,
                length,
            };
            let answer = ask_for(&stream, Command::DMA_UNMAP, &unmap);
            assert_eq!(answer.as_deref(), Ok(unmap.as_bytes()));
        }
        assert_eq!(ask_for(&stream, Command::DEVICE_RESET, &[0; 0]), Ok(vec![]));
    });
    assert!(result.0.is_ok());
    assert_eq!(result.1.resets, 1);
}

#[test]
fn a_message_of_the_greatest_length_is_served() {
    let result = greeted(|stream| {
        let access = RegionAccess {
            offset: 0,
            region: 4,
            count: MAX_DATA as u32,
        };
        let write = [access.as_bytes(), &vec![3; MAX_DATA]].concat();
        assert_eq!(HEADER_LENGTH + write.len(), MAX_MESSAGE);
        let answer = ask_for(&stream, Command::REGION_WRITE, &write[..]);
        assert_eq!(answer.as_deref(), Ok(access.as_bytes()));
    });
    assert!(result.is_ok());
}

// A map whose descriptor was lost must not be taken for one without a descriptor. The limit holds for the whole process, so
// this runs in one of its own.
#[test]
fn a_descriptor_that_there_is_no_room_for_is_not_forgotten() {
    const CHILD: &str = "WARPLINE_WITHOUT_DESCRIPTORS";
    if std::env::var_os(CHILD).is_none() {
        let name = "hostile_client::a_descriptor_that_there_is_no_room_for_is_not_forgotten";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--test-threads=1"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("1 passed"), "{text}");
        return;
    }
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let map = |iova| {
        let request = DmaMapRequest {
            argsz: 32,
            flags: 3,
            offset: 0,
            iova,
            length: 0x1000,
        };
        command(9, Command::DMA_MAP, &request)
    };
    let memory = tempfile::tempfile().unwrap();
    let fd = std::os::fd::AsFd::as_fd(&memory);
    let result = greeted(|stream| {
        let limit = getrlimit(Resource::Nofile);
        let next = fd.try_clone_to_owned().unwrap();
        let current = Some(std::os::fd::AsRawFd::as_raw_fd(&next) as u64);
        drop(next);
        setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
        send(&stream, &map(0), &[fd]);
        assert_eq!(answer(&stream, &map(0)), Err(Errno::MFILE));
        setrlimit(Resource::Nofile, limit).unwrap();
        send(&stream, &map(0), &[fd]);
        assert_eq!(answer(&stream, &map(0)), Ok(vec![]));
    });
    assert!(result.is_ok());
}

/// Otherwise a silent client blocks all others.
#[test]
fn a_client_that_does_not_greet_is_given_up() {
    let silent = |said: usize| {
        let start = Instant::now();
        let (result, _) = with_server(|stream| {
            send(&stream, &hello()[..said], &[]);
            assert!(receive(&stream).is_none());
        });
        assert!(matches!(result, Err(ServeError::Silent)), "{result:?}");
        assert!(start.elapsed() >= GREETING);
    };
    thread::scope(|scope| {
        [1, 16, 18]
            .map(|said| scope.spawn(move || silent(said)))
            .map(drop)
    });
}

/// A device that holds the client's own end would never see it disconnect.
#[test]
fn sockets_are_no_memory_and_no_eventfds() {
    let result = greeted(|stream| {
        let own = std::os::fd::AsFd::as_fd(&stream);
        let map = DmaMapRequest {
            argsz: 32,
            flags: 3,
            offset: 0,
            iova: 0,
            length: 0x1000,
        };
        let map = command(1, Command::DMA_MAP, &map);
        send(&stream, &map, &[own]);
        assert_eq!(answer(&stream, &map), Err(Errno::INVAL));
        let set = IrqSet {
            argsz: 20,
            flags: irq_set_flags::DATA_EVENTFD | irq_set_flags::ACTION_TRIGGER,
            index: 2,
            start: 0,
            count: 1,
        };
        let set = command(2, Command::DEVICE_SET_IRQS, &set);
        send(&stream, &set, &[own]);
        assert_eq!(answer(&stream, &set), Err(Errno::INVAL));
    });
    assert!(result.is_ok(), "{result:?}");
}

//! The card as a PCI function over vfio-user, with hosts that behave, hosts that do not, and hosts that vanish.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use fastrand::Rng;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use warpline_driver::{
    Completion, Context, DmaMemory, ErrorNumber, MemoryRegion, Options, Registration, Stream,
    StreamOptions, VfioUser,
};
use warpline_hdl::Config;
use warpline_regmap::{pci, register};
use warpline_sim::{BackPressure, Card, CardOptions, Error, HostMemory, Listener, Service};
use warpline_vfio_user::Client;
use warpline_vfio_user::protocol::pci as number;
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Time for an answer of the card, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const REGISTERS: u32 = pci::REGISTER_BAR as u32;
const COMMAND: u64 = 4;
const STAG: u32 = 0x0500_0001;

fn card(seed: u64) -> Card {
    let options = CardOptions {
        seed,
        back_pressure: BackPressure {
            stall: 20,
            latency: 1..=100,
        },
        ..CardOptions::default()
    };
    Card::open(&Config::simulated(64), options).unwrap()
}

fn host(card: &Card) -> Context {
    let device = VfioUser::over(card.connect().unwrap(), TIMEOUT).unwrap();
    Context::open(Box::new(device), Options::default()).unwrap()
}

/// A region with STag [`STAG`] from Tagged Offset 0 on, and stream 0.
fn ready(context: &Context, octets: usize) -> (MemoryRegion, Stream) {
    let domain = context.protection_domain().unwrap();
    let registration = Registration {
        base: Some(0),
        ..Registration::default()
    };
    let memory = DmaMemory::new(octets).unwrap();
    let region = domain.register_as(STAG, memory, registration).unwrap();
    (region, domain.arm(0, StreamOptions::default()).unwrap())
}

/// Feeds consecutive writes of 256 octets, each filled with its number.
fn feed(card: &Card, writes: usize) {
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    let mut octets = Vec::new();
    for i in 0..writes {
        let message = Message::Tagged {
            stag: STAG,
            to: 256 * i as u64,
            rsvd_ulp: 0,
        };
        let payload = [i as u8 + 1; 256];
        writer
            .append_message(message, &payload, 1000, &mut octets)
            .unwrap();
    }
    for (i, segment) in octets.chunks(1460).enumerate() {
        card.feed(0, 1460 * i as u32, segment).unwrap();
    }
}

fn errno(result: Result<(), warpline_vfio_user::Error>) -> Option<Errno> {
    match result {
        Ok(()) => None,
        Err(warpline_vfio_user::Error::Refused { errno, .. }) => {
            Some(Errno::from_raw_os_error(errno as i32))
        }
        Err(other) => panic!("{other}"),
    }
}

fn read32(client: &Client, offset: u32) -> u32 {
    let mut word = [0; 4];
    client
        .region_read(REGISTERS, offset.into(), &mut word)
        .unwrap();
    u32::from_le_bytes(word)
}

fn enable(client: &Client, bits: u16) {
    client
        .region_write(number::CONFIG, COMMAND, &bits.to_le_bytes())
        .unwrap();
}

#[test]
fn registers_answer_whole_and_in_parts() {
    let card = card(1);
    let client = Client::over(card.connect().unwrap(), TIMEOUT).unwrap();
    let mut octets = [0; 8];
    let off = client.region_read(REGISTERS, 0, &mut octets[..4]);
    assert_eq!(errno(off), Some(Errno::IO), "memory space is off");
    enable(&client, 0b010);
    assert_eq!(
        read32(&client, register::IDENTITY.offset),
        register::IDENTITY_VALUE
    );
    client.region_read(REGISTERS, 0, &mut octets).unwrap();
    let both = [register::IDENTITY_VALUE, register::VERSION_VALUE].map(u32::to_le_bytes);
    assert_eq!(octets[..], both.concat());

    let at = u64::from(register::COMPLETION_BASE_HIGH.offset);
    let base = register::COMPLETION_BASE_HIGH.offset;
    for (offset, data, expected) in [
        (0, &[0x11, 0x22, 0x33, 0x44][..], 0x4433_2211),
        (1, &[0x55], 0x4433_5511),
        (2, &[0x66, 0x77], 0x7766_5511),
    ] {
        client.region_write(REGISTERS, at + offset, data).unwrap();
        assert_eq!(read32(&client, base), expected);
        let mut back = vec![0; data.len()];
        client
            .region_read(REGISTERS, at + offset, &mut back)
            .unwrap();
        assert_eq!(back, data);
    }
    for (offset, length) in [(1, 2), (2, 4), (4, 8), (0, 3), (0, 16)] {
        let mut data = vec![0; length];
        let refused = client.region_read(REGISTERS, offset, &mut data);
        assert_eq!(errno(refused), Some(Errno::INVAL), "{offset} {length}");
        let refused = client.region_write(REGISTERS, offset, &data);
        assert_eq!(errno(refused), Some(Errno::INVAL), "{offset} {length}");
    }
    assert_eq!(read32(&client, base), 0x7766_5511);

    client.reset().unwrap();
    assert_eq!(read32(&client, base), 0);
    let mut command = [0; 2];
    client
        .region_read(number::CONFIG, COMMAND, &mut command)
        .unwrap();
    assert_eq!(command, [2, 0], "as a kernel keeps it around a reset");
}

#[test]
fn the_function_is_reset_through_its_configuration() {
    let card = card(2);
    let client = Client::over(card.connect().unwrap(), TIMEOUT).unwrap();
    enable(&client, 0b110);
    let base = register::COMPLETION_BASE_HIGH.offset;
    client
        .region_write(REGISTERS, base.into(), &[1; 4])
        .unwrap();
    let mut pointer = [0];
    client
        .region_read(number::CONFIG, 0x34, &mut pointer)
        .unwrap();
    let express = loop {
        let mut header = [0; 2];
        client
            .region_read(number::CONFIG, pointer[0].into(), &mut header)
            .unwrap();
        match header {
            [0x10, _] => break u64::from(pointer[0]),
            [_, 0] => panic!("no PCI Express capability"),
            [_, next] => pointer[0] = next,
        }
    };
    client
        .region_write(number::CONFIG, express + 8, &0x8000_u16.to_le_bytes())
        .unwrap();
    let off = client.region_read(REGISTERS, 0, &mut [0; 4]);
    assert_eq!(
        errno(off),
        Some(Errno::IO),
        "the command register is as new"
    );
    enable(&client, 0b110);
    assert_eq!(read32(&client, base), 0);
}

#[test]
fn messages_reach_eventfds() {
    let card = card(3);
    let client = Client::over(card.connect().unwrap(), TIMEOUT).unwrap();
    enable(&client, 0b110);
    let events = [(); pci::VECTORS].map(|()| eventfd(0, EventfdFlags::NONBLOCK).unwrap());
    let count = |vector: usize| {
        let mut octets = [0; 8];
        match rustix::io::read(&events[vector], &mut octets) {
            Ok(_) => u64::from_ne_bytes(octets),
            Err(Errno::AGAIN) => 0,
            Err(error) => panic!("{error}"),
        }
    };
    let write = |register: register::Register, value: u32| {
        let offset = register.offset.into();
        client
            .region_write(REGISTERS, offset, &value.to_le_bytes())
            .unwrap();
        card.step(100).unwrap();
    };
    let targets = events.each_ref().map(|event| Some(event.as_fd()));
    client.set_irqs(number::MSIX, 0, &targets).unwrap();
    let all = (1 << pci::VECTORS) - 1;
    write(register::INTERRUPT_ENABLE, all);
    // The RTL has one vector less: the mailbox's is the control program's.
    for vector in 0..register::interrupt::COUNT {
        write(register::INTERRUPT_TEST, 1 << vector);
        let counts: Vec<_> = (0..pci::VECTORS).map(count).collect();
        let expected: Vec<_> = (0..pci::VECTORS).map(|v| u64::from(v == vector)).collect();
        assert_eq!(counts, expected);
    }
    // Without bus mastering the message waits.
    enable(&client, 0b010);
    write(register::INTERRUPT_STATE, all);
    write(register::INTERRUPT_TEST, 1);
    assert_eq!(count(0), 0);
    enable(&client, 0b110);
    assert_eq!(count(0), 1);
    let beyond = client.set_irqs(number::MSIX, pci::VECTORS as u32, &targets[..1]);
    assert_eq!(errno(beyond), Some(Errno::INVAL));
}

#[test]
fn a_host_at_a_time() {
    let card = card(4);
    let first = Client::over(card.connect().unwrap(), TIMEOUT).unwrap();
    assert!(matches!(card.connect(), Err(Error::Busy)));
    enable(&first, 0b010);
    read32(&first, 0);
    drop(first);
    let second = Client::over(card.connect().unwrap(), TIMEOUT).unwrap();
    let off = second.region_read(REGISTERS, 0, &mut [0; 4]);
    assert_eq!(errno(off), Some(Errno::IO), "as new");
}

// req: DDP-ERR-23
#[test]
fn memory_unmapped_while_it_is_written_is_a_stream_error() {
    for seed in 0..12 {
        let card = card(seed);
        let context = host(&card);
        let (region, stream) = ready(&context, 64 << 10);
        let domain = context.protection_domain().unwrap();
        let other = domain.arm(1, StreamOptions::default()).unwrap();
        feed(&card, 200);
        let mut rng = Rng::with_seed(seed);
        card.step(rng.u64(300..5000)).unwrap();
        // Without the driver, which would fence first.
        let (iova, length) = region_map(&card);
        let before = card.bus_errors();
        assert_eq!(card.unmap(iova, length).unwrap(), length);
        let memory = region.to_vec().unwrap();
        card.run_until_idle().unwrap();
        assert!(
            region.to_vec().unwrap() == memory,
            "seed {seed}: written after the unmap"
        );
        assert!(card.bus_errors() > before, "seed {seed}");
        let record = stream.error_record().unwrap().unwrap();
        assert_eq!(record.number, ErrorNumber::LocalCatastrophic, "seed {seed}");
        // Reported messages are in memory, and none is written in part.
        let reported = std::iter::from_fn(|| context.completion_queue().poll().unwrap());
        let writes = reported
            .filter(|c| matches!(c, Completion::Tagged(_)))
            .count();
        for (i, write) in memory.chunks(256).take(writes).enumerate() {
            assert!(
                write.iter().all(|&octet| octet == i as u8 + 1),
                "seed {seed}, write {i}"
            );
        }
        assert!(writes < 200, "seed {seed}: too late");
        // The card still works.
        other.close().unwrap();
        stream.close().unwrap();
    }
}

// req: DDP-ERR-23
#[test]
fn memory_that_may_only_be_read_is_not_written() {
    let card = card(7);
    let context = host(&card);
    let (_region, stream) = ready(&context, 64 << 10);
    let (iova, length) = region_map(&card);
    card.unmap(iova, length).unwrap();
    let file = tempfile::tempfile().unwrap();
    let memory = HostMemory {
        iova,
        length,
        file: file.try_clone().unwrap(),
        offset: 0,
        read: true,
        write: false,
    };
    card.map(memory).unwrap();
    feed(&card, 1);
    card.run_until_idle().unwrap();
    assert_eq!(card.bus_errors(), 1);
    let record = stream.error_record().unwrap().unwrap();
    assert_eq!(record.number, ErrorNumber::LocalCatastrophic);
    assert_eq!(file.metadata().unwrap().len(), 0);
}

/// Bus address and octets of the region's memory.
fn region_map(card: &Card) -> (u64, u64) {
    let mut maps = card.mapped().into_iter();
    maps.find(|(_, length)| *length == 64 << 10).unwrap()
}

/// A service, and the directory of its socket.
fn service(card: &Card) -> (Service, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::bind(folder.path().join("card")).unwrap();
    (Service::start(card, listener).unwrap(), folder)
}

#[test]
fn a_host_that_vanishes_leaves_nothing_behind() {
    let card = card(8);
    let (service, _folder) = service(&card);
    for round in 0..4 {
        let socket = UnixStream::connect(service.path()).unwrap();
        let cord = socket.try_clone().unwrap();
        let device = VfioUser::over(socket, TIMEOUT).unwrap();
        let context = Context::open(Box::new(device), Options::default()).unwrap();
        let (region, stream) = ready(&context, 64 << 10);
        feed(&card, 200);
        let queue = context.completion_queue();
        let mut seen = 0;
        while seen < if round % 2 == 0 { 20 } else { 200 } {
            match queue.wait(TIMEOUT).unwrap() {
                Some(Completion::Tagged(_)) => seen += 1,
                other => panic!("round {round}: {other:?}"),
            }
        }
        if round % 2 == 1 {
            let memory = region.to_vec().unwrap();
            for (i, write) in memory.chunks(256).take(200).enumerate() {
                assert!(write.iter().all(|&octet| octet == i as u8 + 1), "write {i}");
            }
            stream.close().unwrap();
            continue;
        }
        // As when a process is killed: nothing is closed in order.
        cord.shutdown(std::net::Shutdown::Both).unwrap();
        // The next host is accepted after the card has dropped the last one.
        let client = Client::connect(service.path(), TIMEOUT).unwrap();
        assert!(card.mapped().is_empty());
        enable(&client, 0b110);
        assert_eq!(read32(&client, register::COMPLETION_ENTRIES.offset), 0);
        assert_eq!(read32(&client, register::OCTETS.offset), 0);
        assert_eq!(card.untaken(0).unwrap(), 0, "its connections are gone");
        let memory = region.to_vec().unwrap();
        card.step(2000).unwrap();
        assert!(region.to_vec().unwrap() == memory, "round {round}");
        assert!(stream.close().is_err() && region.revoke().is_err());
    }
    service.stop().unwrap();
}

#[test]
fn malformed_input_ends_its_own_connection_only() {
    let card = card(9);
    let (service, _folder) = service(&card);
    let mut rng = Rng::with_seed(9);
    for round in 0..60 {
        let mut peer = UnixStream::connect(service.path()).unwrap();
        peer.set_read_timeout(Some(TIMEOUT)).unwrap();
        let length = rng.usize(1..200);
        let mut octets: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(length).collect();
        if round % 3 == 0 && length >= 16 {
            // A possible header: VERSION with a possible length.
            octets[..16].copy_from_slice(&[
                7,
                0,
                1,
                0,
                length as u8,
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
            ]);
        }
        let _ = peer.write_all(&octets); // the card may have closed the connection
        if round % 2 == 0 {
            let _ = peer.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = peer.read_to_end(&mut answer); // returns: the card closes the connection
        }
    }
    let client = Client::connect(service.path(), TIMEOUT).unwrap();
    enable(&client, 0b010);
    assert_eq!(read32(&client, 0), register::IDENTITY_VALUE);
    assert!(service.is_running());
    drop(client);
    service.stop().unwrap();
}

#[test]
fn a_stopped_service_disconnects_its_host_and_removes_its_socket() {
    let card = card(10);
    let (service, folder) = service(&card);
    let client = Client::connect(service.path(), TIMEOUT).unwrap();
    enable(&client, 0b010);
    service.stop().unwrap();
    assert!(client.region_read(REGISTERS, 0, &mut [0; 4]).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let cycles = card.timing().cycles;
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(card.timing().cycles, cycles, "its time has stopped");
}

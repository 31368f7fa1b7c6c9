//! What the driver, the device or the backend refuses.

use super::*;

#[test]
fn what_does_not_exist_is_named() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let armed = |number, queues| {
        let options = StreamOptions {
            queues,
            ..Default::default()
        };
        domain
            .arm(number, options)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        armed(7, 1),
        "the device has 4 streams, stream 7 does not exist: use 0 to 3"
    );
    assert!(
        armed(0, 0x10).contains("queue mask 0x10"),
        "{}",
        armed(0, 0x10)
    );
    let _stream = arm(&domain, 0);
    assert_eq!(armed(0, 1), "stream 0 is armed: close it first");

    let register = |registration| {
        let memory = DmaMemory::new(100).unwrap();
        let refused = domain.register(memory, registration).unwrap_err();
        assert_eq!(refused.item.map(|memory| memory.len()), Some(100));
        refused.error
    };
    let default = Registration::default;
    let range = register(Registration {
        offset: 50,
        length: Some(51),
        ..default()
    });
    assert!(matches!(
        range,
        Error::Range {
            offset: 50,
            length: 51,
            size: 100
        }
    ));
    let range = register(Registration {
        offset: 101,
        ..default()
    });
    assert!(matches!(
        range,
        Error::Range {
            offset: 101,
            length: 0,
            size: 100
        }
    ));
    let base = register(Registration {
        base: Some(u64::MAX - 98),
        ..default()
    });
    assert!(matches!(base, Error::TaggedOffsets { length: 100, .. }));
    let scope = register(Registration {
        scope: Scope::Stream(STREAMS),
        ..default()
    });
    assert!(matches!(
        scope,
        Error::NoStream {
            stream: STREAMS,
            streams: STREAMS
        }
    ));
    let last = Registration {
        base: Some(u64::MAX - 99),
        ..default()
    };
    domain.register(DmaMemory::new(100).unwrap(), last).unwrap();
    card.assert_no_violations();
}

#[test]
fn domains_are_reused_when_nothing_needs_them() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let first = context.protection_domain().unwrap();
    let memory = DmaMemory::new(8).unwrap();
    let region = first.register(memory, Registration::default()).unwrap();
    let id = first.id();
    drop(first);
    assert_ne!(context.protection_domain().unwrap().id(), id);
    drop(region);
    assert_eq!(context.protection_domain().unwrap().id(), id);
}

#[test]
fn a_failing_backend_is_an_error() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    card.model().fails = Some("map");
    let refused = domain
        .register(DmaMemory::new(8).unwrap(), Registration::default())
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "mapping memory for DMA failed: map is out of order"
    );
    card.model().fails = None;
    let region = domain
        .register(DmaMemory::new(8).unwrap(), Registration::default())
        .unwrap();
    card.model().fails = Some("unmap");
    let refused = region.revoke().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "unmapping memory failed: unmap is out of order"
    );
    assert_eq!(card.model().held(), 2, "the device may still write");
}

#[test]
fn refused_commands_leave_the_driver_as_it_was() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let refuse = |number| card.model().refuses = Some(number);
    let memory = DmaMemory::new(8).unwrap();
    refuse(command::WRITE_STAG);
    let refused = domain
        .register_as(7, memory, Registration::default())
        .unwrap_err();
    assert!(matches!(
        refused.error,
        Error::Refused {
            command: "WRITE_STAG",
            ..
        }
    ));
    let memory = refused.item.unwrap();
    domain
        .register_as(7, memory, Registration::default())
        .unwrap();

    refuse(command::ARM_STREAM);
    let refused = domain
        .arm(0, StreamOptions::default())
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(
        refused,
        Error::Refused {
            command: "ARM_STREAM",
            ..
        }
    ));
    let mut model = card.model();
    model.close(0);
    drop(model);
    let before = maps(&card);
    refuse(command::SET_RECEIVE_RING);
    let refused = domain.arm(0, StreamOptions::default()).map(|_| ());
    assert!(matches!(
        refused.unwrap_err(),
        Error::Refused {
            command: "SET_RECEIVE_RING",
            ..
        }
    ));
    assert_eq!(card.model().commands.last(), Some(&command::CLOSE_STREAM));
    assert_eq!(maps(&card), before);
    domain.arm(0, StreamOptions::default()).unwrap();
    card.assert_no_violations();
}

#[test]
fn other_devices_are_refused() {
    let shape = 8 | u32::from(STREAMS) << 16 | u32::from(QUEUES) << 24;
    let cases = [
        (register::IDENTITY, 0, "IDENTITY reads 0x00000000"),
        (register::IDENTITY, u32::MAX, "IDENTITY reads 0xffffffff"),
        (register::VERSION, 0x0001_0000, "register map 0x00010000"),
        (register::SHAPE, shape & !0xFF_0000, "register SHAPE reads"),
        (register::SHAPE, shape | 0xFF_0000, "register SHAPE reads"),
        (
            register::STAG_SLOTS,
            0,
            "register STAG_SLOTS reads 0x00000000",
        ),
        (
            register::STAG_SLOTS,
            48,
            "register STAG_SLOTS reads 0x00000030",
        ),
        (
            register::RECEIVE_SLOTS,
            3,
            "register RECEIVE_SLOTS reads 0x00000003",
        ),
    ];
    for (register, value, text) in cases {
        let card = SoftwareCard::default();
        card.model().overrides.insert(register.offset, value);
        let refused = Context::open(Box::new(card), Options::default()).map(|_| ());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
    }
    let gone = SoftwareCard::default();
    let context = open(&gone, 64);
    gone.model()
        .overrides
        .insert(register::COMMAND.offset, u32::MAX);
    let domain = context.protection_domain().unwrap();
    let refused = domain.arm(0, StreamOptions::default()).map(|_| ());
    assert!(matches!(refused.unwrap_err(), Error::Gone));

    for entries in [0, 3, 1 << 17] {
        let options = Options {
            completion_entries: entries,
            ..Default::default()
        };
        let card = Box::new(SoftwareCard::default());
        let refused = Context::open(card, options).map(|_| ()).unwrap_err();
        assert!(matches!(refused, Error::CompletionEntries { entries: e } if e == entries));
    }

    let entries = register::COMPLETION_ENTRIES.offset;
    for found in [0, 512] {
        let card = SoftwareCard::default();
        card.model().overrides.insert(entries, found);
        let refused = Context::open(Box::new(card), Options::default()).map(|_| ());
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, Error::CompletionQueueRefused { entries: 1024, iova, found: f }
                if f == found && iova.is_multiple_of(64)),
            "{refused}"
        );
        assert!(refused.to_string().contains("queue of 1024 entries"));
    }
    let card = SoftwareCard::default();
    card.model().overrides.insert(entries, u32::MAX);
    let refused = Context::open(Box::new(card), Options::default()).map(|_| ());
    assert!(matches!(refused.unwrap_err(), Error::Gone));
}

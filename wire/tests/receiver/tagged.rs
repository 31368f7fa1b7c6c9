//! Tagged messages and STags.

use super::*;

// req: DDP-TAG-03, DDP-TAG-04, DDP-TAG-08, DDP-TAG-12, DDP-TAG-13, DDP-DEL-01, DDP-DEL-04, AMB-44
#[test]
fn tagged_messages_are_placed_and_reported() {
    let mut receiver = default_receiver();
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    for rsvd_ulp in 0..=255 {
        let message = Message::Tagged {
            stag: STAG,
            to: 1,
            rsvd_ulp,
        };
        let mut wire = Vec::new();
        let payload = pattern(rsvd_ulp.into(), 300);
        writer
            .append_message(message, &payload, 128, &mut wire)
            .unwrap();
        let log = feed(&mut receiver, 1, &wire);
        let (offsets, octets): (Vec<u64>, Vec<&[u8]>) = log
            .placements()
            .into_iter()
            .map(|(target, octets)| match target {
                Target::Tagged { stag: STAG, to } => (to, octets),
                other => panic!("{other:?}"),
            })
            .unzip();
        assert_eq!(offsets, [1, 115, 229]);
        assert_eq!(octets.concat(), payload);
        let delivery = Delivery::Tagged {
            stag: STAG,
            to: 229,
            length: 72,
            rsvd_ulp,
        };
        assert_eq!(log.deliveries(), [(delivery, Flags::empty())]);
    }
}

// req: AMB-44
#[test]
fn tagged_reports_can_be_switched_off() {
    let config = StreamConfig {
        tagged_completions: false,
        ..StreamConfig::default()
    };
    let mut receiver = receiver(ReceiverConfig::default(), config);
    let ulpdus = [write(STAG, 0, true, b"silent"), send(1, 0, true, b"loud")];
    let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
    assert_eq!(log.placements().len(), 2);
    assert_eq!(log.deliveries(), [(untagged(1, 4), Flags::empty())]);
    assert_eq!(receiver.counters(1).unwrap().delivered, 2);
}

// req: DDP-SEC-01, DDP-SEC-02, DDP-SEC-03, DDP-SEC-05, DDP-SEC-08, DDP-SEC-17, DDP-SEC-18, AMB-59
#[test]
fn an_stag_serves_its_protection_domain_or_its_stream_only() {
    for domain in 0..4u32 {
        for stream in 0..4u32 {
            let of_streams = (0..16).map(|i| Scope::Stream {
                stream: i % 4,
                protection_domain: i / 4,
            });
            for scope in (0..4).map(Scope::ProtectionDomain).chain(of_streams) {
                let mut receiver = Receiver::new(ReceiverConfig::default());
                let config = StreamConfig {
                    protection_domain: domain,
                    ..StreamConfig::default()
                };
                receiver.open(stream, config).unwrap();
                let entry = StagEntry {
                    scope,
                    ..writable(0, 0, 64)
                };
                receiver.set_stag(STAG, entry);
                let wire = stream_of(false, [write(STAG, 0, true, b"x")]);
                let log = feed(&mut receiver, stream, &wire);
                let allowed = match scope {
                    Scope::ProtectionDomain(its) => its == domain,
                    Scope::Stream {
                        stream: its,
                        protection_domain,
                    } => (its, protection_domain) == (stream, domain),
                };
                assert_eq!(log.placements().len(), usize::from(allowed));
                if !allowed {
                    let record = log.only_failure();
                    assert_eq!(record.number, ErrorNumber::TaggedNotAssociated);
                    assert_eq!(record.checks, Checks::ASSOC);
                }
            }
        }
    }
}

// req: DDP-SEC-09, DDP-SEC-19
#[test]
fn every_octet_of_the_range_is_writable_and_none_beside_it() {
    let (base, length) = (4099, 4097);
    for (to, inside) in [
        (base, true),
        (base + length - 1, true),
        (base - 1, false),
        (base + length, false),
    ] {
        let mut receiver = default_receiver();
        receiver.set_stag(STAG, writable(7, base, length));
        let wire = stream_of(false, [write(STAG, to, true, b"x")]);
        let log = feed(&mut receiver, 1, &wire);
        assert_eq!(log.failure().is_none(), inside, "TO {to}");
    }
}

// req: DDP-SEC-10, DDP-SEC-20, DDP-SEC-22, AMB-50
#[test]
fn revocation_and_the_whole_stag_count() {
    let mut receiver = default_receiver();
    let attempt = |receiver: &mut Receiver, stream, stag| {
        let wire = stream_of(false, [write(stag, 0, true, b"x")]);
        feed(receiver, stream, &wire).failure()
    };
    receiver.set_stag(0, writable(7, 0, 64));
    assert_eq!(attempt(&mut receiver, 1, 0), None, "STag 0 is an STag");
    assert!(receiver.revoke_stag(STAG));
    assert!(!receiver.revoke_stag(0x999));
    let record = attempt(&mut receiver, 1, STAG).unwrap();
    assert_eq!(record.number, ErrorNumber::TaggedInvalidStag);
    assert_eq!(record.checks, Checks::STAG);
    receiver.set_stag(STAG, writable(7, 0, 64));
    assert_eq!(attempt(&mut receiver, 2, STAG), None);
    let other_key = STAG ^ 0x01;
    let record = attempt(&mut receiver, 2, other_key).unwrap();
    assert_eq!(record.checks, Checks::STAG);
}

//! Memory regions: what they admit, of whom, and until when.

use super::*;

// req: DDP-SEC-09, DDP-SEC-20, DDP-DEL-07
#[test]
fn a_region_takes_exactly_its_octets() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let registration = Registration {
        offset: 1001,
        length: Some(4097),
        base: Some(0x7000_0000_0003),
        ..Default::default()
    };
    for (to, accepted) in [
        (0x7000_0000_0003, true),
        (0x7000_0000_1003, true),
        (0x7000_0000_0002, false),
        (0x7000_0000_1004, false),
    ] {
        let memory = DmaMemory::new(10_000).unwrap();
        let region = domain.register(memory, registration).unwrap();
        let stream = arm(&domain, 0);
        Peer::new(&card, &stream, 0xFFFF_FF00).write(region.stag(), to, &[7]);
        let completions = all(&context.completion_queue());
        let octets = region.to_vec().unwrap();
        match (accepted, &completions[..]) {
            (true, [Completion::Tagged(completion)]) => {
                assert_eq!(completion.stag, region.stag());
                assert_eq!((completion.offset, completion.length), (to, 1));
                assert_eq!((completion.rsvd_ulp, completion.unverified), (0x40, false));
                let at = 1001 + (to - 0x7000_0000_0003) as usize;
                assert_eq!(octets[at], 7);
                assert_eq!(octets.iter().filter(|octet| **octet != 0).count(), 1);
            }
            (false, [Completion::Error(event)]) => {
                assert_eq!(event.number, ErrorNumber::TaggedBounds);
                assert!(octets.iter().all(|octet| *octet == 0));
            }
            other => panic!("{other:?}"),
        }
        stream.close().unwrap();
        assert_eq!(region.revoke().unwrap()[..], octets);
    }
    card.assert_no_violations();
}

// req: DDP-SEC-01, DDP-SEC-02, DDP-SEC-04, DDP-SEC-06, DDP-SEC-11, DDP-SEC-13, DDP-SEC-21, DDP-SEC-08
#[test]
fn regions_belong_to_their_domain_or_stream() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let [ours, theirs] = [0; 2].map(|_| context.protection_domain().unwrap());
    assert_ne!(ours.id(), theirs.id());
    let register = |registration| {
        ours.register(DmaMemory::new(64).unwrap(), registration)
            .unwrap()
    };
    let shared = register(Registration::default());
    let of_stream_1 = register(Registration {
        scope: Scope::Stream(1),
        ..Default::default()
    });
    let read_only = register(Registration {
        remote_write: false,
        ..Default::default()
    });
    let empty = register(Registration {
        length: Some(0),
        ..Default::default()
    });
    let cases = [
        (&ours, 0, &shared, None),
        (&theirs, 0, &shared, Some(ErrorNumber::TaggedNotAssociated)),
        (&ours, 1, &of_stream_1, None),
        (
            &ours,
            0,
            &of_stream_1,
            Some(ErrorNumber::TaggedNotAssociated),
        ),
        (&ours, 0, &read_only, Some(ErrorNumber::TaggedInvalidStag)),
        (&ours, 0, &empty, Some(ErrorNumber::TaggedInvalidStag)),
    ];
    for (i, (domain, number, region, expected)) in cases.into_iter().enumerate() {
        let stream = arm(domain, number);
        Peer::new(&card, &stream, 0xFFFF_FF00).write(region.stag(), region.base(), &[1]);
        match (expected, &all(&context.completion_queue())[..]) {
            (None, [Completion::Tagged(_)]) => {}
            (Some(number), [Completion::Error(event)]) => assert_eq!(event.number, number, "{i}"),
            other => panic!("{i}: {other:?}"),
        }
        stream.close().unwrap();
    }
    card.assert_no_violations();
}

// req: AMB-42, DDP-SEC-10, DDP-SEC-22
#[test]
fn a_revoked_region_is_out_of_reach() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let memory = DmaMemory::new(64).unwrap();
    let region = domain.register(memory, Registration::default()).unwrap();
    let (stag, base) = (region.stag(), region.base());
    let stream = arm(&domain, 0);
    let memory = region.revoke().unwrap();
    Peer::new(&card, &stream, 0xFFFF_FF00).write(stag, base, &[1; 64]);
    assert_eq!(memory[..], [0; 64]);
    let record = stream.error_record().unwrap().unwrap();
    assert_eq!(record.number, ErrorNumber::TaggedInvalidStag);
    // The same memory can be registered again, under another STag.
    let again = domain.register(memory, Registration::default()).unwrap();
    assert_ne!(again.stag(), stag);
    card.assert_no_violations();
}

// req: AMB-50
#[test]
fn stags_are_drawn_or_given() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let memory = || DmaMemory::new(8).unwrap();
    let zero = domain
        .register_as(0, memory(), Registration::default())
        .unwrap();
    assert_eq!(zero.stag(), 0);
    let taken = domain
        .register_as(0x1005, memory(), Registration::default())
        .unwrap_err();
    assert_eq!(
        taken.to_string(),
        "STag 0x00001005 needs slot 0, which STag 0x00000000 uses: revoke that one first"
    );
    assert!(taken.item.is_some());
    let others: Vec<_> = (1..STAG_SLOTS)
        .map(|_| domain.register(memory(), Registration::default()).unwrap())
        .collect();
    let full = domain
        .register(memory(), Registration::default())
        .unwrap_err();
    assert!(matches!(
        full.error,
        Error::NoStagSlot { slots: STAG_SLOTS }
    ));
    // 15 keys of 8 random bits are all equal once in 2^112 runs.
    assert!(
        others
            .iter()
            .any(|other| other.stag() & 0xFF != others[0].stag() & 0xFF)
    );
    drop(zero);
    domain
        .register_as(0x1005, memory(), Registration::default())
        .unwrap();
    card.assert_no_violations();
}

// req: DDP-SEC-18
#[test]
fn a_new_stream_does_not_inherit_regions() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let registration = Registration {
        scope: Scope::Stream(1),
        ..Default::default()
    };
    let region = domain
        .register(DmaMemory::new(8).unwrap(), registration)
        .unwrap();
    arm(&domain, 1).close().unwrap();
    let refused = domain
        .arm(1, StreamOptions::default())
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(refused, Error::StreamRegions { stream: 1, stag } if stag == region.stag()),
        "{refused}"
    );
    drop(region);
    arm(&domain, 1);
}

// req: AMB-59, DDP-SEC-17
#[test]
fn a_region_of_a_stream_is_of_its_domain() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let [ours, theirs] = [0; 2].map(|_| context.protection_domain().unwrap());
    let registration = Registration {
        scope: Scope::Stream(1),
        ..Default::default()
    };
    let memory = || DmaMemory::new(8).unwrap();

    let stream = arm(&ours, 1);
    let refused = theirs.register(memory(), registration).unwrap_err();
    assert!(refused.item.is_some(), "the memory comes back");
    assert!(
        matches!(refused.error, Error::StreamDomain { stream: 1, domain } if domain == ours.id()),
        "{}",
        refused.error
    );
    ours.register(memory(), registration).unwrap();
    stream.close().unwrap();

    // Closed, it may be armed in any domain: in that of its regions.
    let region = theirs.register(memory(), registration).unwrap();
    let refused = ours.arm(1, StreamOptions::default());
    let refused = refused.map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, Error::RegionDomain { stream: 1, stag, domain }
            if (stag, domain) == (region.stag(), theirs.id())),
        "{refused}"
    );
    arm(&ours, 2);
    arm(&theirs, 1).close().unwrap();
    drop(region);
    arm(&ours, 1);
    card.assert_no_violations();
}

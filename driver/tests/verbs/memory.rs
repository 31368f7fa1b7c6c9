//! Memory that the device may write to, and when it is freed.

use super::*;

fn region(domain: &ProtectionDomain) -> MemoryRegion {
    let memory = DmaMemory::new(8).unwrap();
    domain.register(memory, Registration::default()).unwrap()
}

/// Stream 0, with two buffers posted.
fn stream(context: &Context, domain: &ProtectionDomain) -> Stream {
    let stream = arm(domain, 0);
    for buffer in context.buffers(2, 8).unwrap() {
        stream.receive_queue(0).unwrap().post(buffer).unwrap();
    }
    stream
}

// req: DDP-SEC-22
#[test]
fn memory_that_the_device_may_write_to_is_never_freed() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let (region, dropped) = (region(&domain), region(&domain));
    let stream = stream(&context, &domain);
    assert_eq!(maps(&card), 6, "two of them are receive rings");
    card.model().hangs = true;
    let failed = region.revoke().unwrap_err();
    assert!(matches!(
        failed,
        Error::CommandTimeout {
            command: "REVOKE_STAG",
            timeout: SHORT
        }
    ));
    drop(dropped);
    assert!(matches!(stream.close().unwrap_err(), Error::Gone));
    card.model().fails = Some("reset");
    drop((domain, context));
    assert_eq!(maps(&card), 6, "nothing was unmapped");
    assert_eq!(card.model().held(), 6, "nothing was freed");
    card.assert_no_violations();
}

#[test]
fn all_memory_is_freed() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let (region, stream) = (region(&domain), stream(&context, &domain));
    drop((domain, context));
    assert_eq!(maps(&card), 5, "handles keep the device open");
    assert_eq!(card.model().held(), 5);
    drop((stream, region));
    assert_eq!(maps(&card), 0);
    assert_eq!(
        card.model().commands[3..5],
        [command::SET_RECEIVE_RING, command::CLOSE_STREAM]
    );
    card.assert_no_violations();
}

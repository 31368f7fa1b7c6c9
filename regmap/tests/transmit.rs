//! Send slots: the words of a request, every refusal, and slots that any program may have written.

use warpline_regmap::layout::{self, completion};
use warpline_regmap::register_list;
use warpline_regmap::transmit::{
    self, ELEMENTS_MAX, Element, Flags, Gather, INLINE_MAX, Inline, Payload, SLOT_OCTETS,
    SendRequest, Slot, SlotError, Target, kind, send_element, send_event, send_slot, slot_offset,
};
use warpline_regmap::{mailbox, register};

const TAGGED: Target = Target::Tagged {
    stag: 0x1122_3344,
    offset: 0x0102_0304_0506_0708,
    rsvd_ulp: 0x40,
};
const UNTAGGED: Target = Target::Untagged {
    queue: 2,
    rsvd_ulp: [0x47, 0xA1, 0xA2, 0xA3, 0xA4],
};
const SIGNALLED: Flags = Flags {
    signalled: true,
    fence: false,
    terminate: false,
};

fn element(number: u32) -> Element {
    Element {
        stag: 0x100 * number,
        length: 0x10 + number,
        offset: 0x1_0000_0000 * u64::from(number) + 7,
    }
}

fn gather(elements: &[Element]) -> Payload {
    Payload::Gather(Gather::new(elements).unwrap())
}

fn inline(octets: &[u8]) -> Payload {
    Payload::Inline(Inline::new(octets).unwrap())
}

/// A slot that begins with these words, the rest 0.
fn slot(words: &[u32]) -> Slot {
    let mut slot = [0; 64];
    slot[..words.len()].copy_from_slice(words);
    slot
}

/// A tagged request of one element, as the layout's tables say.
fn one_element() -> Slot {
    slot(&[
        0x4000_0111, // RsvdULP 40, one element, signalled, tagged
        0x1122_3344,
        0x0506_0708,
        0x0102_0304,
        0,
        0x11,
        0xDDCC_BBAA,
        0x1199_FFEE,
        0x100,
        0x11,
        7,
        1,
    ])
}

#[test]
fn a_slot_has_the_words_of_the_tables() {
    let request = SendRequest::new(
        TAGGED,
        SIGNALLED,
        0x1199_FFEE_DDCC_BBAA,
        gather(&[element(1)]),
    )
    .unwrap();
    assert_eq!(request.emit(), one_element());
    assert_eq!(SendRequest::parse(&one_element()), Ok(request));

    let flags = Flags {
        signalled: false,
        fence: true,
        terminate: true,
    };
    let request = SendRequest::new(UNTAGGED, flags, 5, inline(&[1, 2, 3, 4, 5])).unwrap();
    let words = slot(&[
        0x4700_05E2, // RsvdULP 47, five octets, inline, terminate, fence, untagged
        2,
        0,
        0,
        0xA1A2_A3A4, // the first octet on the wire is the most significant one
        5,
        5,
        0,
        0x0403_0201,
        0x05,
    ]);
    assert_eq!(request.emit(), words);
    assert_eq!(SendRequest::parse(&words), Ok(request));
    // Octets behind the payload are not read.
    let mut dirty = words;
    dirty[9..].fill(0xEEEE_EE05);
    assert_eq!(SendRequest::parse(&dirty), Ok(request));
}

#[test]
fn a_slot_is_made_for_bursts() {
    assert_eq!(SLOT_OCTETS, 256);
    assert!(SLOT_OCTETS.is_power_of_two() && 4096 % SLOT_OCTETS == 0);
    // The elements begin in the first cache line and end in the slot, and so do inline octets.
    let payload = transmit::PAYLOAD_WORD;
    assert_eq!(64 / 4 - payload, 2 * send_element::WORDS);
    assert!(payload + ELEMENTS_MAX * send_element::WORDS <= send_slot::WORDS);
    assert!(payload + INLINE_MAX / 4 <= send_slot::WORDS);
    // No field crosses a beat of 64 bits.
    for layout in [send_slot::LAYOUT, send_element::LAYOUT] {
        for field in layout.fields {
            let (first, last) = (field.lsb / 64, (field.lsb + field.width - 1) / 64);
            assert_eq!(first, last, "{}.{}", layout.name, field.name);
        }
    }
    let places: Vec<u64> = [0, 1, 7, 8, 9, u16::MAX]
        .map(|number| slot_offset(number, 8))
        .into();
    assert_eq!(places, [0, 256, 1792, 0, 256, 1792]);
}

#[test]
fn records_have_no_overlap_and_fit() {
    for layout in transmit::LAYOUTS {
        let mut used = vec![false; 32 * layout.words];
        for field in layout.fields {
            // STAG and QUEUE of a slot share a word: `KIND` selects one of them.
            if layout.name == "send_slot" && field.name == "QUEUE" {
                assert_eq!((field.lsb, field.width), (32, 32));
                continue;
            }
            for bit in &mut used[field.lsb..field.lsb + field.width] {
                assert!(!*bit, "{}.{} overlaps", layout.name, field.name);
                *bit = true;
            }
        }
        if layout.name == "send_slot" {
            let payload = 32 * transmit::PAYLOAD_WORD;
            assert!(used[payload..].iter().all(|bit| !bit));
        }
    }
}

/// The present device must not change: nothing of this is in its tables, and no number is used twice.
#[test]
fn the_interface_is_apart_from_what_the_rtl_decodes() {
    let all: Vec<u32> = register_list::all()
        .map(|register| register.offset)
        .collect();
    assert!(all.is_sorted());
    assert_eq!(
        all.len(),
        register::REGISTERS.len() + transmit::REGISTERS.len() + mailbox::REGISTERS.len()
    );
    for register in transmit::REGISTERS {
        assert!(all.contains(&register.offset));
        assert_eq!(register.offset % 4, 0);
        assert!(register.offset < register::SPACE);
        assert!(
            register::locate(register.offset).is_none(),
            "{}",
            register.name
        );
    }
    let names: Vec<&str> = layout::LAYOUTS.iter().map(|layout| layout.name).collect();
    assert!(
        transmit::LAYOUTS
            .iter()
            .all(|layout| !names.contains(&layout.name))
    );
    let used = |value: u32| layout::kind::VALUES.iter().any(|kind| kind.value == value);
    assert!(!used(kind::SEND));
    let commands = register::command::COMMANDS;
    assert!(
        commands
            .iter()
            .all(|command| command.value.value != transmit::SET_SEND_RING)
    );
    // The read right is a bit of an entry of the STag table that nothing else uses.
    let rights = layout::stag_entry::LAYOUT;
    assert_eq!(transmit::transmit_stag_entry::WORDS, rights.words);
    let read = transmit::REMOTE_READ.lsb;
    let mut taken = rights
        .fields
        .iter()
        .map(|field| field.lsb..field.lsb + field.width);
    assert!(!taken.any(|bits| bits.contains(&read)));
    // A send_event is an entry of the same completion queue.
    assert_eq!(send_event::WORDS, completion::WORDS);
    assert_eq!(send_event::KIND.lsb, completion::KIND.lsb);
    assert_eq!(send_event::STREAM.lsb, completion::STREAM.lsb);
    assert_eq!(send_event::PHASE.lsb, completion::PHASE.lsb);
    assert!(u64::from(kind::SEND) <= send_event::KIND.max());
    let slots = u64::from(transmit::ENTRIES_MAX);
    assert!(
        slots < transmit::SEND_PRODUCER_COUNT.max() && slots <= transmit::send_ring::ENTRIES.max()
    );
}

#[test]
fn requests_that_no_slot_can_hold_are_refused() {
    let nine = [element(1); 9];
    assert_eq!(Gather::new(&nine), Err(SlotError::Elements { count: 9 }));
    assert_eq!(Gather::new(&nine[..8]).unwrap().as_slice(), &nine[..8]);
    assert_eq!(Inline::new(&[0; 65]), Err(SlotError::Inline { count: 65 }));
    assert_eq!(Inline::new(&[3; 64]).unwrap().as_slice(), [3; 64]);
    let empty = Element {
        length: 0,
        ..element(1)
    };
    let found = Gather::new(&[element(1), empty]);
    assert_eq!(found, Err(SlotError::EmptyElement { index: 1 }));

    // 2^32 - 1 octets fit, one more does not; u32 sums would wrap to 0.
    let half = Element {
        length: 0x8000_0000,
        ..element(1)
    };
    let rest = Element {
        length: 0x7FFF_FFFF,
        ..element(1)
    };
    assert_eq!(gather(&[half, rest]).length(), u32::MAX);
    let length = 1 << 32;
    assert_eq!(
        Gather::new(&[half, half]),
        Err(SlotError::TooLong { length })
    );
    let most = Element {
        length: u32::MAX,
        ..element(1)
    };
    let length = 8 * u64::from(u32::MAX);
    assert_eq!(Gather::new(&[most; 8]), Err(SlotError::TooLong { length }));

    let top = Element {
        stag: 1,
        length: 16,
        offset: u64::MAX - 15,
    };
    assert!(Gather::new(&[top]).is_ok());
    let over = Element { length: 17, ..top };
    let (index, offset, length) = (0, top.offset, 17);
    let wrap = SlotError::ElementWrap {
        index,
        offset,
        length,
    };
    assert_eq!(Gather::new(&[over]), Err(wrap));

    let tagged = |offset| Target::Tagged {
        stag: 1,
        offset,
        rsvd_ulp: 0x40,
    };
    let payload = inline(&[0; 16]);
    let new = |offset| SendRequest::new(tagged(offset), SIGNALLED, 0, payload);
    assert!(new(u64::MAX - 15).is_ok());
    let (offset, length) = (u64::MAX - 14, 16);
    assert_eq!(new(offset), Err(SlotError::Wrap { offset, length }));
}

/// One change each to a valid slot.
#[test]
fn hostile_slots_are_refused_with_the_value_found() {
    let with = |word: usize, value: u32| {
        let mut slot = one_element();
        slot[word] = value;
        slot
    };
    let cases = [
        (with(0, 0x4000_0110), SlotError::Kind { kind: 0 }),
        (with(0, 0x4000_0113), SlotError::Kind { kind: 3 }),
        (with(0, 0x4000_011F), SlotError::Kind { kind: 15 }),
        (
            with(0, 0x4081_0111),
            SlotError::Reserved { bits: 0x0081_0000 },
        ),
        (with(0, 0x4000_0911), SlotError::Elements { count: 9 }),
        (with(0, 0x4000_FF11), SlotError::Elements { count: 255 }),
        (with(0, 0x4000_4191), SlotError::Inline { count: 65 }),
        (with(0, 0x4000_FF91), SlotError::Inline { count: 255 }),
        (with(0, 0x4000_0211), SlotError::EmptyElement { index: 1 }),
        (
            with(0, 0x4000_0191),
            SlotError::Length {
                announced: 0x11,
                found: 1,
            },
        ),
        (
            with(0, 0x4000_0011),
            SlotError::Length {
                announced: 0x11,
                found: 0,
            },
        ),
        (with(9, 0), SlotError::EmptyElement { index: 0 }),
        (
            with(9, 0x12),
            SlotError::Length {
                announced: 0x11,
                found: 0x12,
            },
        ),
        (
            with(5, 0x10),
            SlotError::Length {
                announced: 0x10,
                found: 0x11,
            },
        ),
        (
            with(5, u32::MAX),
            SlotError::Length {
                announced: u32::MAX,
                found: 0x11,
            },
        ),
    ];
    for (slot, error) in cases {
        assert_eq!(SendRequest::parse(&slot), Err(error));
        assert!(!error.to_string().is_empty());
    }

    // Two elements of 2^31 octets: a sum of 32 bits would be 0 and agree with LENGTH.
    let mut overflow = one_element();
    overflow[0] = 0x4000_0211;
    overflow[5] = 0;
    (overflow[9], overflow[13]) = (1 << 31, 1 << 31);
    let length = 1 << 32;
    assert_eq!(
        SendRequest::parse(&overflow),
        Err(SlotError::TooLong { length })
    );

    let mut wrap = one_element();
    (wrap[10], wrap[11]) = (u32::MAX - 0xF, u32::MAX);
    let (index, offset, length) = (0, u64::MAX - 0xF, 0x11);
    let error = SlotError::ElementWrap {
        index,
        offset,
        length,
    };
    assert_eq!(SendRequest::parse(&wrap), Err(error));

    let mut wrap = one_element();
    (wrap[2], wrap[3]) = (u32::MAX - 0xF, u32::MAX);
    assert_eq!(
        SendRequest::parse(&wrap),
        Err(SlotError::Wrap { offset, length })
    );
    // An untagged message has no Tagged Offset to wrap.
    wrap[0] += 1;
    assert!(SendRequest::parse(&wrap).is_ok());
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

#[test]
fn random_requests_come_back() {
    let mut random = Random(1);
    let mut counts = [0; ELEMENTS_MAX + 1];
    for _ in 0..20_000 {
        let target = if random.below(2) == 0 {
            let (stag, rsvd_ulp) = (random.next() as u32, random.next() as u8);
            Target::Tagged {
                stag,
                offset: random.next() >> 1,
                rsvd_ulp,
            }
        } else {
            let [rsvd_ulp @ .., _, _, _] = random.next().to_le_bytes();
            Target::Untagged {
                queue: random.next() as u32,
                rsvd_ulp,
            }
        };
        let bits = random.next();
        let flags = Flags {
            signalled: bits & 1 != 0,
            fence: bits & 2 != 0,
            terminate: bits & 4 != 0,
        };
        let payload = if random.below(2) == 0 {
            let count = random.below(9) as usize;
            counts[count] += 1;
            let elements: Vec<Element> = (0..count)
                .map(|_| Element {
                    stag: random.next() as u32,
                    length: 1 + random.below((1 << 29) - 1) as u32,
                    offset: random.next() >> 1,
                })
                .collect();
            gather(&elements)
        } else {
            let octets: Vec<u8> = (0..random.below(65)).map(|_| random.next() as u8).collect();
            inline(&octets)
        };
        let request = SendRequest::new(target, flags, random.next(), payload).unwrap();
        assert_eq!(SendRequest::parse(&request.emit()), Ok(request));
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

/// Whatever lies in host memory: no panic, and what is accepted has the meaning that a slot of ours with
/// these words has. Words are random, or those of a valid slot with some bits changed.
#[test]
fn random_slots_are_read_without_panic() {
    let mut random = Random(2);
    let (mut accepted, mut refused) = (0, [0_u32; 9]);
    for round in 0..200_000 {
        let mut slot = one_element();
        if round % 2 == 0 {
            slot = [0; 64].map(|_: u32| random.next() as u32);
            slot[0] = slot[0] & 0xFF00_03F1 | 1 << random.below(2);
        }
        for _ in 0..random.below(3) {
            slot[random.below(14) as usize] ^= 1 << random.below(32);
        }
        let request = match SendRequest::parse(&slot) {
            Ok(request) => request,
            Err(error) => {
                refused[match error {
                    SlotError::Kind { .. } => 0,
                    SlotError::Reserved { .. } => 1,
                    SlotError::Elements { .. } => 2,
                    SlotError::Inline { .. } => 3,
                    SlotError::EmptyElement { .. } => 4,
                    SlotError::ElementWrap { .. } => 5,
                    SlotError::TooLong { .. } => 6,
                    SlotError::Length { .. } => 7,
                    SlotError::Wrap { .. } => 8,
                }] += 1;
                continue;
            }
        };
        accepted += 1;
        // An independent reading of the words.
        let length = match request.payload() {
            Payload::Gather(_) => (0..slot[0] >> 8 & 0xFF)
                .map(|index| u64::from(slot[9 + 4 * index as usize]))
                .sum(),
            Payload::Inline(_) => u64::from(slot[0] >> 8 & 0xFF),
        };
        assert_eq!(u64::from(request.payload().length()), length);
        assert_eq!(u64::from(slot[5]), length);
        assert_eq!(request.emit()[..8], {
            let mut head = [0; 8];
            head.copy_from_slice(&slot[..8]);
            match request.target() {
                Target::Tagged { .. } => head[4] = 0,
                Target::Untagged { .. } => (head[2], head[3]) = (0, 0),
            }
            head
        });
    }
    assert!(accepted > 1000);
    // Kind, reserved bits, counts, empty elements, sums and LENGTH are all met. Offsets at the end of
    // the space are too rare; `hostile_slots` has them.
    let met = [0, 1, 2, 3, 4, 6, 7].map(|kind| refused[kind]);
    assert!(met.iter().all(|&count| count > 0), "{refused:?}");
}

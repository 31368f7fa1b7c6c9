//! The programmer's guide works: the register writes of its steps, read from its table, deliver messages. And the device
//! reports refused bus accesses as `registers.md` says.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use warpline_hdl::Config;
use warpline_regmap::layout::{
    completion, error_event, error_record, kind, receive_descriptor, receive_ring,
};
use warpline_regmap::register;
use warpline_sim::{BackPressure, Card, CardOptions, HostMemory};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Bus address and octets of the region in the guide's example; what else the host has lies behind it.
const REGION: u64 = 0x1_0000_0000;
const OCTETS: u64 = 0x1_0000;
const STAG: u32 = 0x101;
const QUEUE_AT: u64 = OCTETS;
const RING_AT: u64 = OCTETS + 0x1000;
const BUFFER_AT: u64 = OCTETS + 0x2000;
const MAPPED: u64 = OCTETS + 0x4000;
const ENTRIES: u32 = 16;
const START: u32 = 0xffff_ff00;

fn guide() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/programmers-guide.md");
    fs::read_to_string(path).unwrap()
}

/// Without what stands in parentheses.
fn plain(text: &str) -> String {
    let mut depth = 0;
    let kept = text.chars().filter(|c| {
        depth += i32::from(*c == '(');
        let keep = depth == 0;
        depth -= i32::from(*c == ')');
        keep
    });
    kept.collect()
}

/// The command of a step and its arguments: `ARGUMENT[0..n]` = words; `COMMAND` = number.
fn step(guide: &str, number: usize) -> (u32, Vec<u32>) {
    let start = format!("| {number} | ");
    let row = guide.lines().find(|line| line.starts_with(&start)).unwrap();
    let row = plain(row);
    let (count, rest) = row
        .split_once("`ARGUMENT[0..")
        .unwrap()
        .1
        .split_once(']')
        .unwrap();
    let (words, rest) = rest.split_once("; `COMMAND` = ").unwrap();
    let word = |word: &str| match word.trim().trim_matches(['`', '*', '=', ' ']) {
        "SEQUENCE_START" => START,
        "entries" => ENTRIES,
        "base low" => (REGION + RING_AT) as u32,
        "base high" => ((REGION + RING_AT) >> 32) as u32,
        text => match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).unwrap(),
            None => text.parse().unwrap(),
        },
    };
    let words: Vec<u32> = words
        .trim_start_matches("` = ")
        .split(',')
        .map(word)
        .collect();
    assert_eq!(
        words.len(),
        count.parse::<usize>().unwrap(),
        "step {number}"
    );
    let digits = rest.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap();
    (digits[..end].parse().unwrap(), words)
}

/// A host of registers and memory alone.
struct Host {
    card: Card,
    file: File,
    sequence: u32,
    taken: u32,
}

impl Host {
    /// Steps 3 and 5 to 8 of the guide.
    fn new(guide: &str, back_pressure: BackPressure) -> Self {
        let options = CardOptions {
            back_pressure,
            ..CardOptions::default()
        };
        let card = Card::open(&Config::simulated(64), options).unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(MAPPED).unwrap();
        let memory = HostMemory {
            iova: REGION,
            length: MAPPED,
            file: file.try_clone().unwrap(),
            offset: 0,
            read: true,
            write: true,
        };
        card.map(memory).unwrap();
        let host = Self {
            card,
            file,
            sequence: START,
            taken: 0,
        };
        assert_eq!(host.read(0), register::IDENTITY_VALUE);
        let queue = REGION + QUEUE_AT;
        host.write(register::COMPLETION_BASE_LOW.offset, queue as u32);
        host.write(register::COMPLETION_BASE_HIGH.offset, (queue >> 32) as u32);
        host.write(register::COMPLETION_ENTRIES.offset, ENTRIES);
        for number in 5..=7 {
            let (command, words) = step(guide, number);
            assert!(!host.command(command, &words), "step {number} is refused");
        }
        let mut descriptor = [0; receive_descriptor::WORDS];
        receive_descriptor::ADDRESS.put(&mut descriptor, REGION + BUFFER_AT);
        receive_descriptor::LENGTH.put(&mut descriptor, 0x1000);
        let octets: Vec<u8> = descriptor.iter().flat_map(|w| w.to_le_bytes()).collect();
        host.file.write_all_at(&octets, RING_AT).unwrap();
        host.write(0x200, 1);
        host
    }

    fn read(&self, offset: u32) -> u32 {
        self.card.read_register(offset).unwrap()
    }

    fn write(&self, offset: u32, value: u32) {
        self.card.write_register(offset, value).unwrap();
    }

    /// Whether the command is refused.
    fn command(&self, number: u32, words: &[u32]) -> bool {
        for (offset, word) in (0x040..).step_by(4).zip(words) {
            self.write(offset, *word);
        }
        self.write(0x020, number);
        for _ in 0..10_000 {
            let state = self.read(0x020);
            if state >> 31 == 0 {
                return state >> 30 & 1 == 1;
            }
        }
        panic!("command {number} does not end");
    }

    fn feed(&mut self, octets: &[u8]) {
        self.card.feed(0, self.sequence, octets).unwrap();
        self.sequence = self.sequence.wrapping_add(octets.len() as u32);
    }

    /// Step 9: entries that are new.
    fn completions(&mut self) -> Vec<[u32; completion::WORDS]> {
        let mut found = vec![];
        loop {
            let mut octets = [0; 4 * completion::WORDS];
            let at = QUEUE_AT + 32 * u64::from(self.taken % ENTRIES);
            self.file.read_exact_at(&mut octets, at).unwrap();
            let words = octets.as_chunks().0;
            let words: [u32; completion::WORDS] =
                std::array::from_fn(|i| u32::from_le_bytes(words[i]));
            let phase = u32::from((self.taken / ENTRIES).is_multiple_of(2));
            if words[7] >> 31 != phase {
                return found;
            }
            self.taken += 1;
            self.write(register::COMPLETION_CONSUMER.offset, self.taken);
            found.push(words);
        }
    }

    fn record(&self) -> [u32; error_record::WORDS] {
        let base = register::ERROR_RECORD.offset;
        std::array::from_fn(|i| self.read(base + 4 * i as u32))
    }

    fn octets(&self, at: u64, count: usize) -> Vec<u8> {
        let mut octets = vec![0; count];
        self.file.read_exact_at(&mut octets, at).unwrap();
        octets
    }
}

fn tagged(writer: &mut FpduWriter, stag: u32, to: u64, payload: &[u8]) -> Vec<u8> {
    let message = Message::Tagged {
        stag,
        to,
        rsvd_ulp: 0,
    };
    let mut octets = vec![];
    writer
        .append_message(message, payload, 1000, &mut octets)
        .unwrap();
    octets
}

#[test]
fn the_steps_deliver_a_write_and_a_send() {
    let mut host = Host::new(&guide(), BackPressure::NONE);
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    let mut octets = tagged(&mut writer, STAG, 0x234, b"written");
    let send = Message::Untagged {
        qn: 0,
        msn: 1,
        rsvd_ulp: [0; 5],
    };
    writer
        .append_message(send, b"sent", 1000, &mut octets)
        .unwrap();
    host.feed(&octets);
    host.card.run_until_idle().unwrap();
    assert_eq!(host.octets(0x234, 7), b"written");
    assert_eq!(host.octets(BUFFER_AT, 4), b"sent");
    let kinds = host.completions();
    let kinds: Vec<_> = kinds
        .iter()
        .map(|words| completion::KIND.get(words))
        .collect();
    assert_eq!(kinds, [kind::TAGGED, kind::UNTAGGED].map(u64::from));

    // step 10
    assert!(!host.command(2, &[STAG]));
    assert!(!host.command(4, &[0]));
    assert_eq!(host.card.bus_errors(), 0);
}

/// With one word of the guide changed, nothing is written.
#[test]
fn a_word_that_is_wrong_is_noticed() {
    let guide = guide();
    for (step_number, from, to) in [
        (5, "0x02000001", "0x00000001"), // no right to write
        (5, "0x00010000, 0", "0x00000000, 0"),
        (6, "0x00010600", "0x00000600"), // no queue: its ring is refused
    ] {
        let (_, words) = step(&guide, step_number);
        let wrong = guide.replacen(from, to, 1);
        assert_ne!(step(&wrong, step_number).1, words, "{from}");
        let failed = std::panic::catch_unwind(|| {
            let mut host = Host::new(&wrong, BackPressure::NONE);
            let mut writer = FpduWriter::new(false, CrcField::Computed);
            host.feed(&tagged(&mut writer, STAG, 0x234, b"written"));
            host.card.run_until_idle().unwrap();
            assert_eq!(host.octets(0x234, 7), b"written");
        });
        assert!(failed.is_err(), "{from} may be {to}");
    }
}

/// Number and checks of an error event.
fn error(words: &[u32]) -> (u64, u64) {
    assert_eq!(error_event::KIND.get(words), u64::from(kind::ERROR));
    let number = error_event::TYPE.get(words) << 8 | error_event::CODE.get(words);
    (number, error_event::CHECKS.get(words))
}

#[test]
fn a_refused_write_leaves_a_record_that_says_only_that_it_is_one() {
    let mut host = Host::new(&guide(), BackPressure::NONE);
    host.card.fail_writes(REGION + 0x200..REGION + 0x300);
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    host.feed(&tagged(&mut writer, STAG, 0x234, b"lost"));
    host.card.run_until_idle().unwrap();
    let found = host.completions();
    assert_eq!(found.len(), 1);
    assert_eq!(error(&found[0]), (0, 0));
    let mut bare = [0; error_record::WORDS];
    bare[0] = 1 << 31;
    assert_eq!(host.record(), bare);
}

#[test]
fn a_refused_read_leaves_the_same() {
    let guide = guide();
    let host = Host::new(&guide, BackPressure::NONE);
    host.card.run_until_idle().unwrap();
    host.card
        .fail_reads(REGION + RING_AT..REGION + RING_AT + 0x100);
    let mut host = host;
    host.write(0x200, 2);
    host.card.run_until_idle().unwrap();
    let found = host.completions();
    assert_eq!(found.len(), 1);
    assert_eq!(error(&found[0]), (0, 0));
    assert_eq!(host.record()[0], 1 << 31);
    assert_eq!(host.record()[1..], [0; error_record::WORDS - 1]);
}

/// A later FPDU fails before the bus has answered: its record stays, its event is dropped.
#[test]
fn record_and_event_differ_when_a_later_fpdu_fails_first() {
    let slow = BackPressure {
        stall: 0,
        latency: 2000..=2000,
    };
    let mut host = Host::new(&guide(), slow);
    host.card.run_until_idle().unwrap();
    host.card.fail_writes(REGION + 0x200..REGION + 0x300);
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    let mut octets = tagged(&mut writer, STAG, 0x234, b"lost");
    octets.extend(tagged(&mut writer, 0x202, 0, b"no such STag"));
    host.feed(&octets);
    host.card.run_until_idle().unwrap();
    let found = host.completions();
    assert_eq!(found.len(), 1, "one event a stream");
    assert_eq!(error(&found[0]), (0, 0), "that of the refused write");
    let record = host.record();
    let number = error_record::TYPE.get(&record) << 8 | error_record::CODE.get(&record);
    assert_eq!(number, 0x100, "that of the STag");
}

/// What the guide says of sizes is what the device refuses.
#[test]
fn rings_that_the_guide_excludes_are_refused() {
    let guide = guide();
    let host = Host::new(&guide, BackPressure::NONE);
    let (command, words) = step(&guide, 7);
    assert!(host.command(command, &words), "the queue has a ring");
    let (close, arm) = (4, step(&guide, 6));
    for (entries, base) in [(8, 0), (24, 0), (16, 0x80)] {
        assert!(!host.command(close, &[0]));
        assert!(host.command(command, &words), "not armed");
        assert!(!host.command(arm.0, &arm.1));
        assert!(host.command(arm.0, &arm.1), "armed already");
        let mut other = words.clone();
        receive_ring::ENTRIES.put(&mut other, entries);
        other[2] += base;
        assert!(host.command(command, &other), "{entries} at {base:#x}");
    }
}

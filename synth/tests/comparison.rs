//! The CRC unit of the comparison computes CRC32C, for the same beats and tails as the device's.

use std::panic::{AssertUnwindSafe, catch_unwind};

use warpline_sv_writer::Design;
use warpline_synth::comparison::{own, parallel};
use warpline_verilate::{Build, Model};
use warpline_wire::crc::crc32c;

/// FPDUs of each width.
const FPDUS: usize = 300;

struct Unit {
    model: Model,
    width: usize,
}

impl Unit {
    fn new(design: &Design, width: usize) -> Self {
        let top = &design.modules.last().unwrap().name;
        let build = (design.modules.iter()).fold(Build::new(top.clone()), |build, module| {
            build.source(format!("{}.sv", module.name), module.text.clone())
        });
        let model = build.open().unwrap_or_else(|e| panic!("{e}"));
        let mut unit = Self { model, width };
        unit.set("reset", 1);
        for _ in 0..4 {
            unit.cycle();
        }
        unit.set("reset", 0);
        unit
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name).unwrap();
        self.model.set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        self.model.get(self.model.port(name).unwrap())
    }

    /// Verdicts at the rising edge of the next cycle.
    fn cycle(&mut self) -> Option<(bool, u32, u32)> {
        self.set("clock", 0);
        self.model.eval().unwrap();
        let said = (self.get("verdict_valid") == 1).then(|| {
            (
                self.get("good") == 1,
                self.get("state") as u32,
                self.get("received") as u32,
            )
        });
        self.set("clock", 1);
        self.model.eval().unwrap();
        said
    }

    /// Verdicts on consecutive FPDUs.
    fn verdicts(&mut self, fpdus: &[Vec<u8>]) -> Vec<(bool, u32, u32)> {
        let octets = self.width / 8;
        let mut said = Vec::new();
        for fpdu in fpdus {
            let beats = fpdu.chunks(octets);
            let count = beats.len();
            for (number, beat) in beats.enumerate() {
                // lanes after the last dword hold random bits
                let mut data = vec![0xa5; octets];
                data[..beat.len()].copy_from_slice(beat);
                let words = data
                    .chunks(4)
                    .map(|w| u32::from_le_bytes(w.try_into().unwrap()));
                let port = self.model.port("data").unwrap();
                self.model.set_words(port, &words.collect::<Vec<_>>());
                self.set("valid", 1);
                self.set("first", (number == 0).into());
                self.set("last", (number + 1 == count).into());
                self.set("count", beat.len() as u64 / 4);
                said.extend(self.cycle());
            }
        }
        self.set("valid", 0);
        for _ in 0..4 {
            said.extend(self.cycle());
        }
        said
    }
}

/// FPDUs of 2 to 50 dwords; every third has a wrong bit.
fn fpdus() -> Vec<Vec<u8>> {
    let mut state = 1_u32;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let fpdu = |n| {
        let dwords = 1 + random() as usize % 49;
        let mut octets: Vec<u8> = (0..4 * dwords).map(|_| random() as u8).collect();
        octets.extend(crc32c(&octets).to_le_bytes());
        if n % 3 == 0 {
            let at = random() as usize % octets.len();
            octets[at] ^= 1 << (random() % 8);
        }
        octets
    };
    (0..FPDUS).map(fpdu).collect()
}

fn check(design: &Design, width: usize) {
    let fpdus = fpdus();
    let verdicts = Unit::new(design, width).verdicts(&fpdus);
    assert_eq!(verdicts.len(), fpdus.len());
    for (fpdu, (good, state, received)) in fpdus.iter().zip(verdicts) {
        let (covered, field) = fpdu.split_at(fpdu.len() - 4);
        let field = u32::from_le_bytes(field.try_into().unwrap());
        assert_eq!(received, field);
        assert_eq!(good, crc32c(covered) == field, "{} octets", fpdu.len());
        assert_eq!(!state, crc32c(fpdu), "{} octets", fpdu.len());
    }
}

#[test]
fn the_parallel_unit_computes_crc32c_behind_every_tail() {
    for width in [64, 512] {
        check(&parallel(width), width);
    }
}

#[test]
fn a_term_that_is_missing_is_caught() {
    let mut design = parallel(64);
    let text = &mut design.modules[0].text;
    let start = text.find("next_1[7] = ").unwrap();
    let term = text[start..].find(", d[").unwrap() + start;
    let end = text[term..].find(']').unwrap() + term + 1;
    text.replace_range(term..end, "");
    let failed = catch_unwind(AssertUnwindSafe(|| check(&design, 64)));
    assert!(failed.is_err(), "nothing was noticed");
}

#[test]
fn the_device_has_a_unit_at_its_widths_only() {
    assert!(
        own(64)
            .unwrap()
            .ports
            .iter()
            .any(|port| port.name == "count")
    );
    assert_eq!(
        own(96).unwrap_err().to_string(),
        "no 96 bits: choose 64, 128, 256 or 512"
    );
}

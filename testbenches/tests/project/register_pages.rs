//! Pages made from the register description are up to date, and its SystemRDL says the same as the description: a real
//! SystemRDL compiler reads the page, and each of its words is held against `warpline_regmap`, and the other way round.

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value as Json;
use warpline_regmap::layout::check;
use warpline_regmap::register::REGISTERS;
use warpline_regmap::{Access, Field, Register, Value, mailbox, markdown, rdl, transmit};
use warpline_wire::error_number::Checks;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join("docs").join(name)).unwrap()
}

#[test]
fn the_pages_are_up_to_date() {
    assert!(page("registers.md") == markdown::registers(), "make docs");
    assert!(page("registers.rdl") == rdl::registers(), "make docs");
}

/// Where `warpline_regmap` and the reference receiver give a check another number.
fn renumbered(described: &[Value]) -> Vec<String> {
    let described = described.iter().map(|check| (check.name, 1 << check.value));
    let known = Checks::all();
    let known = known
        .iter_names()
        .map(|(name, bit)| (name, u32::from(bit.bits())));
    let (described, known): (Vec<_>, Vec<_>) = (described.collect(), known.collect());
    let missing = known.iter().filter(|check| !described.contains(check));
    let unknown = described.iter().filter(|check| !known.contains(check));
    missing
        .chain(unknown)
        .map(|(name, _)| (*name).into())
        .collect()
}

#[test]
fn checks_have_the_numbers_of_the_reference_receiver() {
    assert_eq!(renumbered(check::VALUES), [""; 0]);
    let mut other = check::VALUES.to_vec();
    other[3].value = 13;
    assert_eq!(renumbered(&other), ["ASSOC", "ASSOC"]);
}

/// A word as both sides tell of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    address: u32,
    /// Register and element; further parts of a path are the page's own business.
    name: String,
    fields: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    name: String,
    lsb: usize,
    width: usize,
    read: bool,
    write: Option<&'static str>,
    reset: Option<u64>,
}

/// All registers, in order of addresses.
fn described_registers() -> Vec<&'static Register> {
    let of_device = REGISTERS.iter().chain(transmit::REGISTERS);
    let mut all: Vec<_> = of_device.chain(mailbox::REGISTERS).collect();
    all.sort_by_key(|register| register.offset);
    all
}

/// What the description says, in order of addresses.
fn described() -> Vec<Word> {
    let mut words = vec![];
    for register in described_registers() {
        for (index, word) in
            (0..register.count).flat_map(|i| (0..register.words()).map(move |w| (i, w)))
        {
            let plain = Field {
                name: rdl::PLAIN,
                lsb: 0,
                width: 32,
                doc: "",
            };
            let fields = match register.fields {
                [] => std::slice::from_ref(&plain),
                fields => fields,
            };
            let part = |field: &Field| {
                let status = register.status.contains(field);
                let access = if status {
                    Access::ReadOnly
                } else {
                    register.access
                };
                Part {
                    name: field.name.into(),
                    lsb: field.lsb % 32,
                    width: field.width,
                    read: access != Access::WriteOnly,
                    write: match access {
                        Access::ReadOnly => None,
                        Access::ReadWrite | Access::WriteOnly => Some("whole"),
                        Access::WriteOneToClear => Some("clear_by_1"),
                    },
                    reset: register.reset.map(|reset| match word {
                        0 => field.get(&[reset]),
                        _ => 0,
                    }),
                }
            };
            let here = |field: &&Field| field.lsb / 32 == word as usize;
            words.push(Word {
                address: register.at(index) + 4 * word,
                name: match register.count {
                    1 => register.name.into(),
                    _ => format!("{}[{index}]", register.name),
                },
                fields: fields.iter().filter(here).map(part).collect(),
            });
        }
    }
    words.sort_by_key(|word| word.address);
    words
}

/// What a SystemRDL compiler makes of `text`, in order of addresses; what it says when it does not like it.
fn compiled(text: &str) -> Result<Vec<Word>, String> {
    static RUN: AtomicUsize = AtomicUsize::new(0); // tests run side by side
    let run = RUN.fetch_add(1, Ordering::Relaxed);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("registers_{}_{run}.rdl", process::id()));
    std::fs::write(&file, text).unwrap();
    let python = PathBuf::from(ROOT).join(".venv/bin/python");
    let output = Command::new(&python)
        .arg(PathBuf::from(ROOT).join("tools/rdl_registers.py"))
        .arg(&file)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}; run tools/setup.sh", python.display()));
    std::fs::remove_file(&file).unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let words: Json = serde_json::from_slice(&output.stdout).unwrap();
    let number = |value: &Json| value.as_u64().unwrap() as usize;
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let part = |field: &Json| Part {
        name: text(&field["name"]),
        lsb: number(&field["lsb"]),
        width: number(&field["width"]),
        read: field["read"].as_bool().unwrap(),
        write: field["write"].as_str().map(|write| match write {
            "whole" => "whole",
            "clear_by_1" => "clear_by_1",
            other => panic!("{other}"),
        }),
        reset: field["reset"].as_u64(),
    };
    let word = |word: &Json| {
        let path = text(&word["path"]);
        Word {
            address: number(&word["address"]) as u32,
            name: register_of(&path),
            fields: word["fields"]
                .as_array()
                .unwrap()
                .iter()
                .map(part)
                .collect(),
        }
    };
    Ok(words.as_array().unwrap().iter().map(word).collect())
}

/// Register and element of a path: `warpline.A`, `warpline.A[3]`, `warpline.A[3].WORD_1`, and `warpline.GROUP[3].A`.
fn register_of(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    match parts[..] {
        [rdl::ADDRESS_MAP, register] => register.into(),
        [rdl::ADDRESS_MAP, register, word] if word.starts_with("WORD_") => register.into(),
        [rdl::ADDRESS_MAP, group, register] => {
            let element = group.find('[').map_or("", |at| &group[at..]);
            format!("{register}{element}")
        }
        _ => panic!("{path} is no path of this page"),
    }
}

#[test]
fn the_rdl_page_says_what_the_description_says() {
    let (page, description) = (compiled(&page("registers.rdl")).unwrap(), described());
    for (is, should) in page.iter().zip(&description) {
        assert_eq!(is, should);
    }
    assert_eq!(page.len(), description.len(), "words");
    let registers: u32 = described_registers()
        .iter()
        .map(|r| r.count * r.words())
        .sum();
    assert_eq!(page.len(), registers as usize);
}

#[test]
fn a_page_that_says_something_else_is_noticed() {
    let page = page("registers.rdl");
    let description = described();
    for (from, to) in [
        ("COMPLETION_ARM @ 0x094", "COMPLETION_ARM @ 0x098"),
        ("NUMBER[7:0] = 8'h0", "NUMBER[8:0] = 9'h0"),
        ("sw = w; hw = r;", "sw = rw; hw = r;"),
        ("sw = rw; onwrite = woclr; hw = w;", "sw = rw; hw = w;"),
        ("32'h57415250", "32'h57415251"),
        ("SEGMENTS_DROPPED @", "SEGMENTS_LOST @"),
        ("RECEIVE_PRODUCER[128]", "RECEIVE_PRODUCER[127]"),
        ("STREAM[16] @", "STREAM[15] @"),
        ("STREAM_LIMIT @ 0x4", "STREAM_LIMIT @ 0x8"),
        ("SEND_PRODUCER @ 0x0e0", "SEND_PRODUCER @ 0x0ec"),
    ] {
        assert!(page.contains(from), "{from}");
        let changed = compiled(&page.replacen(from, to, 1)).unwrap();
        assert!(changed != description, "{to} is not noticed");
    }
}

#[test]
fn what_the_compiler_refuses_or_warns_about_is_no_page() {
    let page = page("registers.rdl");
    for (from, to) in [
        ("COMPLETION_ARM @ 0x094", "COMPLETION_ARM @ 0x08c"), // where CONSUMER is
        ("NUMBER[7:0]", "NUMBER[30:0]"),
        ("littleendian;", "littleendian"),
    ] {
        assert!(page.contains(from), "{from}");
        match compiled(&page.replacen(from, to, 1)) {
            Ok(_) => panic!("{to} is taken"),
            Err(said) => assert!(said.contains("error"), "{said}"),
        }
    }
}

//! What became of planted faults, as it is recorded, and the page that is written from the records.
//!
//! ```text
//!   example mutants ──────────► docs/mutants.json ──────────┐
//!                                                           ├──► docs/mutants.md
//!   example software_mutants ─► docs/mutants-software.json ─┘
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::mutants::{Mutant, file};

/// The record of faults in text of blocks, below the project's root.
pub const TEXTS: &str = "docs/mutants.json";
/// The record of faults in software, below the project's root.
pub const SOFTWARE: &str = "docs/mutants-software.json";
/// The page, below the project's root.
pub const PAGE: &str = "docs/mutants.md";
/// Why survivors among the faults in software are none, below the project's root.
pub const EQUIVALENT: &str = "testbenches/mutants-software-equivalent.json";

/// Blocks that faults are planted in, by the names of their benches.
pub const BLOCKS: &[&str] = &[
    "crc32c",
    "lane_ram",
    "queue",
    "rotate",
    "admit",
    "assembly",
    "commit",
    "stream_end",
    "fetch",
    "ingress",
    "pace",
    "scan",
    "strip",
    "window",
    "sctp_intake",
    "sctp_order",
    "check",
    "stag_table",
    "deliver",
    "place",
    "access_fence",
    "frame",
    "gather",
    "local_access",
    "sctp_chunks",
    "segment",
    "settle",
    "slot_merge",
    "stag_copy",
    "transmit_ring",
    "command_arbiter",
    "completion",
    "interrupts",
    "mailbox",
    "message_mux",
    "read_mux",
    "read_responder",
    "receive_rings",
    "registers",
    "send_queues",
    "transmit_control",
    "write_mux",
];

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// A test failed.
    Killed,
    /// No tool takes the text.
    Stillborn,
    /// All tests passed, and no output can differ: explained in the list.
    Equivalent,
    /// All tests passed.
    Survived,
}

/// A fault in the text of a block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Planted {
    /// The fault.
    #[serde(flatten)]
    pub mutant: Mutant,
    /// What became of it.
    pub fate: Fate,
}

/// A fault in a Rust source. It is known by text, not by number of line, so that it is found again when lines move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    /// The source, below the project's root.
    pub file: String,
    /// The line that it starts in, without its indentation.
    pub line: String,
    /// Where in that line it starts, from 1.
    pub column: usize,
    /// What it does, in cargo-mutants' words.
    pub fault: String,
}

/// A fault in a Rust source, and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    /// The fault.
    #[serde(flatten)]
    pub fault: Fault,
    /// What became of it.
    pub fate: Fate,
}

/// What was planted in a crate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// `k/n`: of all faults, in the order of the source, those whose number leaves `k` when divided by `n`.
    pub shard: String,
    /// How many faults there are to draw from.
    pub candidates: usize,
    /// The version of cargo-mutants.
    pub tool: String,
    /// The faults.
    pub mutants: Vec<Tried>,
}

/// Why a survivor cannot be noticed.
#[derive(Clone, Debug, Deserialize)]
pub struct Explained {
    /// The fault.
    #[serde(flatten)]
    pub fault: Fault,
    /// Why no test can notice it.
    pub reason: String,
}

/// Faults in text of blocks, by bench.
pub type Texts = BTreeMap<String, Vec<Planted>>;
/// Faults in software, by crate.
pub type Software = BTreeMap<String, Sample>;

/// Reads a record below `root`; one that is not there yet is empty.
///
/// # Errors
/// When the file cannot be read, or holds something else.
pub fn read<T: DeserializeOwned + Default>(root: &Path, name: &str) -> io::Result<T> {
    match fs::read_to_string(root.join(name)) {
        Ok(text) => Ok(serde_json::from_str(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error),
    }
}

/// Writes a record below `root`, and the page from both.
///
/// # Errors
/// When a file cannot be written, or the other record cannot be read.
pub fn write<T: Serialize>(root: &Path, name: &str, record: &T) -> io::Result<()> {
    fs::write(
        root.join(name),
        serde_json::to_string_pretty(record)? + "\n",
    )?;
    let page = page(&read(root, TEXTS)?, &read(root, SOFTWARE)?);
    fs::write(root.join(PAGE), page)
}

/// Killed, equivalent and open ones. What no tool takes is not counted.
fn counts(fates: impl Iterator<Item = Fate> + Clone) -> [usize; 3] {
    [Fate::Killed, Fate::Equivalent, Fate::Survived]
        .map(|kind| fates.clone().filter(|fate| *fate == kind).count())
}

/// The page of both records.
#[must_use]
pub fn page(texts: &Texts, software: &Software) -> String {
    let mut page = String::from(
        "<!-- Generated by `make mutants` and `make mutants-software` from docs/mutants.json and docs/mutants-software.json. -->\n\
         # Mutants\n\n\
         Faults planted one at a time in the SystemVerilog of a block, and whether the tests of its bench notice them. How they\n\
         are made, and what a survivor means: [`testbenches/src/mutants.rs`](../testbenches/src/mutants.rs). Equivalent ones are\n\
         explained in [`testbenches/mutants-equivalent.json`](../testbenches/mutants-equivalent.json). `stag_table` is a part of\n\
         `check` and is tried by its bench. `make test` plants a few faults each time: `planted_faults_are_noticed` in the benches\n\
         of `queue` and `window`.\n\n\
         | bench | planted | killed | equivalent | open |\n|---|---|---|---|---|\n",
    );
    let mut open = String::new();
    for (bench, planted) in texts {
        let [killed, equivalent, survived] = counts(planted.iter().map(|planted| planted.fate));
        let sum = killed + equivalent + survived;
        page += &format!("| `{bench}` | {sum} | {killed} | {equivalent} | {survived} |\n");
        for Planted { mutant, .. } in planted
            .iter()
            .filter(|planted| planted.fate == Fate::Survived)
        {
            open += &format!(
                "| `{bench}` | `{}` | `{}` | `{}` |\n",
                file(&mutant.module),
                escaped(&mutant.right),
                escaped(&mutant.wrong)
            );
        }
    }
    let missing = BLOCKS.iter().filter(|block| !texts.contains_key(**block));
    let missing: Vec<String> = missing.map(|block| format!("`{block}`")).collect();
    if !missing.is_empty() {
        page += &format!("\nNot tried yet: {}.\n", missing.join(", "));
    }
    if !open.is_empty() {
        page += "\n## Open\n\n| bench | module | reads | with the fault |\n|---|---|---|---|\n";
        page += &open;
    }
    page + &software_section(software)
}

fn software_section(software: &Software) -> String {
    let mut page = String::from(
        "\n## Software\n\n\
         Faults that cargo-mutants plants one at a time in a crate, and whether the library's and integration tests of that crate\n\
         alone notice them. Tests of other crates do not count, so no simulated device does, and none of these needs Verilator.\n\
         Tests that take five times as long as without a fault, and a minute at least, have noticed it. What is left out, and why:\n\
         [`.cargo/mutants.toml`](../.cargo/mutants.toml). Equivalent ones are explained in\n\
         [`testbenches/mutants-software-equivalent.json`](../testbenches/mutants-software-equivalent.json). Sample `k/n` is every\n\
         n-th fault in the order of the source, from the k-th on; those that do not compile are not counted. Repeated with\n\
         `make mutants-software`; `make mutants-software CRATES=wire SHARD=1/28` takes another sample of one crate.\n\
         `driver-rings` is all faults in those files of `driver` that its memory, bus addresses and rings are in.\n\n\
         | crate | planted | killed | equivalent | open | sample |\n|---|---|---|---|---|---|\n",
    );
    let mut open = String::new();
    for (name, sample) in software {
        let fates = sample.mutants.iter().map(|tried| tried.fate);
        let [killed, equivalent, survived] = counts(fates);
        let sum = killed + equivalent + survived;
        page += &format!(
            "| `{name}` | {sum} | {killed} | {equivalent} | {survived} | `{}` of {}, cargo-mutants {} |\n",
            sample.shard, sample.candidates, sample.tool
        );
        for Tried { fault, .. } in sample
            .mutants
            .iter()
            .filter(|tried| tried.fate == Fate::Survived)
        {
            open += &format!(
                "| `{}` | `{}` | {} |\n",
                fault.file,
                escaped(&fault.line),
                escaped(&fault.fault)
            );
        }
    }
    if !open.is_empty() {
        page += "\n### Open\n\n| file | line | fault |\n|---|---|---|\n";
        page += &open;
    }
    page
}

fn escaped(code: &str) -> String {
    code.replace('|', "\\|")
}

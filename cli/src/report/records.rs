//! All records that the page shows, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::figures::{
    Connections, Coverage, Fuzz, HostCost, Mutants, Requirement, Sample, Streams, Synthesis,
    Transfer, Transmit, TransmitStreams,
};
use super::record::{Lack, Record, Text};
use super::rtl::{Device, Texts};
use crate::Error;
use crate::host_path::HostPath;
use crate::measure::{Figure, Latency, WIDTHS};

/// Folder of reports of synthesis, below the root.
const REPORTS: &str = "constraints/reports";
/// Reports that have to be there, and the command that writes them.
const SYNTHESES: [(&str, &str); 12] = [
    ("lfe5um5g-85f-w64", "make synth-all"),
    ("lfe5um5g-85f-w128", "make synth-all"),
    ("lfe5um5g-85f-w256", "make synth-all"),
    ("lfe5um5g-85f-w512", "make synth-all"),
    ("ecp5-w64", "make area-record"),
    ("ecp5-w64-transmit", "make transmit-area-record"),
    ("ecp5-w64-sctp", "make sctp-area-record"),
    ("xcup-w64", "make estimates"),
    ("xcup-w128", "make estimates"),
    ("xcup-w256", "make estimates"),
    ("xcup-w512", "make estimates"),
    ("crc32c", "make crc32c"),
];

/// The records of a checkout.
pub(super) struct Records {
    pub receive: Record<Vec<Figure>>,
    pub reversed: Record<Vec<Figure>>,
    pub latency: Record<Vec<Latency>>,
    pub transmit: Record<Transmit>,
    pub syntheses: Vec<Record<Synthesis>>,
    pub coverage: Record<Coverage>,
    pub mutants: Record<Mutants>,
    pub software: Record<BTreeMap<String, Sample>>,
    pub conformance: Record<Vec<Requirement>>,
    pub streams: Record<Vec<Streams>>,
    pub transmit_streams: Record<Vec<TransmitStreams>>,
    pub connections: Record<Vec<Connections>>,
    pub transfer: Record<Vec<Transfer>>,
    pub fuzz: Record<BTreeMap<String, Fuzz>>,
    pub host_cost: Record<HostCost>,
    pub host_path: Record<HostPath>,
    /// Versions that the checkout demands of tools, a requirement a line.
    pub pins: Vec<Pins>,
}

/// A list of tools and their versions.
pub(super) struct Pins {
    pub name: &'static str,
    pub tools: Vec<(String, String)>,
}

/// A record as the list of records shows it.
pub(super) struct Entry<'r> {
    pub name: &'r str,
    pub made_by: &'static str,
    pub optional: bool,
    pub lack: Option<&'r Lack>,
    pub text: &'r Text,
    /// What is wrong with it, in a line.
    pub complaint: Option<String>,
}

impl Records {
    /// Reads everything below `root`.
    ///
    /// # Errors
    /// [`Error::NoRecords`] when there is none; [`Error::Design`].
    pub(super) fn read(root: &Path) -> Result<Self, Error> {
        let mut texts = Texts::default();
        let bench = "make bench";
        let figures = |name| {
            let read = Record::read(root, name, bench, |figures: &Vec<Figure>| {
                figures.iter().try_for_each(carried)
            });
            read.of(Text::Unkeyed)
        };
        let latency: Record<Vec<Latency>> = Record::read(
            root,
            "docs/bench/receive-latency.json",
            bench,
            |all: &Vec<Latency>| all.iter().try_for_each(|of| known(of.width)),
        );
        let transmit = Record::read(
            root,
            "docs/bench/transmit-cycles.json",
            "make bench-transmit",
            transmitted,
        );
        let records = Self {
            receive: figures("docs/bench/receive-cycles.json"),
            reversed: figures("docs/bench/receive-reversed.json"),
            latency: latency.of(Text::Unkeyed),
            transmit: transmit.of(Text::Unkeyed),
            syntheses: syntheses(root, &mut texts)?,
            coverage: coverage(root, &mut texts)?,
            mutants: Record::read(root, "docs/mutants.json", "make mutants", |_| Ok(()))
                .of(Text::Unkeyed),
            software: Record::read(
                root,
                "docs/mutants-software.json",
                "make mutants-software",
                |_| Ok(()),
            ),
            conformance: Record::read(root, "docs/conformance.json", "make docs", |_| Ok(())),
            streams: streams(root, &mut texts)?,
            transmit_streams: transmit_streams(root, &mut texts)?,
            connections: Record::read(
                root,
                "docs/bench/connections.json",
                "make long-connections",
                |_| Ok(()),
            ),
            transfer: Record::read(
                root,
                "docs/bench/transfer.json",
                "make long-transfer",
                |_| Ok(()),
            ),
            fuzz: Record::read(root, "docs/bench/fuzz.json", "make fuzz", |_| Ok(())),
            host_cost: Record::read(
                root,
                "docs/bench/host-cost.json",
                "make host-cost-record",
                |_| Ok(()),
            ),
            host_path: Record::read(root, "docs/bench/host-path.json", bench, |_| Ok(())),
            pins: pins(root),
        };
        let entries = records.entries();
        let none = !root.is_dir() // in a file, none is called missing
            || entries
                .iter()
                .all(|entry| entry.lack == Some(&Lack::Missing));
        match none {
            true => Err(Error::NoRecords {
                folder: root.into(),
            }),
            false => Ok(records),
        }
    }

    /// All records, in the order of the page.
    pub(super) fn entries(&self) -> Vec<Entry<'_>> {
        fn entry<T>(record: &Record<T>) -> Entry<'_> {
            Entry {
                name: &record.name,
                made_by: record.made_by,
                optional: record.optional,
                lack: record.content.as_ref().err(),
                text: &record.text,
                complaint: record.complaint(),
            }
        }
        let mut all = vec![
            entry(&self.receive),
            entry(&self.reversed),
            entry(&self.latency),
            entry(&self.transmit),
        ];
        all.extend(self.syntheses.iter().map(entry));
        all.extend([
            entry(&self.coverage),
            entry(&self.mutants),
            entry(&self.software),
            entry(&self.conformance),
            entry(&self.streams),
            entry(&self.transmit_streams),
            entry(&self.connections),
            entry(&self.transfer),
            entry(&self.fuzz),
            entry(&self.host_cost),
            entry(&self.host_path),
        ]);
        all
    }

    /// A line for each record that is missing or unusable.
    pub(super) fn complaints(&self) -> Vec<String> {
        let all = self.entries();
        all.into_iter().filter_map(|of| of.complaint).collect()
    }
}

/// A width that there is.
fn known(width: usize) -> Result<(), String> {
    match WIDTHS.contains(&width) {
        true => Ok(()),
        false => Err(format!(
            "a width of {width} bits; there are {}",
            WIDTHS.map(|width| width.to_string()).join(", ")
        )),
    }
}

/// A share of the bus.
fn share(of_bus: f64) -> Result<(), String> {
    match (0.0..=1.0).contains(&of_bus) {
        true => Ok(()),
        false => Err(format!("{of_bus} of the bus, which is no share")),
    }
}

fn carried(figure: &Figure) -> Result<(), String> {
    known(figure.width)?;
    share(figure.of_bus)?;
    let most = figure.width as f64 / 8.0;
    match (0.0..=most).contains(&figure.octets_per_cycle) {
        true => Ok(()),
        false => Err(format!(
            "{} octets per cycle on a bus of {most}",
            figure.octets_per_cycle
        )),
    }
}

fn transmitted(all: &Transmit) -> Result<(), String> {
    for rate in &all.rates {
        known(rate.width)?;
        share(rate.of_bus)?;
        if rate.cycles == 0 {
            return Err("a rate of no cycles".into());
        }
    }
    let delays = all.delays.iter().chain(&all.reads);
    delays.map(|delay| delay.width).try_for_each(known)
}

/// Reports that have to be there, and others that are.
fn syntheses(root: &Path, texts: &mut Texts) -> Result<Vec<Record<Synthesis>>, Error> {
    let mut others: BTreeSet<String> = BTreeSet::new();
    // a folder that cannot be listed: its reports are missing
    for file in fs::read_dir(root.join(REPORTS))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = file.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".json")
            && !SYNTHESES.iter().any(|(required, _)| *required == name)
        {
            others.insert(name.into());
        }
    }
    let required = SYNTHESES.map(|(name, made_by)| (name.to_owned(), made_by));
    let others = others.into_iter().map(|name| (name, "warpline synth"));
    let read = |(name, made_by): (String, &'static str)| {
        let name = format!("{REPORTS}/{name}.json");
        let raw: Record<Value> = Record::read(root, &name, made_by, |_| Ok(()));
        let content = raw
            .content
            .and_then(|value| synthesis(value).map_err(Lack::Unusable));
        let text = match &content {
            Ok(Synthesis::Placed(of)) => {
                texts.compare(&of.text, &[(Device::Board(of.extent()), of.width)])?
            }
            Ok(Synthesis::Estimated(of)) => {
                texts.compare(&of.text, &[(Device::Board(of.extent), of.width)])?
            }
            Ok(Synthesis::Crc(_)) => Text::Unkeyed,
            Err(_) => Text::None,
        };
        Ok(Record {
            name,
            made_by,
            optional: false,
            content,
            text,
        })
    };
    required.into_iter().chain(others).map(read).collect()
}

/// The fields of a report show what it describes.
fn synthesis(value: Value) -> Result<Synthesis, String> {
    fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }
    let has = |field| value.get(field).is_some();
    if has("family") {
        let estimate: Box<warpline_synth::Estimate> = parsed(value)?;
        known(estimate.width)?;
        return Ok(Synthesis::Estimated(estimate));
    }
    if has("built") {
        return parsed(value).map(Synthesis::Crc);
    }
    if has("part") {
        let report: Box<warpline_synth::Report> = parsed(value)?;
        known(report.width)?;
        return Ok(Synthesis::Placed(report));
    }
    Err("no report: it names neither a part nor a family".into())
}

fn coverage(root: &Path, texts: &mut Texts) -> Result<Record<Coverage>, Error> {
    let check = |of: &Coverage| {
        of.widths.iter().copied().try_for_each(known)?;
        let distinct: BTreeSet<_> = of.widths.iter().collect();
        match distinct.len() == of.widths.len() {
            true => Ok(()),
            false => Err("a width is named twice".into()),
        }
    };
    let read: Record<Coverage> = Record::read(root, "docs/coverage.json", "make coverage", check);
    let text = match read.get() {
        None => Text::None,
        Some(of) => {
            let devices: Vec<_> = of.widths.iter().map(|&w| (Device::Simulated, w)).collect();
            texts.compare(&of.text, &devices)?
        }
    };
    Ok(read.of(text))
}

/// A record of several texts is of the last one.
fn last(all: impl DoubleEndedIterator<Item = Text>) -> Text {
    let mut all: Vec<_> = all.collect();
    let same = all.iter().position(|text| matches!(text, Text::Same(_)));
    match same {
        Some(at) => all.swap_remove(at),
        None => all.pop().unwrap_or(Text::Unkeyed),
    }
}

fn streams(root: &Path, texts: &mut Texts) -> Result<Record<Vec<Streams>>, Error> {
    let check = |all: &Vec<Streams>| {
        let mut devices = all.iter().flat_map(|of| &of.devices);
        devices.try_for_each(|run| known(run.width))?;
        match all.iter().all(|of| of.devices.len() <= 2 * WIDTHS.len()) {
            true => Ok(()),
            false => Err("more devices than there are".into()),
        }
    };
    let name = "docs/bench/streams.json";
    let read: Record<Vec<Streams>> = Record::read(root, name, "make long-streams", check);
    let of = read.get().into_iter().flatten().map(|of| {
        let devices = of.devices.iter().map(|run| match run.small {
            true => (Device::Small, run.width),
            false => (Device::Simulated, run.width),
        });
        texts.compare(&of.text, &devices.collect::<Vec<_>>())
    });
    let of = of.collect::<Result<Vec<_>, _>>()?;
    Ok(read.of(last(of.into_iter())))
}

fn transmit_streams(root: &Path, texts: &mut Texts) -> Result<Record<Vec<TransmitStreams>>, Error> {
    let check = |all: &Vec<TransmitStreams>| {
        let mut widths = all.iter().flat_map(|of| &of.widths);
        widths.try_for_each(|run| known(run.width))?;
        match all.iter().all(|of| of.widths.len() <= WIDTHS.len()) {
            true => Ok(()),
            false => Err("more widths than there are".into()),
        }
    };
    let name = "docs/bench/transmit-streams.json";
    let read: Record<Vec<TransmitStreams>> =
        Record::read(root, name, "make long-transmit", check).optional();
    let of = read.get().into_iter().flatten().map(|of| {
        let widths = of.widths.iter().map(|run| (Device::Sending, run.width));
        texts.compare(&of.text, &widths.collect::<Vec<_>>())
    });
    let of = of.collect::<Result<Vec<_>, _>>()?;
    let text = match of.is_empty() {
        true => Text::None,
        false => last(of.into_iter()),
    };
    Ok(read.of(text))
}

/// Exact versions out of the lists that `tools/setup.sh` installs from; a list that is not there has none.
fn pins(root: &Path) -> Vec<Pins> {
    let lists = [
        "tools/requirements.txt",
        "tools/requirements-fpga.txt",
        "tools/requirements-cocotb.txt",
    ];
    let read = |name: &'static str| {
        let text = fs::metadata(root.join(name))
            .ok()
            .filter(fs::Metadata::is_file)
            .and_then(|_| fs::read_to_string(root.join(name)).ok());
        let tools = text.unwrap_or_default();
        let tools = tools
            .lines()
            .filter_map(|line| line.trim().split_once("=="))
            .filter(|(tool, _)| !tool.starts_with('#'))
            .map(|(tool, version)| (tool.to_owned(), version.to_owned()));
        Pins {
            name,
            tools: tools.collect(),
        }
    };
    lists.map(read).into()
}

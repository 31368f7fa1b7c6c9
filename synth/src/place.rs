//! Places and routes a netlist, once per seed.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::artifact::make_once;
use crate::error::Error;
use crate::json::read as read_json;
use crate::module::NETLIST_JSON;
use crate::part::Part;
use crate::process::call_within;
use crate::tools::nextpnr_version;

/// Pins and clock.
pub(crate) const PINS_LPF: &str = "pins.lpf";

/// Weight of late wires in the placer; the default of nextpnr is 10. A netlist of the 64-bit device reached 103.2 MHz with 10 and
/// 110.2 with 30, a later one 137.4 with 100 and 154.5 with 300. With 1000 that netlist reached 159.5, but two of six placements
/// of the next one reached only 146; with 300 all reached at least 154.2.
pub(crate) const TIMING_WEIGHT: u32 = 300;

/// Options of nextpnr for its default placer, with this weight of late wires.
pub(crate) fn default_placer(weight: u32) -> Vec<String> {
    vec!["--placer-heap-timingweight".into(), weight.to_string()]
}

/// Options of nextpnr for the part; netlist, pins, seed and placer come on top.
pub(crate) fn settings(part: &Part, board: bool) -> Vec<String> {
    let speed = part.speed.to_string();
    let mut settings: Vec<String> = [
        part.device,
        "--package",
        part.package,
        "--speed",
        &speed,
        "--timing-allow-fail",
    ]
    .map(Into::into)
    .into();
    if !board {
        settings.push("--lpf-allow-unconstrained".into());
    }
    settings
}

/// Progress log of nextpnr for `seed`.
pub(crate) fn progress(seed: u32) -> String {
    format!("progress-{seed}.log")
}

/// Places and routes `netlist.json` with `pins.lpf` of a folder.
pub(crate) struct Placer<'a> {
    folder: &'a Path,
    nextpnr: &'a Path,
    settings: &'a [String],
    /// Inputs of a placement, besides its seed.
    inputs: String,
    patience: Option<Duration>,
}

impl<'a> Placer<'a> {
    /// A placer for the netlist and the pins in `folder`.
    ///
    /// # Errors
    /// [`Error::Start`], [`Error::File`], [`Error::Output`].
    pub(crate) fn new(
        folder: &'a Path,
        nextpnr: &'a Path,
        settings: &'a [String],
    ) -> Result<Self, Error> {
        let version = nextpnr_version(nextpnr)?.version;
        let mut inputs = format!("nextpnr {version}\n{}\n", settings.join(" "));
        for name in [NETLIST_JSON, PINS_LPF] {
            let path = folder.join(name);
            let text = fs::read(&path).map_err(Error::at(&path))?;
            for octet in Sha256::digest(&text) {
                let _ = write!(inputs, "{octet:02x}"); // into a string: cannot fail
            }
            inputs += &format!(" {name}\n");
        }
        Ok(Self {
            folder,
            nextpnr,
            settings,
            inputs,
            patience: None,
        })
    }

    /// The same, which kills nextpnr after that time.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self {
            patience: Some(patience),
            ..self
        }
    }

    /// Returns what `read` finds in the report of a seed. A placement takes a quarter of an hour or more, and the same nextpnr with
    /// the same netlist, pins, settings and seed makes the same one: it is reused. So an interrupted run continues after the last
    /// complete seed.
    ///
    /// # Errors
    /// [`Error::Start`], [`Error::Tool`], [`Error::Slow`], [`Error::File`]; [`Error::Output`] with the error of `read`.
    pub(crate) fn place<T>(
        &self,
        seed: u32,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<T, Error> {
        let report = format!("report-{seed}.json");
        let placed = format!("placed-{seed}.config");
        let path = self.folder.join(&report);
        let there = path.exists() && self.folder.join(&placed).exists();
        let mark = self.folder.join(format!("placed-{seed}.made-of"));
        let make = || {
            let mut command = Command::new(self.nextpnr);
            command
                .args(self.settings)
                .args(["--seed", &seed.to_string()])
                .args(["--json", NETLIST_JSON, "--lpf", PINS_LPF])
                .args(["--textcfg", &placed])
                .args(["--report", &report])
                .arg("--detailed-timing-report")
                // the log grows during the run; standard error has warnings only
                .args(["-q", "--log", &progress(seed)]);
            let log = format!("nextpnr-{seed}.log");
            call_within(
                "nextpnr-ecp5",
                &mut command,
                self.folder,
                &log,
                self.patience,
            )
        };
        make_once(&mark, &self.inputs, there, make, || {
            read(&read_json(&path)?).map_err(Error::output(&path))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A nextpnr that counts its calls.
    const COUNTS: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo '"nextpnr-ecp5" -- Next Generation Place and Route (Version nextpnr-1)' && exit
while [ $# -gt 0 ]; do case "$1" in --report) report=$2;; --textcfg) config=$2;; esac; shift; done
echo '{}' > "$report"; : > "$config"; echo once >> calls
"#;

    #[test]
    fn a_placement_that_takes_too_long_is_killed_and_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let nextpnr = folder.join("nextpnr");
        let sleeps = COUNTS.replace("echo once >> calls", "echo once >> calls; exec sleep 600");
        fs::write(&nextpnr, sleeps).unwrap();
        fs::set_permissions(&nextpnr, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join(NETLIST_JSON), "one").unwrap();
        fs::write(folder.join(PINS_LPF), "").unwrap();
        let placer = Placer::new(folder, &nextpnr, &[]).unwrap();
        let placer = placer.with_patience(Duration::from_secs(1));
        for _ in 0..2 {
            let slow = placer.place(1, |_| Ok(())).unwrap_err();
            assert!(matches!(slow, Error::Slow { seconds: 1, .. }), "{slow}");
        }
        let calls = fs::read_to_string(folder.join("calls")).unwrap();
        assert_eq!(calls.lines().count(), 2);
    }

    #[test]
    fn a_netlist_is_placed_once_for_each_seed_and_setting() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let nextpnr = folder.join("nextpnr");
        fs::write(&nextpnr, COUNTS).unwrap();
        fs::set_permissions(&nextpnr, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join(NETLIST_JSON), "one").unwrap();
        fs::write(folder.join(PINS_LPF), "").unwrap();
        let placed = |settings: &[&str], seed| {
            let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
            let placer = Placer::new(folder, &nextpnr, &settings).unwrap();
            placer.place(seed, |_| Ok(())).unwrap();
            fs::read_to_string(folder.join("calls"))
                .unwrap()
                .lines()
                .count()
        };
        assert_eq!(placed(&[], 1), 1);
        assert_eq!(placed(&[], 1), 1);
        assert_eq!(placed(&[], 2), 2);
        assert_eq!(placed(&["--force"], 1), 3);
        fs::write(folder.join(NETLIST_JSON), "another").unwrap();
        assert_eq!(placed(&["--force"], 1), 4);
        fs::remove_file(folder.join("placed-1.config")).unwrap();
        assert_eq!(placed(&["--force"], 1), 5);
        assert_eq!(placed(&["--force"], 1), 5);
        // an interrupted placement is not reused
        fs::write(folder.join(NETLIST_JSON), "a third").unwrap();
        fs::write(&nextpnr, COUNTS.replace("echo '{}'", "exit 1; echo")).unwrap();
        let settings = ["--force".to_owned()];
        let placer = Placer::new(folder, &nextpnr, &settings).unwrap();
        assert!(placer.place(1, |_| Ok(())).is_err());
        fs::write(&nextpnr, COUNTS).unwrap();
        fs::write(folder.join(NETLIST_JSON), "another").unwrap();
        assert_eq!(placed(&["--force"], 1), 6);
    }
}

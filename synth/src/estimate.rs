//! Area and logic levels of a device, by yosys alone: without placement there is no clock.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warpline_design::design;
use warpline_hdl::Config;

use crate::depth::LongestPath;
use crate::device::Extent;
use crate::error::Error;
use crate::folder_lock::acquire;
use crate::netlist::{Family, Netlist, netlist_of};
use crate::regression::{growth, summary};
use crate::report::Tool;
use crate::tools::yosys_version;

/// What yosys makes of a device with open ports. An estimate: placement and vendor tools change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Family: `ecp5`, or `xcup`, UltraScale+.
    pub family: String,
    /// Bits of the data path.
    pub width: usize,
    /// Streams.
    pub streams: usize,
    /// Octets of each ring.
    pub ring_octets: usize,
    /// What it does besides receiving from TCP.
    #[serde(flatten)]
    pub extent: Extent,
    /// Names the code of the device: [`warpline_design::key_of`]. Empty in records from before there was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// LUTs: LUT4 of ECP5, LUT1 to LUT6 of UltraScale+; without carry chains and LUT RAM.
    pub lut: u64,
    /// Carry cells: CCU2C, 2 bits each; CARRY4 or CARRY8.
    pub carry: u64,
    /// Flip-flops.
    pub ff: u64,
    /// LUT RAMs: TRELLIS_DPR16X4, or RAM…M and others.
    pub lut_ram: u64,
    /// Block RAMs of 18 kbit; one of 36 kbit counts as two.
    pub ram18: u64,
    /// LUTs on the longest path between registers or ports.
    pub lut_levels: usize,
    /// The longest path with the same delay for every wire; for ECP5 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_path: Option<LongestPath>,
    /// All cells by kind.
    pub cells: BTreeMap<String, u64>,
    /// Tools and their versions.
    pub tools: Vec<Tool>,
}

/// Makes a netlist of the device of `width` bits and `extent` in `folder`, and counts its cells.
///
/// # Errors
/// [`Error`] when the device cannot be written, or yosys fails.
pub fn estimate(
    family: Family,
    width: usize,
    extent: Extent,
    yosys: &Path,
    folder: &Path,
) -> Result<Estimate, Error> {
    let config = extent.config(width);
    let versions = vec![yosys_version(yosys)?];
    let device = design(&config)?;
    fs::create_dir_all(folder).map_err(Error::at(folder))?;
    let _lock = acquire(folder)?;
    let netlist = netlist_of(&device, yosys, family, folder)?;
    Estimate::of(family, &config, netlist, versions)
}

impl Estimate {
    /// Counts the cells of `netlist`, made for `family` from the device that `config` describes.
    fn of(
        family: Family,
        config: &Config,
        netlist: Netlist,
        tools: Vec<Tool>,
    ) -> Result<Self, Error> {
        let starts = |starts: &'static [&str]| {
            netlist.count(|kind| starts.iter().any(|start| kind.starts_with(start)))
        };
        Ok(Self {
            family: family.name().into(),
            width: config.width,
            streams: config.streams,
            ring_octets: config.ring_octets,
            extent: Extent::of(config),
            text: netlist.text.clone(),
            lut: starts(&["LUT", "INV"]),
            carry: starts(&["CCU2C", "CARRY"]),
            ff: starts(&["TRELLIS_FF", "FD"]),
            lut_ram: starts(&["TRELLIS_DPR", "RAM", "SRL"]) - starts(&["RAMB"]),
            ram18: starts(&["DP16KD", "RAMB18"]) + 2 * starts(&["RAMB36"]),
            lut_levels: netlist.lut_levels()?,
            longest_path: match family {
                Family::Ecp5 => Some(netlist.longest_path()?),
                Family::UltraScalePlus => None,
            },
            cells: netlist.cells,
            tools,
        })
    }

    /// Figures that are more than 5 % larger or deeper than in `before`, an estimate of the same device.
    #[must_use]
    pub fn regression(&self, before: &Self) -> Option<String> {
        let levels = |estimate: &Self| estimate.lut_levels as u64;
        let path = |estimate: &Self| estimate.longest_path.as_ref().map(|path| path.ps);
        let paths = path(self).zip(path(before));
        let (path, path_before) = paths.unwrap_or_default();
        summary(growth(&[
            ("LUTs", self.lut, before.lut),
            ("carry cells", self.carry, before.carry),
            ("flip-flops", self.ff, before.ff),
            ("memories of LUTs", self.lut_ram, before.lut_ram),
            ("block RAMs", self.ram18, before.ram18),
            ("LUTs in a row", levels(self), levels(before)),
            ("ps on the longest path", path, path_before),
        ]))
    }

    /// Whether both are of the same family and device.
    #[must_use]
    pub fn is_of(&self, family: Family, width: usize, extent: Extent) -> bool {
        (self.family.as_str(), self.width, self.extent) == (family.name(), width, extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(ps: u64) -> LongestPath {
        LongestPath {
            ps,
            from: "a".into(),
            to: "b".into(),
        }
    }

    #[test]
    fn what_grew_by_more_than_five_percent_is_told() {
        let before = Estimate {
            family: "ecp5".into(),
            width: 64,
            streams: 4,
            ring_octets: 16 << 10,
            extent: Extent::default(),
            text: String::new(),
            lut: 10_000,
            carry: 1000,
            ff: 5000,
            lut_ram: 100,
            ram18: 80,
            lut_levels: 12,
            longest_path: Some(path(9000)),
            cells: BTreeMap::new(),
            tools: Vec::new(),
        };
        let same = Estimate {
            lut: 10_500,
            ff: 4000,
            ..before.clone()
        };
        assert_eq!(same.regression(&before), None);
        let larger = Estimate {
            lut: 10_501,
            ram18: 85,
            lut_levels: 13,
            longest_path: Some(path(9451)),
            ..before.clone()
        };
        assert_eq!(
            larger.regression(&before).unwrap(),
            "more than 5 % worse than before: 10501 LUTs instead of 10000, 85 block RAMs instead of 80, \
             13 LUTs in a row instead of 12, 9451 ps on the longest path instead of 9000"
        );
        let receives = Extent::default();
        assert!(before.is_of(Family::Ecp5, 64, receives));
        assert!(!before.is_of(Family::UltraScalePlus, 64, receives));
        for (transmit, sctp) in [(true, false), (false, true)] {
            assert!(!before.is_of(Family::Ecp5, 64, Extent { transmit, sctp }));
        }
    }

    #[test]
    fn what_a_device_does_stands_beside_its_width() {
        let text = |transmit, sctp| serde_json::to_string(&Extent { transmit, sctp }).unwrap();
        assert_eq!(text(false, false), "{}");
        assert_eq!(text(true, true), r#"{"transmit":true,"sctp":true}"#);
        let recorded = r#"{"family":"ecp5","width":64,"streams":4,"ring_octets":16384,"sctp":true,"lut":1,"carry":1,
            "ff":1,"lut_ram":1,"ram18":1,"lut_levels":1,"cells":{},"tools":[]}"#;
        let estimate: Estimate = serde_json::from_str(recorded).unwrap();
        assert_eq!(estimate.extent.to_string(), "receiving, SCTP, too");
        assert!(estimate.extent.config(64).sctp.is_some());
    }
}

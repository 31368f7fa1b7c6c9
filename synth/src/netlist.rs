//! yosys: SystemVerilog in, cells of a family out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use warpline_design::key;
use warpline_sv_writer::Design;

use crate::artifact::make_once;
use crate::depth::{self, LongestPath};
use crate::error::Error;
use crate::json::read;
use crate::module::{Module, NETLIST_JSON};
use crate::process::call;
use crate::tools::yosys_version;

/// A family of parts that yosys supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Lattice ECP5 and ECP5-5G.
    Ecp5,
    /// AMD UltraScale+.
    UltraScalePlus,
}

impl Family {
    /// Its name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ecp5 => "ecp5",
            Self::UltraScalePlus => "xcup",
        }
    }

    /// The family of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let all = [Self::Ecp5, Self::UltraScalePlus];
        all.into_iter().find(|family| family.name() == name)
    }

    /// Commands of yosys that map to its cells.
    fn commands(self, top: &str) -> String {
        match self {
            Self::Ecp5 => format!("synth_ecp5 -top {top}\n"),
            // out of context: without pins and clock buffers
            Self::UltraScalePlus => {
                format!("synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {top}\n")
            }
        }
    }
}

/// Sources of a netlist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'s> {
    /// The top module.
    pub top: &'s str,
    /// Names and texts of all files.
    pub files: &'s [(String, String)],
    /// Parameters of the top module.
    pub parameters: &'s [(&'s str, usize)],
    /// Signals keep their names while yosys maps them, so that a placer's reports name them. Otherwise yosys maps the same
    /// logic the same way, whatever its names are: with names, other names alone have changed the number of LUTs by 5 %.
    pub named: bool,
}

/// A netlist: in its folder as `netlist.json` and `netlist.v`.
#[derive(Debug)]
pub struct Netlist {
    /// The folder.
    pub folder: PathBuf,
    /// Names the code of its sources: [`key`].
    pub text: String,
    /// Number of cells of each kind.
    pub cells: BTreeMap<String, u64>,
    /// The top module, flat.
    pub(crate) module: Module,
}

/// Has yosys make a netlist of `design` alone; sources, script and log are in `folder` as well. A netlist of the same code by
/// the same yosys is reused.
///
/// # Errors
/// [`Error::Start`], [`Error::Tool`], [`Error::File`], [`Error::Output`].
pub fn netlist_of(
    design: &Design,
    yosys: &Path,
    family: Family,
    folder: &Path,
) -> Result<Netlist, Error> {
    let source = Source {
        top: design.top(),
        files: &design.sources(),
        parameters: &[],
        named: false,
    };
    netlist(yosys, family, &source, folder)
}

/// Folder of the sources, below that of the netlist.
pub(crate) const RTL: &str = "rtl";

/// File that says of what the netlist was made: yosys, code and commands.
pub(crate) const MADE_BY: &str = "made-by";

/// Has yosys make a netlist; sources, script and log are in `folder` as well. A netlist of the same code ([`key`]) and
/// commands by the same yosys in this folder is reused: yosys would make the same one.
///
/// # Errors
/// [`Error::Start`], [`Error::Tool`], [`Error::File`], [`Error::Output`].
pub(crate) fn netlist(
    yosys: &Path,
    family: Family,
    source: &Source<'_>,
    folder: &Path,
) -> Result<Netlist, Error> {
    let rtl = folder.join(RTL);
    fs::create_dir_all(&rtl).map_err(Error::at(&rtl))?;
    let mut script = String::from("read_verilog -sv");
    for (name, _) in source.files {
        script += &format!(" {RTL}/{name}");
    }
    let mut commands = String::from("\n");
    for (name, value) in source.parameters {
        commands += &format!("chparam -set {name} {value} {}\n", source.top);
    }
    if !source.named {
        let top = source.top;
        commands += &format!("hierarchy -check -top {top}\nproc\nflatten\n");
        // numbered in the order of the text; each net keeps its name of the sources as an attribute
        commands += "rename -hide\nrename -enumerate\nopt_clean -purge\n";
    }
    commands += &family.commands(source.top);
    commands += &format!("write_json {NETLIST_JSON}\nwrite_verilog -noattr netlist.v\n");
    commands += "tee -q -o statistics.json stat -json\n";
    script += &commands;

    let made_by = folder.join(MADE_BY);
    let version = yosys_version(yosys)?.version;
    let text = key(source.files.iter().map(|(_, text)| text));
    let inputs = format!("yosys {version}\ntext {text}\n{commands}");
    #[derive(Deserialize)]
    struct Statistics {
        design: Counts,
    }
    #[derive(Deserialize)]
    struct Counts {
        num_cells_by_type: BTreeMap<String, u32>,
    }
    for (name, text) in source.files {
        let path = rtl.join(name);
        fs::write(&path, text).map_err(Error::at(&path))?;
    }
    let make = || run(yosys, folder, "synth", &script);
    let (statistics, module): (Statistics, _) = make_once(&made_by, &inputs, true, make, || {
        let statistics = read(&folder.join("statistics.json"))?;
        Ok((statistics, Module::read(folder, source.top)?))
    })?;
    let cells = statistics.design.num_cells_by_type.into_iter();
    let cells = cells
        .filter(|(kind, _)| !kind.starts_with('$')) // scopes of former modules, no cells
        .map(|(kind, count)| (kind, count.into()))
        .collect();
    Ok(Netlist {
        folder: folder.into(),
        text,
        cells,
        module,
    })
}

/// Runs a script, `<name>.ys`.
pub(crate) fn run(yosys: &Path, folder: &Path, name: &str, script: &str) -> Result<(), Error> {
    let file = format!("{name}.ys");
    let path = folder.join(&file);
    fs::write(&path, script).map_err(Error::at(&path))?;
    let mut command = Command::new(yosys);
    command.args(["-q", "-s", &file]);
    call("yosys", &mut command, folder, &format!("{name}.log"))
}

impl Netlist {
    /// Number of cells of the kinds that `is` accepts.
    pub(crate) fn count(&self, is: impl Fn(&str) -> bool) -> u64 {
        let picked = self.cells.iter().filter(|(kind, _)| is(kind));
        picked.map(|(_, count)| count).sum()
    }

    /// LUTs on the longest path between two registers or ports. A LUT RAM on the path counts as one; carry chains and wide
    /// multiplexers do not count.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn lut_levels(&self) -> Result<usize, Error> {
        depth::luts(&self.module.cells).map_err(self.wrong())
    }

    /// The longest path between two registers, for ECP5.
    ///
    /// # Errors
    /// As [`lut_levels`](Self::lut_levels).
    pub fn longest_path(&self) -> Result<LongestPath, Error> {
        let path = depth::longest(&self.module.cells).map_err(self.wrong())?;
        Ok(LongestPath {
            from: self.module.source_name(&path.from),
            to: self.module.source_name(&path.to),
            ..path
        })
    }

    fn wrong(&self) -> impl FnOnce(String) -> Error {
        Error::output(self.folder.join(NETLIST_JSON))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Number of netlists made so far; the stand-in for yosys, of that version, records each.
    fn made(folder: &Path, version: &str, text: &str) -> usize {
        let yosys = folder.join("yosys");
        let script = format!(
            "#!/bin/sh
if [ \"$1\" = --version ]; then echo 'Yosys {version} (git)'; exit; fi
echo made >> made
echo '{{\"modules\": {{\"block\": {{\"ports\": {{}}, \"cells\": {{}}}}}}}}' > {NETLIST_JSON}
echo '{{\"design\": {{\"num_cells_by_type\": {{\"LUT4\": 3}}}}}}' > statistics.json
grep -q broken rtl/block.sv && exit 1
exit 0
"
        );
        fs::write(&yosys, script).unwrap();
        fs::set_permissions(&yosys, fs::Permissions::from_mode(0o755)).unwrap();
        let source = Source {
            top: "block",
            files: &[("block.sv".into(), text.into())],
            parameters: &[],
            named: true,
        };
        let made = netlist(&yosys, Family::Ecp5, &source, folder);
        assert_eq!(made.is_err(), text.contains("broken"));
        let made = fs::read_to_string(folder.join("made"));
        made.unwrap().lines().count()
    }

    #[test]
    fn a_netlist_is_made_once_of_a_text_by_a_tool() {
        let folder = tempfile::tempdir().unwrap();
        let made = |version, text| made(folder.path(), version, text);
        assert_eq!(made("0.70", "one"), 1);
        assert_eq!(made("0.70", "one"), 1);
        assert_eq!(made("0.70", "two"), 2);
        assert_eq!(made("0.70", "// a comment\n\n  two // and another\n"), 2);
        assert_eq!(made("0.71", "two"), 3);
        assert_eq!(made("0.71", "two"), 3);
        // a failed run is repeated, and its output is not reused
        assert_eq!(made("0.71", "broken"), 4);
        assert_eq!(made("0.71", "broken"), 5);
        assert_eq!(made("0.71", "two"), 6);
    }

    /// The text of a design with other names: each signal that ends in `_q` or `_d` begins with a number of its own.
    fn renamed(text: &str) -> String {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            if name.ends_with("_q") || name.ends_with("_d") {
                let number = key([name]);
                out += &format!("n{}_", &number[..6]);
            }
            out += name;
            let next = behind.find(is_name).unwrap_or(behind.len());
            out += &behind[..next];
            rest = &behind[next..];
        }
        out
    }

    /// With names, the second one of these has 5 % more or fewer LUTs.
    #[test]
    #[ignore = "yosys twice over the whole device: make test-fpga"]
    fn the_size_of_a_device_does_not_depend_on_its_names() {
        let tools = crate::tools::Tools::find().unwrap();
        let design = warpline_design::design(&crate::device::config(64)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, files: &[(String, String)]| {
            let source = Source {
                top: design.top(),
                files,
                parameters: &[],
                named: false,
            };
            let folder = folder.path().join(name);
            let made = netlist(&tools.yosys, Family::Ecp5, &source, &folder).unwrap();
            (made.longest_path().unwrap().ps, made.cells)
        };
        let sources = design.sources();
        let other: Vec<_> = sources
            .iter()
            .map(|(file, text)| (file.clone(), renamed(text)))
            .collect();
        assert!(sources.iter().zip(&other).any(|(one, other)| one != other));
        assert_eq!(of("as-written", &sources), of("renamed", &other));
    }
}

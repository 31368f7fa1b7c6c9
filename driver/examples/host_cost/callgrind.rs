//! Runs this program under callgrind.

use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The function whose instructions count, as valgrind prints its name.
const MEASURED: &str = "host_cost::cases::measured*";

/// The first line that a program prints for `option`.
pub fn first_line(program: &str, option: &str) -> Result<String> {
    let output = Command::new(program).arg(option).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The version of valgrind.
pub fn version() -> Result<String> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(_) => first_line("valgrind", "--version"),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err("valgrind is missing: run tools/setup.sh host-cost".into())
        }
        Err(error) => Err(format!("valgrind: {error}").into()),
    }
}

/// Instructions of the measured function in `rounds` rounds of `case`.
pub fn count(case: &str, rounds: u64) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let result = folder.path().join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-atstart=no"])
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", result.display()))
        .arg(std::env::current_exe()?)
        .args([case, &rounds.to_string()])
        .output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().last().unwrap_or("no message");
        return Err(format!("{case}: valgrind ends with {}: {line}", output.status).into());
    }
    let text = fs::read_to_string(&result)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.and_then(|number| number.trim().parse().ok());
    match total {
        Some(0) | None => Err(format!("{case}: callgrind has counted nothing").into()),
        Some(total) => Ok(total),
    }
}

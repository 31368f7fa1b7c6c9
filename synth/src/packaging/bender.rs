//! `Bender.yml`: the list of files for Bender.

use super::package::Package;

pub(super) fn text(package: &Package<'_>) -> String {
    let files: String = package
        .sources
        .iter()
        .map(|file| format!("  - {file}\n"))
        .collect();
    format!(
        "# {}\npackage:\n  name: {}\n\nsources:\n{files}",
        package.device, package.top
    )
}

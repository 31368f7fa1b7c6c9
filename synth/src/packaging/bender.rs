//! `Bender.yml`: the list of files for Bender.

use super::names::Names;

pub(super) fn text(names: &Names<'_>) -> String {
    let files: String = names
        .sources
        .iter()
        .map(|file| format!("  - {file}\n"))
        .collect();
    format!(
        "# {}\npackage:\n  name: {}\n\nsources:\n{files}",
        names.device, names.top
    )
}

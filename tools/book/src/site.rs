//! The pages that mdBook has made: every link of theirs leads to a page, and to a heading that it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::tree::{Complaint, is_foreign, joined, split};

/// What mdBook puts beside the chapters: one page of everything for printing, and the page for wrong addresses. Its links
/// are those of the chapters.
const OTHERS: [&str; 2] = ["print.html", "404.html"];

#[derive(Debug, Default)]
struct Page {
    anchors: BTreeSet<String>,
    /// Line and target.
    links: Vec<(usize, String)>,
}

/// Number of pages below `folder`, and links of theirs that lead nowhere.
pub fn broken_links(folder: &Path) -> (usize, Vec<Complaint>) {
    let mut pages = BTreeMap::new();
    read(folder, Path::new(""), &mut pages);
    let mut complaints = vec![];
    for (file, page) in &pages {
        for (line, target) in &page.links {
            if let Err(what) = look(folder, file, target, &pages) {
                complaints.push(Complaint::new(file, *line, what));
            }
        }
    }
    (pages.len(), complaints)
}

fn read(root: &Path, folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) {
    for entry in fs::read_dir(root.join(folder))
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = folder.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            read(root, &path, pages);
        } else if path.extension().is_some_and(|kind| kind == "html")
            && !OTHERS.iter().any(|other| Path::new(other) == path)
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            pages.insert(path, page(&text));
        }
    }
}

fn page(text: &str) -> Page {
    let mut page = Page::default();
    for (number, line) in text.lines().enumerate() {
        page.anchors.extend(values(line, "id"));
        for name in ["href", "src"] {
            let targets = values(line, name).map(|target| (number + 1, target));
            page.links.extend(targets);
        }
    }
    page
}

/// Values of an attribute in a line.
fn values<'t>(line: &'t str, name: &str) -> impl Iterator<Item = String> + use<'t> {
    let start = format!(" {name}=\"");
    let mut rest = line;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (value, after) = after.split_once('"')?;
        rest = after;
        Some(value.replace("&amp;", "&"))
    })
}

fn look(
    folder: &Path,
    file: &Path,
    target: &str,
    pages: &BTreeMap<PathBuf, Page>,
) -> Result<(), String> {
    if is_foreign(target) || target.starts_with("data:") || target.starts_with("javascript:") {
        return Ok(());
    }
    let (path, fragment) = split(target);
    let to = match path {
        "" => Some(file.to_path_buf()),
        _ => joined(file, path),
    };
    let Some(to) = to.filter(|to| folder.join(to).is_file()) else {
        return Err(format!("the link {target} leads nowhere"));
    };
    match pages.get(&to) {
        _ if fragment.is_empty() => Ok(()),
        Some(page) if page.anchors.contains(fragment) => Ok(()),
        _ => Err(format!("{} has nothing called #{fragment}", to.display())),
    }
}

//! The pages that mdBook has made: every link of theirs leads to a page, and to a heading that it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::tree::{Complaint, follow};

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
            if ["data:", "javascript:"]
                .iter()
                .any(|kind| target.starts_with(kind))
            {
                continue;
            }
            let exists = |to: &Path| folder.join(to).is_file();
            let anchors = |to: &Path| pages.get(to).map(|page| &page.anchors);
            if let Err(what) = follow(file, target, exists, anchors, "nothing called") {
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

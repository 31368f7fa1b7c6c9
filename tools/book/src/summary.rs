//! The list of chapters, `docs/book/SUMMARY.md`, with the chapters that a folder stands for.
//!
//! A line links a document, or a folder. A folder of Markdown stands for its `README.md` with its other documents below
//! it; a folder of the RTL for its `mod.rs` or `lib.rs` with its blocks, and theirs, below it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::block;
use crate::markdown::Parts;
use crate::tree::{Complaint, joined};

/// A line of the list of chapters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A heading between chapters.
    Part(String),
    /// A chapter.
    Chapter {
        /// 0 for the outermost chapters.
        depth: usize,
        /// Stands in front of the numbered chapters.
        is_front: bool,
        /// What the list calls it.
        title: String,
        /// The document or file, from the root of the repository.
        source: PathBuf,
    },
}

/// Reads the list at `list`, a path from the root of the repository.
pub fn read(root: &Path, list: &Path, complaints: &mut Vec<Complaint>) -> Vec<Line> {
    let text = fs::read_to_string(root.join(list)).unwrap_or_default();
    let mut lines = vec![];
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        if let Some(part) = bare.strip_prefix("# ") {
            lines.push(Line::Part(part.into()));
            continue;
        }
        let parts = Parts::of(line);
        let Some(link) = parts.links.first() else {
            continue;
        };
        let from = link.words.map_or(0, |words| words + 1);
        let title = &line[from..link.begin - 2];
        let target = &line[link.begin..link.end];
        let source = joined(list, target);
        let mut here = vec![];
        let found = match &source {
            Some(source) => chapters(root, source, (line.len() - bare.len()) / 2, &mut here),
            None => false,
        };
        if !found || here.is_empty() {
            complaints.push(Complaint::new(
                list,
                number + 1,
                format!("no document at {target}"),
            ));
            continue;
        }
        if let Line::Chapter {
            title: first,
            is_front,
            ..
        } = &mut here[0]
        {
            *first = title.into();
            *is_front = !bare.starts_with('-');
        }
        lines.append(&mut here);
    }
    lines
}

fn chapter(depth: usize, title: String, source: PathBuf) -> Line {
    Line::Chapter {
        depth,
        is_front: false,
        title,
        source,
    }
}

/// Appends the chapters at `source`; false if there are none.
fn chapters(root: &Path, source: &Path, depth: usize, lines: &mut Vec<Line>) -> bool {
    let at = root.join(source);
    if at.is_file() {
        lines.push(chapter(depth, name(source), source.into()));
        return true;
    }
    let readme = source.join("README.md");
    if root.join(&readme).is_file() {
        lines.push(chapter(depth, name(source), readme));
        let mut others: Vec<_> = fs::read_dir(&at)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".md") && name != "README.md")
            .collect();
        others.sort();
        for other in others {
            let source = source.join(other);
            let text = fs::read_to_string(root.join(&source)).unwrap_or_default();
            let title = Parts::of(&text).headings.first().map(|(_, words)| *words);
            let title = title.map_or_else(|| name(&source), Into::into);
            lines.push(chapter(depth + 1, title, source));
        }
        return true;
    }
    let modules = ["mod.rs", "lib.rs"].map(|name| source.join(name));
    if let Some(module) = modules
        .into_iter()
        .find(|module| root.join(module).is_file())
    {
        lines.push(chapter(depth, name(source), module.clone()));
        return blocks(root, &module, source, depth + 1, lines);
    }
    false
}

/// Appends the blocks that the file at `module` declares, in its order; their files lie in `folder`.
fn blocks(root: &Path, module: &Path, folder: &Path, depth: usize, lines: &mut Vec<Line>) -> bool {
    let text = fs::read_to_string(root.join(module)).unwrap_or_default();
    for child in block::children(&text) {
        let file = folder.join(format!("{child}.rs"));
        if root.join(&file).is_file() {
            lines.push(chapter(depth, child.clone(), file.clone()));
            blocks(root, &file, &folder.join(&child), depth + 1, lines);
            continue;
        }
        let inner = folder.join(&child);
        chapters(root, &inner, depth, lines);
    }
    true
}

fn name(source: &Path) -> String {
    let stem = source.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

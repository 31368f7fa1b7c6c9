//! The documents of the repository: which there are, and where their links lead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::markdown::Parts;

/// Folders that hold no documents of the project.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The document, from the root of the repository.
    pub file: PathBuf,
    /// Number of the line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl Complaint {
    /// A complaint about a line.
    pub fn new(file: &Path, line: usize, what: String) -> Self {
        Self {
            file: file.into(),
            line,
            what,
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// `target`, relative to the folder of `file`, from the root; `None` outside of it.
pub fn joined(file: &Path, target: &str) -> Option<PathBuf> {
    let mut path: Vec<_> = file.parent()?.components().collect();
    for part in Path::new(target).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop()?;
            }
            Component::Normal(_) => path.push(part),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path.into_iter().collect())
}

/// Leads out of the repository.
pub fn is_foreign(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// Path and fragment of a target.
pub fn split(target: &str) -> (&str, &str) {
    target.split_once('#').unwrap_or((target, ""))
}

/// Follows a link of `file`. The error says that nothing `exists` there, or that what is there has `missing` of that name, such as
/// "no heading".
pub fn follow<'a>(
    file: &Path,
    target: &str,
    exists: impl Fn(&Path) -> bool,
    anchors: impl Fn(&Path) -> Option<&'a BTreeSet<String>>,
    missing: &str,
) -> Result<(), String> {
    if is_foreign(target) {
        return Ok(());
    }
    let (path, fragment) = split(target);
    let to = match path {
        "" => Some(file.to_path_buf()),
        _ => joined(file, path),
    };
    let Some(to) = to.filter(|to| exists(to)) else {
        return Err(format!("the link {target} leads nowhere"));
    };
    match anchors(&to) {
        _ if fragment.is_empty() => Ok(()),
        Some(anchors) if anchors.contains(fragment) => Ok(()),
        _ => Err(format!("{} has {missing} #{fragment}", to.display())),
    }
}

/// The documents below `root`, each with its path from there.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    root: PathBuf,
    documents: BTreeMap<PathBuf, String>,
}

impl Tree {
    /// Reads all Markdown files below `root`.
    pub fn read(root: &Path) -> Self {
        let mut tree = Self {
            root: root.into(),
            documents: BTreeMap::new(),
        };
        tree.folder(Path::new(""));
        tree
    }

    fn folder(&mut self, folder: &Path) {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = folder.join(&name);
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                self.folder(&path);
            } else if name.ends_with(".md")
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                self.documents.insert(path, text);
            }
        }
    }

    /// Where the repository lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All documents, by path.
    pub fn documents(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.documents
            .iter()
            .map(|(path, text)| (path.as_path(), text.as_str()))
    }

    /// The text of a document.
    pub fn document(&self, path: &Path) -> Option<&str> {
        self.documents.get(path).map(String::as_str)
    }

    /// Links to files and headings that do not exist.
    pub fn broken_links(&self) -> Vec<Complaint> {
        let mut anchors: BTreeMap<&Path, BTreeSet<String>> = BTreeMap::new();
        for (path, text) in self.documents() {
            anchors.insert(path, Parts::of(text).anchors().into_iter().collect());
        }
        let mut complaints = vec![];
        for (file, text) in self.documents() {
            for link in Parts::of(text).links {
                let target = &text[link.begin..link.end];
                let exists = |to: &Path| self.root.join(to).exists();
                let followed = follow(file, target, exists, |to| anchors.get(to), "no heading");
                if let Err(what) = followed {
                    complaints.push(Complaint::new(file, link.line, what));
                }
            }
        }
        complaints
    }
}

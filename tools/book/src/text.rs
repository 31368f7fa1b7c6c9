//! The text that mdBook reads: each chapter at its path in the repository, with what chapters link beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::block::{self, Name};
use crate::markdown::Parts;
use crate::summary::{self, Line};
use crate::tree::{Complaint, Tree, is_foreign, joined, split};

/// The list of chapters, and mdBook's settings.
const SUMMARY: &str = "docs/book/SUMMARY.md";
const SETTINGS: &str = "docs/book/book.toml";
const STYLE: &str = "docs/book/print.css";
/// The RTL: files below it are chapters by their heads.
const RTL: &str = "hdl/src";
/// What browsers show by themselves; all other files get a name that says that they are text.
const SHOWN: [&str; 5] = ["html", "json", "png", "svg", "txt"];

/// The text of the book.
#[derive(Debug, Default)]
pub struct Text {
    /// Chapters and the list of them, by path in the text.
    pub chapters: BTreeMap<PathBuf, String>,
    /// Files to copy: path in the text, path in the repository.
    pub files: BTreeMap<PathBuf, PathBuf>,
    /// What keeps the book from being right.
    pub complaints: Vec<Complaint>,
}

impl Text {
    /// Makes the text from the documents of `tree`.
    pub fn of(tree: &Tree) -> Self {
        let mut text = Self::default();
        let lines = summary::read(tree.root(), Path::new(SUMMARY), &mut text.complaints);
        let sources: BTreeSet<_> = lines.iter().filter_map(source).map(PathBuf::from).collect();
        text.repeated(&lines);
        for source in &sources {
            let chapter = match source.extension().is_some_and(|kind| kind == "rs") {
                true => text.block(tree, source, &sources),
                false => text.document(tree, source, &sources),
            };
            text.chapters.insert(chapter_path(source), chapter);
        }
        text.missing_blocks(tree, &sources);
        let list = listed(&lines);
        text.chapters.insert("SUMMARY.md".into(), list);
        text
    }

    /// Writes the text into `folder`, in which nothing else remains.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self, root: &Path, folder: &Path) -> io::Result<()> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        fs::copy(root.join(SETTINGS), folder.join("book.toml"))?;
        fs::copy(root.join(STYLE), folder.join("print.css"))?;
        let source = folder.join("src");
        for (path, chapter) in &self.chapters {
            let path = source.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&source))?;
            fs::write(path, chapter)?;
        }
        for (path, from) in &self.files {
            let path = source.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&source))?;
            fs::copy(root.join(from), path)?;
        }
        Ok(())
    }

    fn complain(&mut self, file: &Path, line: usize, what: String) {
        self.complaints.push(Complaint::new(file, line, what));
    }

    fn repeated(&mut self, lines: &[Line]) {
        let mut seen = BTreeSet::new();
        for source in lines.iter().filter_map(source) {
            if !seen.insert(source) {
                let what = format!("{} is a chapter twice", source.display());
                self.complain(Path::new(SUMMARY), 1, what);
            }
        }
    }

    /// Every file of the RTL is a chapter.
    fn missing_blocks(&mut self, tree: &Tree, sources: &BTreeSet<PathBuf>) {
        let mut folders = vec![PathBuf::from(RTL)];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(tree.root().join(&folder))
                .into_iter()
                .flatten();
            for entry in entries.flatten() {
                let path = folder.join(entry.file_name());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if path.extension().is_some_and(|kind| kind == "rs")
                    && !sources.contains(&path)
                {
                    let what = format!("no chapter has {}", path.display());
                    self.complain(Path::new(SUMMARY), 1, what);
                }
            }
        }
    }

    /// A document, with links to what is in the book or beside it.
    fn document(&mut self, tree: &Tree, source: &Path, sources: &BTreeSet<PathBuf>) -> String {
        let text = tree.document(source).unwrap_or_default();
        let mut out = String::new();
        let mut at = 0;
        for link in Parts::of(text).links {
            let target = &text[link.begin..link.end];
            if is_foreign(target) || target.starts_with('#') {
                continue;
            }
            let (path, fragment) = split(target);
            let Some(to) = joined(source, path).filter(|to| tree.root().join(to).exists()) else {
                self.complain(
                    source,
                    link.line,
                    format!("the link {target} leads nowhere"),
                );
                continue;
            };
            match (self.place(tree, &to, sources), link.words) {
                (Some(place), _) => {
                    out += &text[at..link.begin];
                    out += &relative(source, &place);
                    if !fragment.is_empty() {
                        let _ = write!(out, "#{fragment}");
                    }
                    at = link.end;
                }
                // A folder without a chapter: its words stay.
                (None, Some(words)) if words >= at => {
                    out += &text[at..words];
                    out += &text[words + 1..link.begin - 2];
                    at = link.end + 1;
                }
                (None, _) => {}
            }
        }
        out + &text[at..]
    }

    /// Where the book has what lies at `to` in the repository.
    fn place(&mut self, tree: &Tree, to: &Path, sources: &BTreeSet<PathBuf>) -> Option<PathBuf> {
        if sources.contains(to) {
            return Some(chapter_path(to));
        }
        if tree.root().join(to).is_dir() {
            let inner = ["README.md", "mod.rs", "lib.rs"].map(|name| to.join(name));
            let inner = inner.iter().find(|inner| sources.contains(*inner))?;
            return Some(chapter_path(inner));
        }
        let place = shown(to);
        self.files.insert(place.clone(), to.into());
        Some(place)
    }

    fn block(&mut self, tree: &Tree, source: &Path, sources: &BTreeSet<PathBuf>) -> String {
        let text = fs::read_to_string(tree.root().join(source)).unwrap_or_default();
        let shown = shown(source);
        self.files.insert(shown.clone(), source.into());
        let resolve = |name: &Name<'_>| meaning(tree.root(), source, &text, name, sources);
        match block::page(source, &text, &shown, &resolve) {
            Ok(page) => page,
            Err(error) => {
                self.complain(source, 1, error.to_string());
                String::new()
            }
        }
    }
}

fn source(line: &Line) -> Option<&Path> {
    match line {
        Line::Part(_) => None,
        Line::Chapter { source, .. } => Some(source),
    }
}

/// The list of chapters for mdBook.
fn listed(lines: &[Line]) -> String {
    let mut list = String::from("# Summary\n\n");
    for line in lines {
        let _ = match line {
            Line::Part(words) => writeln!(list, "\n# {words}\n"),
            Line::Chapter {
                depth,
                is_front,
                title,
                source,
            } => {
                let mark = if *is_front { "" } else { "- " };
                let path = chapter_path(source);
                let path = path.display();
                writeln!(list, "{:1$}{mark}[{title}]({path})", "", 2 * depth)
            }
        };
    }
    list
}

/// Path of a chapter in the text.
fn chapter_path(source: &Path) -> PathBuf {
    source.with_extension("md")
}

/// Path in the text of a file that is no chapter.
fn shown(file: &Path) -> PathBuf {
    let kind = file.extension().map(|kind| kind.to_string_lossy());
    match kind {
        Some(kind) if SHOWN.contains(&&*kind) => file.into(),
        // mdBook makes `.html` of `.md`, wherever it stands in a link.
        Some(kind) if kind == "md" => file.with_extension("txt"),
        Some(kind) => file.with_extension(format!("{kind}.txt")),
        None => file.with_extension("txt"),
    }
}

/// `to` as a link from the chapter at `from`; both from the root.
fn relative(from: &Path, to: &Path) -> String {
    let from: Vec<_> = from
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .collect();
    let to: Vec<_> = to.components().collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut parts = vec!["..".to_owned(); from.len() - common];
    let down = to[common..].iter().map(|part| part.as_os_str());
    parts.extend(down.map(|part| part.to_string_lossy().into_owned()));
    parts.join("/")
}

/// What a name in the head of `source` means: a number with its value, a block with its page.
fn meaning(
    root: &Path,
    source: &Path,
    text: &str,
    name: &Name<'_>,
    sources: &BTreeSet<PathBuf>,
) -> Option<String> {
    if let Some(value) = block::constant(text, name.path) {
        return Some(format!("`{}` ({value})", name.words));
    }
    let (path, last) = name.path.rsplit_once("::").unwrap_or(("", name.path));
    if let Some(file) = module(source, name.path, sources) {
        let link = relative(source, &chapter_path(&file));
        return Some(format!("[`{}`]({link})", name.words));
    }
    let file = module(source, path, sources)?;
    let link = relative(source, &chapter_path(&file));
    let text = fs::read_to_string(root.join(&file)).ok()?;
    Some(match block::constant(&text, last) {
        Some(value) => format!("[`{}`]({link}) ({value})", name.words),
        None => format!("[`{}`]({link})", name.words),
    })
}

/// The file of the module that `path` names in the file at `source`.
fn module(source: &Path, path: &str, sources: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let is_root = source
        .file_stem()
        .is_some_and(|stem| stem == "mod" || stem == "lib");
    // The folder of the file's own modules.
    let mut folder = match is_root {
        true => source.parent()?.to_path_buf(),
        false => source.with_extension(""),
    };
    let mut names = path.split("::").peekable();
    match *names.peek()? {
        "" => return None,
        "crate" => folder = RTL.into(),
        "super" => {
            folder.pop();
        }
        "self" => {}
        own => folder.push(own),
    }
    folder.extend(names.skip(1));
    file(&folder, sources)
}

fn file(module: &Path, sources: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let files = [
        module.with_extension("rs"),
        module.join("mod.rs"),
        module.join("lib.rs"),
    ];
    files.into_iter().find(|file| sources.contains(file))
}

//! One record: a JSON file, or why there is none, and of which RTL text it is.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use maud::{Markup, html};
use serde::de::DeserializeOwned;

/// Longest record that is read; the longest there is has a third of a megabyte.
const LONGEST: u64 = 64 << 20;

/// Why a record has no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// There is no such file.
    Missing,
    /// It cannot be read, or is of another form.
    Unusable(String),
}

/// Of which RTL text a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// Of the one that this program writes.
    Same(String),
    /// Of another one.
    Older { recorded: String, now: String },
    /// It is of RTL, and does not say of which.
    Unkeyed,
    /// It is of software only.
    None,
}

/// A record.
#[derive(Clone, Debug)]
pub(super) struct Record<T> {
    /// Its path below the root.
    pub name: String,
    /// The command that writes it.
    pub made_by: &'static str,
    /// It need not be there.
    pub optional: bool,
    pub content: Result<T, Lack>,
    pub text: Text,
}

impl<T: DeserializeOwned> Record<T> {
    /// Reads the record `name` below `root`; `check` finds what its form alone does not tell.
    pub(super) fn read(
        root: &Path,
        name: &str,
        made_by: &'static str,
        check: impl FnOnce(&T) -> Result<(), String>,
    ) -> Self {
        let content = content(&root.join(name)).and_then(|text| {
            let parsed = serde_json::from_str(&text);
            let content: T = parsed.map_err(|error| Lack::Unusable(error.to_string()))?;
            check(&content).map_err(Lack::Unusable)?;
            Ok(content)
        });
        Self {
            name: name.into(),
            made_by,
            optional: false,
            content,
            text: Text::None,
        }
    }
}

impl<T> Record<T> {
    /// The record, which need not be there.
    pub(super) fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }

    /// The record, of `text` if it has content.
    pub(super) fn of(self, text: Text) -> Self {
        Self { text, ..self }
    }

    /// The content, if there is one.
    pub(super) fn get(&self) -> Option<&T> {
        self.content.as_ref().ok()
    }

    /// What keeps the page from its figures, in a line.
    pub(super) fn complaint(&self) -> Option<String> {
        let (name, made_by) = (&self.name, self.made_by);
        match &self.content {
            Ok(_) => None,
            Err(Lack::Missing) if self.optional => None,
            Err(Lack::Missing) => Some(format!("{name}: missing; {made_by} writes it")),
            Err(Lack::Unusable(reason)) => Some(format!(
                "{name}: unusable: {reason}; {made_by} writes it anew"
            )),
        }
    }

    /// The figures, by `show`, with what has to be said of the record in front of them.
    pub(super) fn show(&self, show: impl FnOnce(&T) -> Markup) -> Markup {
        let name = html! { code { (self.name) } };
        match &self.content {
            Err(Lack::Missing) => html! {
                p.lack[!self.optional].source[self.optional] {
                    (name) @if self.optional { " is not recorded yet. " } @else { " is missing. " }
                    code { (self.made_by) } " writes it."
                }
            },
            Err(Lack::Unusable(reason)) => html! {
                p.lack { (name) " is unusable: " (reason) ". " code { (self.made_by) } " writes it anew." }
            },
            Ok(content) => html! {
                (show(content))
                p.source {
                    "From " (name) ", written by " code { (self.made_by) } "."
                    @match &self.text {
                        Text::Same(key) => { " Of the RTL text of this program, " code { (key) } "." }
                        Text::Older { recorded, now } => {
                            strong.old {
                                " Of another RTL text, " code { (recorded) } ": this program writes "
                                code { (now) } "."
                            }
                        }
                        Text::Unkeyed => { strong.old { " It does not say of which RTL text it is." } }
                        Text::None => {}
                    }
                }
            },
        }
    }
}

fn content(path: &Path) -> Result<String, Lack> {
    let unusable = |error: std::io::Error| Lack::Unusable(error.to_string());
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Lack::Missing),
        Err(error) => return Err(unusable(error)),
        // a pipe would block
        Ok(found) if !found.is_file() => return Err(Lack::Unusable("not a file".into())),
        Ok(_) => {}
    }
    let file = File::open(path).map_err(unusable)?;
    let mut text = String::new();
    file.take(LONGEST + 1)
        .read_to_string(&mut text)
        .map_err(unusable)?;
    match text.len() as u64 > LONGEST {
        true => Err(Lack::Unusable(format!("longer than {LONGEST} octets"))),
        false => Ok(text),
    }
}

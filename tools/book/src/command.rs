//! What documents tell a reader to type: `make …`, `cargo …`, `warpline …`.
//!
//! Whole commands stand in fences of kind `sh` and behind `$ ` in others; parts of commands stand as code in prose. Words in
//! capitals are the reader's to replace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::markdown::Parts;

/// Command and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Number of its line, from 1 on.
    pub line: usize,
    /// The program and what follows, as a shell splits it.
    pub words: Vec<String>,
    /// It is meant to be typed as it is.
    pub is_whole: bool,
}

/// All commands in a document.
pub fn commands(text: &str) -> Vec<Command> {
    let parts = Parts::of(text);
    let mut found = vec![];
    for fence in &parts.fences {
        let mut lines = fence.text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let typed = line.trim_start().strip_prefix("$ ");
            let Some(line) = typed.or((fence.kind == "sh").then_some(line)) else {
                continue;
            };
            let mut line = line.to_owned();
            while line.ends_with('\\') {
                line.pop();
                line += lines.next().map_or("", |(_, next)| next);
            }
            simple(&line, fence.line + number, true, &mut found);
        }
    }
    for code in &parts.codes {
        simple(code.text, code.line, false, &mut found);
    }
    found
}

/// Appends the commands of a line of shell.
fn simple(line: &str, number: usize, is_whole: bool, found: &mut Vec<Command>) {
    for words in split(line) {
        let skipped = words.iter().take_while(|word| is_assignment(word)).count();
        let words: Vec<_> = words[skipped..].to_vec();
        let is_ours = matches!(
            words.first().map(String::as_str),
            Some("make" | "cargo" | "warpline")
        );
        if is_ours && words.len() > 1 {
            found.push(Command {
                line: number,
                words,
                is_whole,
            });
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
    })
}

/// The commands of a line, split at `&&`, `|`, `;` and `&`; without comment and redirections.
fn split(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![vec![]];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut skip = false; // the word behind a redirection
    for c in line.chars() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '\t') => end(&mut word, &mut skip, &mut commands),
            (None, ';' | '|' | '&') => {
                end(&mut word, &mut skip, &mut commands);
                commands.push(vec![]);
            }
            (None, '<' | '>') => {
                end(&mut word, &mut skip, &mut commands);
                skip = true;
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    end(&mut word, &mut skip, &mut commands);
    commands
}

fn end(word: &mut Option<String>, skip: &mut bool, commands: &mut [Vec<String>]) {
    if let Some(word) = word.take()
        && !std::mem::take(skip)
        && let Some(last) = commands.last_mut()
    {
        last.push(word);
    }
}

/// A word that the reader replaces: capitals, or dots.
pub fn is_placeholder(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
        || word.contains('…')
        || word.contains("...")
}

/// The words for `warpline` itself, if the command runs it.
pub fn of_warpline(words: &[String]) -> Option<&[String]> {
    match words.first()?.as_str() {
        "warpline" => Some(&words[1..]),
        "cargo" => {
            let (cargo, ours) = words.split_at(words.iter().position(|word| word == "--")?);
            let package = option(cargo, &["-p", "--package"])?;
            let runs_other = option(cargo, &["--example", "--bin", "--test"]).is_some();
            (package == "warpline" && cargo[1] == "run" && !runs_other).then(|| &ours[1..])
        }
        _ => None,
    }
}

/// Word behind one of `names`.
fn option<'w>(words: &'w [String], names: &[&str]) -> Option<&'w str> {
    let at = words
        .iter()
        .position(|word| names.contains(&word.as_str()))?;
    words.get(at + 1).map(String::as_str)
}

/// What `make` and `cargo` know in the repository.
#[derive(Clone, Debug, Default)]
pub struct Known {
    targets: BTreeSet<String>,
    variables: BTreeSet<String>,
    /// Tests and examples of each package.
    packages: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>,
}

impl Known {
    /// Reads the Makefile and the packages of the workspace at `root`.
    pub fn read(root: &Path) -> Self {
        let mut known = Self::default();
        known.makefile(&fs::read_to_string(root.join("Makefile")).unwrap_or_default());
        let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
        let members = workspace
            .lines()
            .find_map(|line| line.strip_prefix("members = ["))
            .unwrap_or_default();
        for member in members.split('"').skip(1).step_by(2) {
            known.package(&root.join(member));
        }
        known
    }

    fn makefile(&mut self, text: &str) {
        for line in text.lines() {
            let end = line.find([':', '=', '?', ' ']).unwrap_or(0);
            let (name, rest) = line.split_at(end);
            if name.is_empty() || name.starts_with(['#', '\t', '.']) {
                continue;
            }
            let rest = rest.trim_start();
            if rest.starts_with(":=") || rest.starts_with("?=") || rest.starts_with('=') {
                self.variables.insert(name.into());
            } else if rest.starts_with(':') {
                self.targets.insert(name.into());
            }
        }
        // Variables that only a recipe names.
        for (at, _) in text.match_indices("$(") {
            let name: String = text[at + 2..]
                .chars()
                .take_while(|c| c.is_ascii_uppercase())
                .collect();
            self.variables.insert(name);
        }
    }

    fn package(&mut self, folder: &Path) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let mut section = "";
        let (mut package, mut tests, mut examples) =
            (None, files(folder, "tests"), files(folder, "examples"));
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let name = line
                .strip_prefix("name = \"")
                .and_then(|name| name.strip_suffix('"'));
            match (section, name) {
                ("[package]", Some(name)) => package = Some(name.to_owned()),
                ("[[test]]", Some(name)) => _ = tests.insert(name.into()),
                ("[[example]]", Some(name)) => _ = examples.insert(name.into()),
                _ => {}
            }
        }
        if let Some(package) = package {
            self.packages.insert(package, (tests, examples));
        }
    }

    /// What is wrong with a command of `make` or `cargo`.
    ///
    /// # Errors
    /// With a target, variable, package, test or example that does not exist.
    pub fn check(&self, words: &[String]) -> Result<(), String> {
        match words[0].as_str() {
            "make" => words[1..].iter().try_for_each(|word| self.make(word)),
            "cargo" => {
                let end = words
                    .iter()
                    .position(|word| word == "--")
                    .unwrap_or(words.len());
                self.cargo(&words[..end])
            }
            _ => Ok(()),
        }
    }

    fn make(&self, word: &str) -> Result<(), String> {
        match word.split_once('=') {
            Some((name, _)) if self.variables.contains(name) => Ok(()),
            Some((name, _)) => Err(format!("the Makefile has no variable {name}")),
            None if self.targets.contains(word) || is_placeholder(word) => Ok(()),
            None => Err(format!("the Makefile has no target {word}")),
        }
    }

    fn cargo(&self, words: &[String]) -> Result<(), String> {
        let Some(package) = option(words, &["-p", "--package"]) else {
            return Ok(());
        };
        if is_placeholder(package) {
            return Ok(());
        }
        let Some((tests, examples)) = self.packages.get(package) else {
            return Err(format!("the workspace has no package {package}"));
        };
        for pair in words.windows(2) {
            let (kind, known) = match pair[0].as_str() {
                "--test" => ("test", tests),
                "--example" => ("example", examples),
                _ => continue,
            };
            if !known.contains(&pair[1]) && !is_placeholder(&pair[1]) {
                return Err(format!("{package} has no {kind} {}", pair[1]));
            }
        }
        Ok(())
    }
}

/// Names of the programs in a folder of a package: `x.rs`, `x/main.rs`.
fn files(package: &Path, folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(package.join(folder)).into_iter().flatten();
    let names = entries.flatten().filter_map(|entry| {
        let path = entry.path();
        let is_file = path.extension().is_some_and(|kind| kind == "rs");
        let is_program = is_file || path.join("main.rs").is_file();
        is_program.then(|| {
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        })?
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_document() {
        let text = "Run `make demo`, not `make`.\n```sh\n\
            A=1 cargo run -p warpline -- explain - --markers < x.bin && make long WIDTH=64 \\\n  COUNT=2   # all\n\
            xxd a | warpline put 'a b' & ls\n```\n```text\n$ warpline doctor\nwarpline no\n```\n";
        let found: Vec<_> = commands(text)
            .into_iter()
            .map(|c| (c.line, c.is_whole, c.words.join("|")))
            .collect();
        let expected = [
            (3, true, "cargo|run|-p|warpline|--|explain|-|--markers"),
            (3, true, "make|long|WIDTH=64|COUNT=2"),
            (5, true, "warpline|put|a b"),
            (8, true, "warpline|doctor"),
            (1, false, "make|demo"),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(a, b, c)| (*a, *b, c.to_string()))
            .collect();
        assert_eq!(found, expected);
        let words: Vec<String> = found[0].2.split('|').map(Into::into).collect();
        assert_eq!(of_warpline(&words).unwrap(), ["explain", "-", "--markers"]);
    }
}

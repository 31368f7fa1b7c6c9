//! Code that documents quote from programs that are compiled and run.
//!
//! A line `<!-- excerpt: ../sim/tests/book/main.rs#open -->` stands in front of a fence; its text is what the file, named from the
//! document on, has between `// ANCHOR: open` and `// ANCHOR_END: open`.

use std::fs;
use std::path::Path;

use crate::tree::{Complaint, joined, split};

/// `text`, the document at `file`, with its quotations as the programs below `root` have them now.
pub fn renewed(root: &Path, file: &Path, text: &str, complaints: &mut Vec<Complaint>) -> String {
    let mut out = String::new();
    let mut lines = text.split_inclusive('\n').enumerate();
    while let Some((number, line)) = lines.next() {
        out += line;
        let Some(named) = line.trim_end().strip_prefix("<!-- excerpt: ") else {
            continue;
        };
        let mut complain = |what: String| complaints.push(Complaint::new(file, number + 1, what));
        let Some(target) = named.strip_suffix(" -->") else {
            complain("an excerpt without an end".into());
            continue;
        };
        let Some((_, fence)) = lines.next() else {
            complain(format!("no fence behind the excerpt {target}"));
            continue;
        };
        out += fence;
        if !fence.starts_with("```") {
            complain(format!("no fence behind the excerpt {target}"));
            continue;
        }
        let mut old = String::new();
        let mut end = None;
        for (_, line) in lines.by_ref() {
            if line.starts_with("```") {
                end = Some(line);
                break;
            }
            old += line;
        }
        let (path, name) = split(target);
        let source = joined(file, path).and_then(|path| fs::read_to_string(root.join(path)).ok());
        match source.as_deref().and_then(|source| region(source, name)) {
            Some(new) => out += &new,
            None => {
                complain(format!("there is no {target}"));
                out += &old;
            }
        }
        out += end.unwrap_or_default();
    }
    out
}

/// What stands between the marks of `name`.
fn region(source: &str, name: &str) -> Option<String> {
    let (begin, end) = (
        format!("// ANCHOR: {name}"),
        format!("// ANCHOR_END: {name}"),
    );
    let lines: Vec<_> = source.split_inclusive('\n').collect();
    let first = lines.iter().position(|line| line.trim() == begin)?;
    let last = lines.iter().position(|line| line.trim() == end)?;
    Some(lines.get(first + 1..last)?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_renewed() {
        let folder = tempfile::tempdir().unwrap();
        let program = "a\n// ANCHOR: b\nnew\n// ANCHOR_END: b\nc\n";
        fs::write(folder.path().join("p.rs"), program).unwrap();
        let of = |text: &str| {
            let mut complaints = vec![];
            let new = renewed(folder.path(), Path::new("d/a.md"), text, &mut complaints);
            (
                new,
                complaints
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>(),
            )
        };
        let document = |mark: &str, quoted: &str| {
            format!("x\n<!-- excerpt: ../p.rs#{mark} -->\n```rust\n{quoted}```\ny\n")
        };
        assert_eq!(
            of(&document("b", "old\n")),
            (document("b", "new\n"), vec![])
        );
        let lost = vec!["d/a.md:2: there is no ../p.rs#c".to_owned()];
        assert_eq!(of(&document("c", "old\n")), (document("c", "old\n"), lost));
        let bare = "<!-- excerpt: ../p.rs#b -->\nold\n";
        let complaint = vec!["d/a.md:1: no fence behind the excerpt ../p.rs#b".to_owned()];
        assert_eq!(of(bare), (bare.to_owned(), complaint));
    }
}

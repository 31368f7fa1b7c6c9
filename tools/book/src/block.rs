//! The page of a block, made of its file: the head with its drawing, latency and throughput, then constants and ports.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{
    Attribute, Expr, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Type, Visibility,
};

/// Finds what a name in a head means: the text for it.
pub type Resolve<'r> = &'r dyn Fn(&Name<'_>) -> Option<String>;

/// A name in brackets in the head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'t> {
    /// What the text calls it: `LATENCY`.
    pub words: &'t str,
    /// Its path, as Rust writes it; the words themselves if there is no other.
    pub path: &'t str,
}

/// Modules that a file declares, in its order.
pub fn children(text: &str) -> Vec<String> {
    let declared = text.lines().filter_map(|line| {
        let name = line.strip_prefix("pub mod ")?.strip_suffix(';')?;
        Some(name.to_owned())
    });
    let mut declared: Vec<_> = declared.collect();
    // A private module is one that the file explains by itself.
    declared.extend(text.lines().filter_map(|line| {
        let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
        Some(name.to_owned())
    }));
    declared
}

/// The head of a file: its module documentation.
pub fn head(text: &str) -> String {
    let mut head = String::new();
    for line in text.lines() {
        let Some(line) = line.strip_prefix("//!") else {
            break;
        };
        head += line.strip_prefix(' ').unwrap_or(line);
        head.push('\n');
    }
    head
}

/// The value of a public constant that is a number.
pub fn constant(text: &str, name: &str) -> Option<String> {
    let start = format!("pub const {name}: ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start))?;
    let value = line.split_once(" = ")?.1.strip_suffix(';')?;
    let is_number = value.starts_with(|c: char| c.is_ascii_digit())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_number.then(|| value.to_owned())
}

/// The page of the file at `source`, whose name heads it. `shown` is the file to link.
pub fn page(
    source: &Path,
    text: &str,
    shown: &Path,
    resolve: Resolve<'_>,
) -> Result<String, syn::Error> {
    let file = syn::parse_file(text)?;
    let mut page = format!("# {}\n\n", title(source));
    page += &linked(&head(text), resolve);
    constants(&file.items, resolve, &mut page);
    counted(text, &mut page);
    for item in &file.items {
        if let Item::Struct(block) = item
            && has_ports(&block.attrs)
        {
            let doc = linked(&doc(&block.attrs), resolve);
            ports(
                &block.ident.to_string(),
                &doc,
                &block.fields,
                resolve,
                &mut page,
            );
        }
    }
    let name = shown.file_name().unwrap_or_default().to_string_lossy();
    let _ = writeln!(
        page,
        "\nMade of the head, the public constants and the ports of [`{}`]({name}).",
        source.display()
    );
    Ok(page)
}

/// A file is called by its name, the root of a folder by the folder's path below the sources.
fn title(source: &Path) -> String {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    match &*stem {
        "mod" | "lib" => {
            let folder: PathBuf = source
                .parent()
                .unwrap_or(source)
                .components()
                .skip(2)
                .collect();
            match folder.as_os_str().is_empty() {
                true => "The RTL".into(),
                false => folder.display().to_string(),
            }
        }
        stem => stem.into(),
    }
}

/// Names in brackets become what `resolve` says of them, or code.
fn linked(text: &str, resolve: Resolve<'_>) -> String {
    let mut out = String::new();
    let mut in_fence = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            out += line;
            continue;
        }
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("[`") {
            out += before;
            let Some((words, after)) = after.split_once("`]") else {
                out += "[`";
                rest = after;
                continue;
            };
            let target = after
                .strip_prefix('(')
                .and_then(|target| target.split_once(')'));
            let (path, after) = target.unwrap_or((words, after));
            let name = Name { words, path };
            out += &resolve(&name).unwrap_or_else(|| format!("`{words}`"));
            rest = after;
        }
        out += rest;
    }
    out
}

fn doc(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let Meta::NameValue(value) = &attribute.meta
            && value.path.is_ident("doc")
            && let Expr::Lit(literal) = &value.value
            && let Lit::Str(line) = &literal.lit
        {
            text += line.value().trim();
            text.push('\n');
        }
    }
    text
}

/// For a cell of a table: one line, without bars that are not escaped, up to the first blank line.
fn cell(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default();
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('|', "\\|")
}

/// A block, or a bundle of ports.
fn has_ports(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else {
            return false;
        };
        let tokens = list.tokens.to_string();
        list.path.is_ident("derive")
            && tokens
                .split(|c: char| !c.is_alphanumeric())
                .any(|name| ["Block", "LogicBlock", "LogicInterface"].contains(&name))
    })
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Tokens as rustfmt would join them.
fn tidy(tokens: impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (from, to) in [
        (" < ", "<"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        (" ;", ";"),
        (" :: ", "::"),
        ("& ", "&"),
        ("[ ", "["),
        (" ]", "]"),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
    ] {
        text = text.replace(from, to);
    }
    text
}

fn constants(items: &[Item], resolve: Resolve<'_>, page: &mut String) {
    let mut rows = String::new();
    for item in items {
        if let Item::Const(constant) = item
            && is_public(&constant.vis)
        {
            let value = tidy(&constant.expr);
            let value = if value.len() > 60 {
                "in the file".into()
            } else {
                format!("`{value}`")
            };
            let _ = writeln!(
                rows,
                "| `{}` | {} | {} |",
                constant.ident,
                value.replace('|', "\\|"),
                cell(&linked(&doc(&constant.attrs), resolve))
            );
        }
    }
    if !rows.is_empty() {
        *page += "\n## Constants\n\n| name | value | what |\n|---|---|---|\n";
        *page += &rows;
    }
}

/// Functions of a constant's kind: cycles by width. Their text is short enough to be shown.
fn counted(text: &str, page: &mut String) {
    let mut shown = String::new();
    let mut doc = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("///") {
            doc += line;
            doc.push('\n');
        } else if line.starts_with("pub const fn ") {
            shown += &doc;
            shown += line;
            shown.push('\n');
            for line in lines.by_ref() {
                shown += line;
                shown.push('\n');
                if line == "}" {
                    break;
                }
            }
            doc.clear();
        } else if !line.starts_with("#[") {
            doc.clear();
        }
    }
    if !shown.is_empty() {
        *page += "\n## Counted\n\n```rust,ignore\n";
        *page += &shown;
        *page += "```\n";
    }
}

fn ports(name: &str, doc: &str, fields: &Fields, resolve: Resolve<'_>, page: &mut String) {
    let mut rows = String::new();
    for field in fields {
        let (true, Some(ident)) = (is_public(&field.vis), &field.ident) else {
            continue;
        };
        let (direction, kind) = signal(&field.ty);
        let _ = writeln!(
            rows,
            "| `{ident}` | {direction} | `{}` | {} |",
            kind.replace('|', "\\|"),
            cell(&linked(&self::doc(&field.attrs), resolve))
        );
    }
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n## Ports of `{name}`\n\n{}", doc.trim_end());
    *page += "\n| port | direction | type | what |\n|---|---|---|---|\n";
    *page += &rows;
}

/// Direction and type of a port; of a bundle no direction.
fn signal(kind: &Type) -> (&'static str, String) {
    match kind {
        Type::Array(array) => {
            let (direction, inner) = signal(&array.elem);
            (direction, format!("[{inner}; {}]", tidy(&array.len)))
        }
        Type::Path(path) => {
            let last = path.path.segments.last();
            if let Some(last) = last
                && last.ident == "Signal"
                && let PathArguments::AngleBracketed(arguments) = &last.arguments
                && let [
                    GenericArgument::Type(direction),
                    GenericArgument::Type(inner),
                ] = &arguments.args.iter().collect::<Vec<_>>()[..]
            {
                let direction = match tidy(direction).as_str() {
                    "In" => "in",
                    "Out" => "out",
                    _ => "both",
                };
                return (direction, tidy(inner));
            }
            ("bundle", tidy(kind))
        }
        _ => ("bundle", tidy(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "//! Turn: turns.\n//!\n//! ```text\n//!  a ─► [`b`]\n//! ```\n//!\n\
        //! Latency: [`LATENCY`] cycles, of [`other`](crate::other) more.\n\n\
        pub mod inner;\n\
        /// Cycles.\npub const LATENCY: usize = 5;\n\
        /// By width | bits.\npub const fn cycles(bits: usize) -> usize {\n    bits / 8\n}\n\
        /// Turns S.\n#[derive(Block)]\npub struct Turn<const S: usize> {\n\
        /// Clock.\npub clock: Signal<In, Clock>,\n\
        /// Rows | all.\npub rows: [Signal<Out, Bits<32>>; S],\n\
        hidden: Dff<Bit>,\n}\n";

    #[test]
    fn a_page_has_head_constants_and_ports() {
        let resolve = |name: &Name<'_>| match name.path {
            "LATENCY" => Some(format!("`LATENCY` ({})", constant(FILE, "LATENCY")?)),
            _ => None,
        };
        let page = page(
            Path::new("hdl/src/turn.rs"),
            FILE,
            Path::new("turn.rs.txt"),
            &resolve,
        );
        let expected = "# turn\n\nTurn: turns.\n\n```text\n a ─► [`b`]\n```\n\n\
            Latency: `LATENCY` (5) cycles, of `other` more.\n\
            \n## Constants\n\n| name | value | what |\n|---|---|---|\n| `LATENCY` | `5` | Cycles. |\n\
            \n## Counted\n\n```rust,ignore\n/// By width | bits.\npub const fn cycles(bits: usize) -> usize {\n    bits / 8\n}\n```\n\
            \n## Ports of `Turn`\n\nTurns S.\n\n| port | direction | type | what |\n|---|---|---|---|\n\
            | `clock` | in | `Clock` | Clock. |\n| `rows` | out | `[Bits<32>; S]` | Rows \\| all. |\n\
            \nMade of the head, the public constants and the ports of [`hdl/src/turn.rs`](turn.rs.txt).\n";
        assert_eq!(page.unwrap(), expected);
        assert_eq!(children(FILE), ["inner"]);
    }
}

//! No two files of a crate import each other, directly or in a circle.
//!
//! Read by `syn`: `use`, paths in code, and paths in the tokens of macros. `#[cfg(test)]` does not count.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree, Visibility};
use warpline_testbenches::import_circles::{Module, circles, imports};

/// The text of a file, if there is one.
type ReadFile<'r> = &'r dyn Fn(&Path) -> Option<String>;

/// All modules of the crate whose root is `root`.
fn modules(root: &Path, read: ReadFile<'_>) -> Vec<Module> {
    let mut modules = Vec::new();
    let text = read(root).unwrap_or_else(|| panic!("{}: no such file", root.display()));
    let folder = root.parent().expect("a file has a folder");
    parse(root, folder, Vec::new(), &text, read, &mut modules);
    modules
}

fn parse(
    file: &Path,
    folder: &Path,
    path: Vec<String>,
    text: &str,
    read: ReadFile<'_>,
    modules: &mut Vec<Module>,
) {
    let syntax = syn::parse_file(text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    module(file, folder, path, &syntax.items, read, modules);
}

/// Reads a module; files of its children lie in `folder`.
fn module(
    file: &Path,
    folder: &Path,
    path: Vec<String>,
    items: &[Item],
    read: ReadFile<'_>,
    modules: &mut Vec<Module>,
) {
    let mut scope = Scope(Module {
        path: path.clone(),
        file: file.display().to_string(),
        ..Module::default()
    });
    for item in items {
        let Item::Mod(child) = item else {
            scope.visit_item(item);
            continue;
        };
        if child.attrs.iter().any(is_test_only) {
            continue;
        }
        let name = child.ident.to_string();
        let folder = folder.join(&name);
        let path = path.iter().cloned().chain([name.clone()]).collect();
        if let Some((_, items)) = &child.content {
            module(file, &folder, path, items, read, modules);
            continue;
        }
        let beside = folder.with_extension("rs");
        let candidates = [beside.clone(), folder.join("mod.rs")];
        let found = candidates.iter().find_map(|at| Some((at, read(at)?)));
        let (at, text) = found.unwrap_or_else(|| panic!("{}: no such file", beside.display()));
        parse(at, &folder, path, &text, read, modules);
    }
    modules.push(scope.0);
}

/// `#[cfg(test)]`, or a condition that `test` is part of.
fn is_test_only(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    let words = words(list.tokens.clone());
    list.path.is_ident("cfg") && words.contains(&"test".into()) && !words.contains(&"not".into())
}

fn words(tokens: TokenStream) -> Vec<String> {
    let words = tokens.into_iter().flat_map(|token| match token {
        TokenTree::Group(group) => words(group.stream()),
        token => vec![token.to_string()],
    });
    words.collect()
}

struct Scope(Module);

impl Scope {
    fn take_use(&mut self, tree: &UseTree, before: &[String], is_private: bool) {
        let then = |name: &syn::Ident| -> Vec<String> {
            before.iter().cloned().chain([name.to_string()]).collect()
        };
        let (name, path) = match tree {
            UseTree::Path(path) => {
                return self.take_use(&path.tree, &then(&path.ident), is_private);
            }
            UseTree::Group(group) => {
                let each = group.items.iter();
                return each.for_each(|tree| self.take_use(tree, before, is_private));
            }
            UseTree::Glob(_) => {
                self.0.globs.push(before.to_vec());
                if is_private {
                    self.mention(before.iter().cloned().chain(["*".into()]).collect());
                }
                return;
            }
            UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned(), before.to_vec())
            }
            UseTree::Name(name) => (Some(name.ident.to_string()), then(&name.ident)),
            UseTree::Rename(new) if new.ident == "self" => {
                (Some(new.rename.to_string()), before.to_vec())
            }
            UseTree::Rename(new) => (Some(new.rename.to_string()), then(&new.ident)),
        };
        self.0
            .bindings
            .extend(name.map(|name| (name, path.clone())));
        if is_private {
            self.mention(path);
        }
    }

    fn mention(&mut self, path: Vec<String>) {
        self.0.mentions.insert(path);
    }

    /// Paths in the tokens of a macro, `depth` modules below this one.
    fn take_tokens(&mut self, tokens: TokenStream, depth: usize) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let is = |at: usize, text: &str| tokens.get(at).is_some_and(|t| t.to_string() == text);
        let joined = |at: usize| is(at, ":") && is(at + 1, ":");
        let (mut at, mut in_use, mut opens_module) = (0, false, false);
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => {
                    let inner = opens_module && group.delimiter() == Delimiter::Brace;
                    self.take_tokens(group.stream(), depth + usize::from(inner));
                    opens_module = false;
                    at += 1;
                }
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "use" => (at, in_use) = (at + 1, true),
                    "mod" => (at, opens_module) = (at + 1, true),
                    // `::name` is another crate, `.name` a member
                    _ if at > 0 && (is(at - 1, ":") || is(at - 1, ".")) => at += 1,
                    _ => {
                        let mut path = vec![word.to_string()];
                        at += 1;
                        while joined(at)
                            && let Some(TokenTree::Ident(word)) = tokens.get(at + 2)
                        {
                            path.push(word.to_string());
                            at += 3;
                        }
                        let group = match tokens.get(at + 2) {
                            Some(TokenTree::Group(group)) if joined(at) => Some(group.stream()),
                            _ => None,
                        };
                        // What comes behind `::$name` is not known, nor what is done with a module that is used.
                        let all = in_use || joined(at);
                        let outside = path.iter().take(depth).filter(|w| *w == "super").count();
                        if outside > 0 {
                            path.splice(..outside, ["self".into()]);
                        }
                        let is_value = path.len() == 1
                            && !path[0].starts_with(char::is_uppercase)
                            && !matches!(tokens.get(at), Some(TokenTree::Group(_)));
                        match group {
                            Some(group) => {
                                self.take_group(&path, group);
                                at += 3;
                            }
                            None if all => {
                                self.mention(path.into_iter().chain(["*".into()]).collect());
                            }
                            None if is_value => {}
                            None => self.mention(path),
                        }
                    }
                },
                TokenTree::Punct(mark) => {
                    in_use &= mark.as_char() != ';';
                    at += 1;
                }
                TokenTree::Literal(_) => at += 1,
            }
        }
    }

    /// `before::{…}` in a macro.
    fn take_group(&mut self, before: &[String], group: TokenStream) {
        let text = format!("use {}::{{{group}}};", before.join("::"));
        match syn::parse_str::<syn::ItemUse>(&text) {
            Ok(item) => {
                let mut inner = Self(Module::default());
                inner.take_use(&item.tree, &[], true);
                let paths = inner.0.mentions.into_iter();
                paths.for_each(|path| self.mention(path.into_iter().chain(["*".into()]).collect()));
            }
            // Names of the macro's own: any of the module.
            Err(_) => self.mention(before.iter().cloned().chain(["*".into()]).collect()),
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Scope {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_test_only) {
            return;
        }
        let name = match item {
            Item::Const(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Fn(item) => Some(&item.sig.ident),
            Item::Macro(item) => item.ident.as_ref(),
            Item::Static(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.0.items.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_test_only) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.take_use(&item.tree, &[], matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string());
            self.mention(names.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        self.take_tokens(item.tokens.clone(), 0);
    }

    // `pub(super)` and `#[…]` name no item.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// The circles in a crate, each as a line.
fn found(root: &Path, read: ReadFile<'_>) -> Vec<String> {
    let circles = circles(&imports(&modules(root, read)));
    circles.iter().map(ToString::to_string).collect()
}

fn found_in(files: &[(&str, &str)]) -> Vec<String> {
    let files: BTreeMap<_, _> = files
        .iter()
        .map(|&(at, text)| (PathBuf::from(at), text))
        .collect();
    found(Path::new("lib.rs"), &|at| {
        files.get(at).map(|&text| text.into())
    })
}

/// Roots of the libraries and programs of the workspace.
fn roots() -> Vec<PathBuf> {
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs this test");
    let text = String::from_utf8_lossy(&metadata.stderr);
    assert!(metadata.status.success(), "{text}");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let targets = metadata["packages"].as_array().expect("packages").iter();
    let targets = targets.flat_map(|package| package["targets"].as_array().expect("targets"));
    let sources = targets.filter(|target| {
        target["kind"] == serde_json::json!(["lib"]) || target["kind"] == serde_json::json!(["bin"])
    });
    sources
        .map(|target| target["src_path"].as_str().expect("a path").into())
        .collect()
}

#[test]
fn no_crate_has_a_circle() {
    let roots = roots();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    assert!(
        roots.contains(&workspace.join("wire/src/lib.rs")),
        "{roots:?}"
    );
    let circles = roots
        .iter()
        .flat_map(|root| found(root, &|at| fs::read_to_string(at).ok()));
    let folder = format!("{}/", workspace.display());
    let circles: Vec<_> = circles.map(|circle| circle.replace(&folder, "")).collect();
    assert!(
        circles.is_empty(),
        "files import each other:\n{}",
        circles.join("\n")
    );
}

#[test]
fn a_planted_circle_is_named() {
    let of = |a: &str, b: &str| found_in(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b)]);
    assert_eq!(
        of(
            "use crate::b::B; pub struct A;",
            "use super::a::A; pub struct B;"
        ),
        ["a.rs (crate::b::B) → b.rs (super::a::A) → a.rs"]
    );
    // A path in code, in a signature, in a macro call, in a macro; a module that is used; all of a module.
    for import in [
        "fn f() { crate::b::B; }",
        "fn f(_: &[crate::b::B]) {}",
        "fn f() { vec![1, crate::b::B.n()]; }",
        "macro_rules! m { ($n:ident) => { mod $n { use crate::{b::B, b}; } } }",
        "macro_rules! m { ($n:ident) => { $crate::b::$n } }",
        "use crate::b; fn f() { b::f(); }",
        "use crate::b as other; fn f() { other::B; }",
        "use crate::{b::{self, B as C}};",
        "use crate::b::*;",
        "mod inner { use super::super::b::B; }",
        "fn f() { use crate::b::B; }",
    ] {
        assert_eq!(of(import, "use crate::a::A;").len(), 1, "{import}");
        assert!(of(import, "pub struct B;").is_empty(), "{import}");
    }
}

#[test]
fn what_is_no_import_makes_no_circle() {
    for (a, b) in [
        (
            "#[cfg(test)] mod tests { use crate::b::B; }",
            "use crate::a::A;",
        ),
        (
            "#[cfg(all(test, unix))] use crate::b::B;",
            "use crate::a::A;",
        ),
        ("pub(super) struct A;", "use crate::a::A;"),
        (
            "/// See [`crate::b::B`].\npub struct A;",
            "use crate::a::A;",
        ),
        ("use b::B; use ::b::C;", "use crate::a::A;"), // of another crate
        (
            "use self::b::B; mod b { pub struct B; }",
            "use crate::a::A;",
        ),
    ] {
        let files = [("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b)];
        assert_eq!(found_in(&files), [""; 0], "{a}");
    }
    let sees_a_test = "#[cfg(not(test))] use crate::b::B;";
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", sees_a_test),
        ("b.rs", "use crate::a::A;"),
    ];
    assert_eq!(found_in(&files).len(), 1);
}

#[test]
fn parents_are_files_as_others_are() {
    let of = |parent: &str, child: &str| {
        let other = "pub struct Other;";
        found_in(&[
            ("lib.rs", "pub mod parent; pub use parent::Item;"),
            ("parent/mod.rs", parent),
            ("parent/child.rs", child),
            ("parent/other.rs", other),
        ])
    };
    let declared = "mod child; mod other; ";
    // An item of the parent's file, though it is taken from where it is re-exported.
    for import in [
        "use super::Item;",
        "use crate::Item;",
        "use crate::parent::Item;",
    ] {
        let uses = format!("{declared} pub struct Item; fn f() {{ child::f(); }}");
        assert_eq!(of(&uses, import).len(), 1, "{import}");
        // The parent only declares the child and shows what it has.
        let shows = format!("{declared} pub use child::f; pub struct Item;");
        assert!(of(&shows, import).is_empty(), "{import}");
        // The parent uses in its own code what it re-exports.
        let both = format!("{declared} pub use child::F; pub struct Item; fn f(_: F) {{}}");
        assert_eq!(of(&both, import).len(), 1, "{import}");
        // The parent re-exports what another child defines.
        let other = format!("{declared} pub use other::Other as Item; use child::F;");
        assert!(of(&other, import).is_empty(), "{import}");
        let all = format!("{declared} pub use other::*; use child::F;");
        let import = import.replace("Item", "Other");
        assert!(
            of(
                &all,
                &import.replace("crate::Other", "crate::parent::Other")
            )
            .is_empty()
        );
    }
    assert_eq!(of(declared, ""), [""; 0]);
}

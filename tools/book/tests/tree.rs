//! The documents of the repository: links lead somewhere, commands exist, and the book has them. Each check is shown to find
//! a planted fault.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{ImplItem, Item, ItemImpl, Signature, Type, Visibility};
use tempfile::TempDir;
use warpline_book::command::{Known, commands, of_warpline};
use warpline_book::excerpt;
use warpline_book::markdown::Parts;
use warpline_book::site;
use warpline_book::text::Text;
use warpline_book::tree::{Complaint, Tree, joined, split};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Commands of `make` and `cargo` that do not exist.
fn unknown_commands(tree: &Tree) -> Vec<Complaint> {
    let known = Known::read(tree.root());
    let mut complaints = vec![];
    for (file, text) in tree.documents() {
        for command in commands(text) {
            if let Err(what) = known.check(&command.words) {
                complaints.push(Complaint::new(file, command.line, what));
            }
        }
    }
    complaints
}

#[track_caller]
fn none(complaints: &[Complaint]) {
    let lines: Vec<_> = complaints.iter().map(ToString::to_string).collect();
    assert!(complaints.is_empty(), "\n{}", lines.join("\n"));
}

/// `complaints` are one, with `expected` as its text.
#[track_caller]
fn one(complaints: &[Complaint], expected: &str) {
    let lines: Vec<_> = complaints.iter().map(ToString::to_string).collect();
    assert_eq!(lines, [expected]);
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    none(&Tree::read(&root()).broken_links());
}

#[test]
fn every_command_of_make_and_cargo_exists() {
    none(&unknown_commands(&Tree::read(&root())));
}

/// Lines that a screen shows.
const SCREEN: usize = 40;

/// Which pages for readers the first screen of `text`, at `file`, does not lead to.
fn unreached(file: &Path, text: &str) -> Vec<&'static str> {
    let screen: String = text
        .lines()
        .take(SCREEN)
        .map(|line| line.to_owned() + "\n")
        .collect();
    let links = Parts::of(&screen).links;
    let reached: BTreeSet<_> = links
        .iter()
        .filter_map(|link| joined(file, split(&screen[link.begin..link.end]).0))
        .collect();
    [
        "docs/integration.md",  // FPGA engineers
        "docs/book/driver.md",  // host programmers
        "docs/verification.md", // verification engineers
        "docs/book/quick-start.md",
    ]
    .into_iter()
    .filter(|page| !reached.contains(Path::new(page)))
    .collect()
}

#[test]
fn everybody_finds_their_page_from_the_first_screen() {
    let tree = Tree::read(&root());
    for file in ["README.md", "docs/README.md", "docs/book/README.md"] {
        let file = Path::new(file);
        let text = tree.document(file).unwrap();
        assert_eq!(unreached(file, text), [""; 0], "{}", file.display());
        let below = "\n".repeat(SCREEN) + text;
        assert_eq!(unreached(file, &below).len(), 4, "{}", file.display());
    }
}

#[test]
fn quoted_code_is_that_of_the_programs() {
    let (tree, mut complaints) = (Tree::read(&root()), vec![]);
    for (file, text) in tree.documents() {
        let new = excerpt::renewed(tree.root(), file, text, &mut complaints);
        assert!(
            new == text,
            "{}: an excerpt is old, see make docs",
            file.display()
        );
    }
    none(&complaints);
}

/// Public methods and functions of the driver, as `crate::name(`, by their files.
fn calls_of_the_driver() -> Vec<(PathBuf, String)> {
    let driver = root().join("driver/src");
    let text = fs::read_to_string(driver.join("lib.rs")).unwrap();
    let exported: BTreeSet<_> = text
        .split("pub use ")
        .skip(1)
        .flat_map(|list| {
            list.split(';')
                .next()
                .unwrap()
                .split(|c: char| !c.is_alphanumeric() && c != '_')
        })
        .collect();
    let mut calls = vec![];
    let mut folders = vec![driver];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let file = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
            for item in file.items {
                let names = match item {
                    Item::Fn(function) => public(&function.vis, &function.sig)
                        .into_iter()
                        .filter(|name| exported.contains(name.as_str()))
                        .collect(),
                    Item::Impl(block) if block.trait_.is_none() => match &*block.self_ty {
                        Type::Path(kind)
                            if exported
                                .contains(kind.path.segments[0].ident.to_string().as_str()) =>
                        {
                            methods(&block)
                        }
                        _ => vec![],
                    },
                    _ => vec![],
                };
                calls.extend(names.into_iter().map(|name| (path.clone(), name)));
            }
        }
    }
    calls
}

fn public(visibility: &Visibility, signature: &Signature) -> Option<String> {
    matches!(visibility, Visibility::Public(_)).then(|| signature.ident.to_string())
}

fn methods(block: &ItemImpl) -> Vec<String> {
    let names = block.items.iter().filter_map(|item| match item {
        ImplItem::Fn(function) => public(&function.vis, &function.sig),
        _ => None,
    });
    names.collect()
}

#[test]
fn the_page_about_the_driver_has_every_call() {
    let page = fs::read_to_string(root().join("docs/book/driver.md")).unwrap();
    let calls = calls_of_the_driver();
    assert!(calls.len() > 90, "{calls:?}");
    let missing: Vec<_> = calls
        .iter()
        .filter(|(_, name)| !page.contains(&format!("{name}(")))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_book_has_every_block_and_every_chapter_of_its_list() {
    let text = Text::of(&Tree::read(&root()));
    none(&text.complaints);
    // A head with its drawing, and a number that it cites from another file.
    let page = &text.chapters[Path::new("hdl/src/rx/ddp/check.md")];
    assert!(
        page.contains("```text\n DdpSegment ──────►┌────────┐ key"),
        "{page}"
    );
    assert!(
        page.contains("[`UNDER_WAY`](../mpa/fetch.md) (32)"),
        "{page}"
    );
}

/// A tree with a list of one chapter, `docs/book/a.md`, one block, a Makefile and a package.
fn planted(chapter: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("docs/book/book.toml", "[book]\n"),
        (
            "docs/book/SUMMARY.md",
            "- [A](a.md)\n- [RTL](../../hdl/src)\n",
        ),
        ("docs/book/a.md", chapter),
        ("hdl/src/lib.rs", "//! All.\npub mod turn;\n"),
        (
            "hdl/src/turn.rs",
            "//! Turns.\npub const LATENCY: usize = 5;\n",
        ),
        ("Makefile", "COUNT ?= 1\nall: setup\n\ttrue $(SEED)\n"),
        ("Cargo.toml", "[workspace]\nmembers = [\"hdl\"]\n"),
        (
            "hdl/Cargo.toml",
            "[package]\nname = \"rtl\"\n[[test]]\nname = \"turns\"\n",
        ),
        ("hdl/examples/turn.rs", ""),
    ];
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn planted_links_are_found() {
    let good = planted("# A b\n[a](#a-b) [b](a.md#a-b) [c](../../Makefile) [d](../../hdl)\n");
    none(&Tree::read(good.path()).broken_links());
    none(&Text::of(&Tree::read(good.path())).complaints);
    for (link, complaint) in [
        ("b.md", "docs/book/a.md:2: the link b.md leads nowhere"),
        ("#b", "docs/book/a.md:2: docs/book/a.md has no heading #b"),
        (
            "../../../x",
            "docs/book/a.md:2: the link ../../../x leads nowhere",
        ),
        (
            "../../Makefile#x",
            "docs/book/a.md:2: Makefile has no heading #x",
        ),
    ] {
        let bad = planted(&format!("# A b\nsee [words]({link})\n"));
        one(&Tree::read(bad.path()).broken_links(), complaint);
    }
}

#[test]
fn planted_commands_are_found() {
    let good = planted(
        "`make all COUNT=2 SEED=3`, `make TARGET`, `cargo test -p rtl --test turns`, `cargo test -p rtl --test NAME`\n\
         ```sh\ncargo run -p rtl --example turn -- --test x   # make nothing\n```\n",
    );
    none(&unknown_commands(&Tree::read(good.path())));
    for (command, complaint) in [
        ("make al", "the Makefile has no target al"),
        ("make all COUNTS=2", "the Makefile has no variable COUNTS"),
        ("cargo test -p rtls", "the workspace has no package rtls"),
        ("cargo test -p rtl --test turn", "rtl has no test turn"),
        (
            "A=1 cargo run -p rtl --example turns",
            "rtl has no example turns",
        ),
    ] {
        for chapter in [
            format!("x\n`{command}`\n"),
            format!("```sh\n{command}\n```\n"),
        ] {
            let bad = planted(&chapter);
            one(
                &unknown_commands(&Tree::read(bad.path())),
                &format!("docs/book/a.md:2: {complaint}"),
            );
        }
    }
}

#[test]
fn planted_chapters_and_blocks_are_found() {
    let complaints = |edit: &dyn Fn(&Path)| {
        let folder = planted("# A\n");
        edit(folder.path());
        Text::of(&Tree::read(folder.path())).complaints
    };
    let write = |folder: &Path, name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    one(
        &complaints(&|folder| write(folder, "hdl/src/lost.rs", "//! Lost.\n")),
        "docs/book/SUMMARY.md:1: no chapter has hdl/src/lost.rs",
    );
    one(
        &complaints(&|folder| fs::remove_file(folder.join("docs/book/a.md")).unwrap()),
        "docs/book/SUMMARY.md:1: no document at a.md",
    );
    let twice = "- [A](a.md)\n- [A](a.md)\n- [RTL](../../hdl/src)\n";
    one(
        &complaints(&|folder| write(folder, "docs/book/SUMMARY.md", twice)),
        "docs/book/SUMMARY.md:1: docs/book/a.md is a chapter twice",
    );
    let unreadable = complaints(&|folder| write(folder, "hdl/src/turn.rs", "//! Turn.\nfn {\n"));
    assert_eq!(unreadable.len(), 1);
    assert_eq!(unreadable[0].file, Path::new("hdl/src/turn.rs"));
}

#[test]
fn planted_links_of_pages_are_found() {
    let page = "<a href=\"b.html#here\">b</a>\n<h1 id=\"top\"></h1><a href=\"#top\"></a> <a href=\"https://x/y\"></a>\n";
    let pages = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.html"), text).unwrap();
        fs::write(folder.path().join("b.html"), "<p id=\"here\">").unwrap();
        site::broken_links(folder.path())
    };
    let (count, complaints) = pages(page);
    assert_eq!(count, 2);
    none(&complaints);
    let cases = [
        (
            "b.html#here",
            "c.html",
            "a.html:1: the link c.html leads nowhere",
        ),
        (
            "b.html#here",
            "b.html#no",
            "a.html:1: b.html has nothing called #no",
        ),
        (
            "\"#top",
            "\"#pot",
            "a.html:2: a.html has nothing called #pot",
        ),
    ];
    for (from, to, complaint) in cases {
        one(&pages(&page.replace(from, to)).1, complaint);
    }
}

#[test]
fn a_command_of_warpline_is_known_by_its_package() {
    let text = "```sh\ncargo run -p warpline -- demo\ncargo run -p warpline-sim --example x -- demo\nwarpline demo\n```\n";
    let found = commands(text);
    let ours: Vec<_> = found
        .iter()
        .map(|command| of_warpline(&command.words))
        .collect();
    let demo = ["demo".to_owned()];
    assert_eq!(ours, [Some(&demo[..]), None, Some(&demo[..])]);
}

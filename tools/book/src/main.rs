//! Writes the text of the book for mdBook, checks the pages that mdBook has made of it, and renews what documents quote.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use warpline_book::text::Text;
use warpline_book::tree::{Complaint, Tree};
use warpline_book::{excerpt, site};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["text", folder] => text(&PathBuf::from(folder)),
        ["excerpts"] => excerpts(),
        ["check", folder] => check(&PathBuf::from(folder)),
        _ => {
            eprintln!("usage: warpline-book text FOLDER, check FOLDER, or excerpts");
            ExitCode::from(2)
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn excerpts() -> ExitCode {
    let (root, mut complaints) = (root(), vec![]);
    for (file, text) in Tree::read(&root).documents() {
        let new = excerpt::renewed(&root, file, text, &mut complaints);
        if new != text
            && let Err(error) = std::fs::write(root.join(file), new)
        {
            eprintln!("{}: {error}", file.display());
            return ExitCode::from(2);
        }
    }
    report(&complaints)
}

fn text(folder: &Path) -> ExitCode {
    let root = root();
    let text = Text::of(&Tree::read(&root));
    if let Err(error) = text.write(&root, folder) {
        eprintln!("{}: {error}", folder.display());
        return ExitCode::from(2);
    }
    report(&text.complaints)
}

fn check(folder: &Path) -> ExitCode {
    let (pages, complaints) = site::broken_links(folder);
    if pages == 0 {
        eprintln!("{} has no pages", folder.display());
        return ExitCode::from(2);
    }
    if complaints.is_empty() {
        println!(
            "book: {pages} pages, every link leads somewhere: {}",
            folder.join("index.html").display()
        );
    }
    report(&complaints)
}

fn report(complaints: &[Complaint]) -> ExitCode {
    for complaint in complaints {
        eprintln!("{complaint}");
    }
    ExitCode::from(u8::from(!complaints.is_empty()))
}

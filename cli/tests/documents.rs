//! What documents tell a reader to type to `warpline` is what it accepts: whole commands as they stand, commands in prose by
//! their names and options.

use std::path::Path;

use clap::Command;
use clap::error::ErrorKind;
use warpline_book::command::{self, is_placeholder, of_warpline};
use warpline_book::tree::{Complaint, Tree};

/// Commands in `documents` that `warpline` does not accept, and how many there are.
fn refused<'t>(documents: impl Iterator<Item = (&'t Path, &'t str)>) -> (usize, Vec<Complaint>) {
    let (mut count, mut complaints) = (0, vec![]);
    for (file, text) in documents {
        for command in command::commands(text) {
            let Some(words) = of_warpline(&command.words) else {
                continue;
            };
            count += 1;
            let result = match command.is_whole {
                true => whole(words),
                false => named(words),
            };
            if let Err(what) = result {
                complaints.push(Complaint::new(file, command.line, what));
            }
        }
    }
    (count, complaints)
}

/// A command that is typed as it stands.
fn whole(words: &[String]) -> Result<(), String> {
    let words = std::iter::once("warpline").chain(words.iter().map(String::as_str));
    match warpline::command_line().try_get_matches_from(words) {
        Ok(_) => Ok(()),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()),
    }
}

/// A command in prose: its name and the names of its options.
fn named(words: &[String]) -> Result<(), String> {
    let mut warpline = warpline::command_line();
    warpline.build(); // gives global options to the commands
    let name = &words[0];
    if is_placeholder(name) || name == "--help" || name == "--version" {
        return Ok(());
    }
    let Some(command) = warpline.find_subcommand(name) else {
        return Err(format!("warpline has no command {name}"));
    };
    for word in &words[1..] {
        let option = word
            .strip_prefix("--")
            .map(|option| option.split('=').next());
        if let Some(Some(option)) = option
            && !option.is_empty()
            && !has_option(command, option)
        {
            return Err(format!("warpline {name} has no option --{option}"));
        }
    }
    Ok(())
}

fn has_option(command: &Command, option: &str) -> bool {
    command
        .get_arguments()
        .any(|argument| argument.get_long() == Some(option))
}

#[test]
fn every_command_of_warpline_is_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tree = Tree::read(&root);
    let (count, complaints) = refused(tree.documents());
    let lines: Vec<_> = complaints.iter().map(ToString::to_string).collect();
    assert!(complaints.is_empty(), "\n{}", lines.join("\n"));
    assert!(count > 50, "{count} commands in all documents");
}

#[test]
fn planted_commands_are_refused() {
    let of = |text: &str| {
        let (count, complaints) = refused([(Path::new("a.md"), text)].into_iter());
        assert_eq!(count, 1, "{text}");
        complaints
            .into_iter()
            .map(|complaint| complaint.to_string())
            .collect::<Vec<_>>()
    };
    for good in [
        "`warpline rtl --transmit`",
        "`warpline COMMAND --help`",
        "```sh\nwarpline rtl --width 64 --out rtl\n```",
        "```sh\nwarpline explain --help\n```",
    ] {
        assert_eq!(of(good), [""; 0], "{good}");
    }
    for (bad, complaint) in [
        ("`warpline rtx`", "a.md:1: warpline has no command rtx"),
        (
            "`warpline rtl --receive`",
            "a.md:1: warpline rtl has no option --receive",
        ),
        (
            "```sh\nwarpline rtl --width 63 --out rtl\n```",
            "a.md:2: error: invalid value '63' for '--width <W>'",
        ),
        (
            "```sh\ncargo run -p warpline -- put a 127.0.0.1:1 --verifi\n```",
            "a.md:2: error: unexpected argument '--verifi' found",
        ),
        (
            "```text\n$ warpline demo now\n```",
            "a.md:2: error: unexpected argument 'now' found",
        ),
    ] {
        let found = of(bad);
        assert!(
            found.len() == 1 && found[0].starts_with(complaint),
            "{bad}: {found:?}"
        );
    }
}

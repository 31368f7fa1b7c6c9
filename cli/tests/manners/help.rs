//! Help, examples, completions and manual pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::error::ErrorKind;

/// The commands, without `help`.
pub(crate) fn commands() -> Vec<clap::Command> {
    let mut all = warpline::command_line();
    all.build(); // gives global options to the commands
    let commands = all.get_subcommands().cloned();
    commands
        .filter(|command| command.get_name() != "help")
        .collect()
}

/// What stands below the options of a command's help.
pub(crate) fn below(command: &clap::Command) -> String {
    let below = command.get_after_help().map(ToString::to_string);
    below.unwrap_or_default()
}

/// Lines of a part of the help, without their indentation.
pub(crate) fn part<'h>(help: &'h str, title: &str) -> Vec<&'h str> {
    let lines = help.lines().skip_while(|line| *line != title).skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    lines.map(str::trim).collect()
}

/// The calls of warpline in an example: words behind each `warpline`, up to what the shell takes for itself.
fn calls(example: &str) -> Vec<Vec<&str>> {
    let stages = example.split(['|', '>', '&', ';']);
    let words = stages.map(|stage| stage.split_whitespace().collect::<Vec<_>>());
    words
        .filter(|words| words.first() == Some(&"warpline"))
        .collect()
}

/// What is wrong with the examples of a command.
fn complaints(name: &str, help: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let examples = part(help, "Examples:");
    let calls: Vec<_> = examples.iter().flat_map(|example| calls(example)).collect();
    if !calls.iter().any(|call| call.get(1) == Some(&name)) {
        complaints.push(format!("{name}: no example"));
    }
    for call in calls {
        let parsed = warpline::command_line().try_get_matches_from(&call);
        if let Err(error) = parsed {
            complaints.push(format!("{name}: {call:?}: {error}"));
        }
        // What the project has must be there; other paths are the reader's.
        for path in call
            .iter()
            .filter(|word| word.starts_with("testbenches/") || word.starts_with("constraints/"))
        {
            if !Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("..")
                .join(path)
                .exists()
            {
                complaints.push(format!("{name}: no {path}"));
            }
        }
    }
    complaints
}

#[test]
fn each_command_has_examples_that_it_accepts() {
    let commands = commands();
    assert!(commands.len() >= 12, "{commands:?}");
    let found: Vec<_> = commands
        .iter()
        .flat_map(|command| complaints(command.get_name(), &below(command)))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
    let own = below(&warpline::command_line());
    assert!(!part(&own, "Examples:").is_empty());
    let all: Vec<_> = part(&own, "Examples:")
        .into_iter()
        .flat_map(calls)
        .collect();
    for call in all {
        warpline::command_line()
            .try_get_matches_from(&call)
            .unwrap();
    }
}

#[test]
fn planted_examples_are_refused() {
    for (help, reason) in [
        ("", "no example"),
        ("Examples:\n  warpline stat /tmp/card\n", "no example"),
        (
            "Examples:\n  warpline get 127.0.0.1:7471 a --ofset 1\n",
            "--ofset",
        ),
        ("Examples:\n  xxd a | warpline get b\n", "invalid value 'b'"),
        (
            "Examples:\n  warpline get 127.0.0.1:1 testbenches/none\n",
            "no testbenches/none",
        ),
    ] {
        let found = complaints("get", help).join("\n");
        assert!(found.contains(reason), "{help:?}: {found}");
    }
    assert!(complaints("get", "Examples:\n  warpline get 127.0.0.1:1 a > b\n").is_empty());
}

#[test]
fn each_command_and_each_option_says_what_it_does() {
    let mut all = warpline::command_line();
    all.build();
    for command in std::iter::once(all.clone()).chain(commands()) {
        let name = command.get_name();
        assert!(command.get_about().is_some(), "{name}");
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{name} {argument}");
        }
    }
}

fn printed(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    let output = command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn shells_complete_each_command_and_each_option() {
    let shells = commands()
        .iter()
        .find(|command| command.get_name() == "completions")
        .and_then(|command| {
            command
                .get_arguments()
                .find(|it| it.get_id() == "shell")
                .cloned()
        })
        .unwrap()
        .get_possible_values();
    assert!(shells.len() >= 4, "{shells:?}");
    for shell in shells {
        let script = printed(&["completions", shell.get_name()]);
        for command in commands() {
            let name = command.get_name();
            assert!(script.contains(name), "{shell:?} {name}");
            for argument in command.get_arguments() {
                if let Some(option) = argument.get_long() {
                    assert!(script.contains(option), "{shell:?} {name} {option}");
                }
            }
        }
    }
    // bash itself reads it, and completes by it
    let script = printed(&["completions", "bash"]);
    let asked = format!(
        "{script}\nCOMP_WORDS=(warpline stat --js); COMP_CWORD=2; _warpline warpline --js stat; echo \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &asked])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "--json",
        "{output:?}"
    );
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/man1");
    assert_eq!(printed(&["man", "--out", out.to_str().unwrap()]), "");
    let names = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<_> = names.map(|name| name.into_string().unwrap()).collect();
    let expected = commands();
    let expected = expected
        .iter()
        .map(|it| format!("warpline-{}.1", it.get_name()));
    assert_eq!(names, expected.chain(["warpline.1".to_owned()]).collect());
    let plain = |text: &str| text.replace(r"\*(Aq", "'").replace('\\', "");
    for command in commands() {
        let name = command.get_name();
        let page = fs::read_to_string(out.join(format!("warpline-{name}.1"))).unwrap();
        let page = plain(&page);
        assert!(page.contains(&format!(".TH warpline-{name} 1")), "{page}");
        for argument in command.get_arguments().filter_map(clap::Arg::get_long) {
            assert!(page.contains(&format!("--{argument}")), "{name} {argument}");
        }
        for line in below(&command).lines().filter(|line| !line.is_empty()) {
            assert!(page.contains(&plain(line.trim())), "{name}: {line}");
        }
    }
    let first = fs::read_to_string(out.join("warpline.1")).unwrap();
    assert_eq!(first, printed(&["man"]));
}

#[test]
fn help_is_no_error_and_no_command_is_one() {
    for command in commands() {
        printed(&[command.get_name(), "--help"]);
    }
    let error = warpline::command_line()
        .try_get_matches_from(["warpline"])
        .unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
}

//! A device under other names, so that two configurations fit into one design.

use std::collections::HashMap;
use std::str::FromStr;

use warpline_sv_writer::{Design, Module};

/// What the names of a device's modules begin with, an underscore between: `nic` makes `nic_warpline` of `warpline`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

/// A prefix that no module can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "give letters, digits and underscores, the first one no digit: it begins names of SystemVerilog"
)]
pub struct PrefixError;

impl Prefix {
    /// `name` with the prefix.
    #[must_use]
    pub fn name(&self, name: &str) -> String {
        format!("{}_{name}", self.0)
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut letters = text.chars();
        let first = letters.next().ok_or(PrefixError)?;
        let rest = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if rest(first) && !first.is_ascii_digit() && letters.all(rest) {
            return Ok(Self(text.into()));
        }
        Err(PrefixError)
    }
}

/// `design` with `prefix` in front of the names of its package and all its modules, where they are declared and where they are
/// used. Ports, instances and everything else keep their names.
#[must_use]
pub fn prefixed(design: &Design, prefix: &Prefix) -> Design {
    let names = design.parts().map(|part| part.name.as_str());
    let names: HashMap<&str, String> = names.map(|name| (name, prefix.name(name))).collect();
    let part = |part: &Module| Module {
        name: names[part.name.as_str()].clone(),
        text: renamed(&part.text, &names),
    };
    Design {
        package: design.package.as_ref().map(part),
        modules: design.modules.iter().map(part).collect(),
        ports: design.ports.clone(),
    }
}

/// `text` with modules and packages renamed: after `module` and `package`, before the name of an instance, and before `::`.
fn renamed(text: &str, names: &HashMap<&str, String>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        let mut before = "";
        let mut rest = code;
        while let Some(start) = rest.find(is_of_name) {
            let (gap, from) = rest.split_at(start);
            let (name, after) = from.split_at(from.find(|c| !is_of_name(c)).unwrap_or(from.len()));
            let declared = ["module", "package"].contains(&before) && gap.trim().is_empty();
            out += gap;
            match names.get(name) {
                Some(new) if declared || after.starts_with("::") || is_instance(after) => {
                    out += new
                }
                _ => out += name,
            }
            (before, rest) = (name, after);
        }
        out += rest;
        out += comment;
    }
    out
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Whether what follows a name makes it that of a module: parameters, or the name of an instance and its ports.
fn is_instance(after: &str) -> bool {
    let Some(after) = after.strip_prefix(' ') else {
        return false;
    };
    let after = after.trim_start();
    if after.starts_with("#(") {
        return true;
    }
    let instance = after.trim_start_matches(is_of_name);
    instance.len() < after.len() && instance.trim_start().starts_with('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Result<Prefix, PrefixError> {
        text.parse()
    }

    #[test]
    fn a_prefix_is_an_identifier() {
        for good in ["nic", "a", "_x", "Nic0_"] {
            assert!(prefix(good).is_ok(), "{good}");
        }
        for bad in ["", "0nic", "a-b", "a b", "a.b", "é", "a$", "../x", "\\a"] {
            assert_eq!(prefix(bad), Err(PrefixError), "{bad}");
        }
    }

    #[test]
    fn parts_are_renamed_where_they_are_declared_and_used_only() {
        let text = "// dev and dev_sub\nimport dev_types::*;\nmodule dev (\n    input wire dev_types::x_t dev_sub\n);\n    dev_sub sub (\n        .dev_sub(dev_sub)\n    );\n    \
                    dev_sub #(1) more (.dev_sub (dev_sub)); // dev_sub x (\n    assign y = dev_sub & (dev_sub2);\nendmodule\n";
        let renamed_text = "// dev and dev_sub\nimport a_dev_types::*;\nmodule a_dev (\n    input wire a_dev_types::x_t dev_sub\n);\n    a_dev_sub sub (\n        .dev_sub(dev_sub)\n    );\n    \
                            a_dev_sub #(1) more (.dev_sub (dev_sub)); // dev_sub x (\n    assign y = dev_sub & (dev_sub2);\nendmodule\n";
        let module = |name: &str, text: &str| Module {
            name: name.into(),
            text: text.into(),
        };
        let design = Design {
            package: Some(module("dev_types", "package dev_types;\nendpackage\n")),
            modules: vec![
                module("dev_sub", "module dev_sub;\nendmodule\n"),
                module("dev", text),
            ],
            ports: Vec::new(),
        };
        let other = prefixed(&design, &prefix("a").unwrap());
        assert_eq!(other.top(), "a_dev");
        assert_eq!(
            other.package,
            Some(module("a_dev_types", "package a_dev_types;\nendpackage\n"))
        );
        assert_eq!(
            other.modules[0],
            module("a_dev_sub", "module a_dev_sub;\nendmodule\n")
        );
        assert_eq!(other.modules[1].text, renamed_text);
    }
}

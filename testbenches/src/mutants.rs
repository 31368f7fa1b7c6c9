//! Faults planted in the written text, to see whether the nearest bench notices them.
//!
//! ```text
//!   test binary, WARPLINE_MUTANTS=DIR ──► texts of its designs ──► candidates ─ seed ─► sample
//!   test binary, WARPLINE_MUTANT=one of the sample ──► a test fails: killed │ all pass: survived
//! ```
//!
//! A mutant is one statement of one module that reads something else: see [`Operator`]. The benches compare the Verilated
//! text with rust-hdl's simulation of the block, so a survivor is a fault that no stimulus of the bench carries to an output.

use std::env;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warpline_sv_writer::Design;

/// Environment variable that names a folder: each design that a bench builds writes its modules there.
pub const LIST: &str = "WARPLINE_MUTANTS";
/// Environment variable with a [`Mutant`] as JSON: each design that a bench builds has it, if it has its statement.
pub const PLANT: &str = "WARPLINE_MUTANT";
/// Name of the file with the types of a design: no module can have it.
pub const PACKAGE: &str = "package";

/// What a mutant does to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// `if (c)` becomes `if (!(c))`.
    Condition,
    /// A negation is left out.
    Negation,
    /// `&` becomes `|`, or the other way round.
    Gate,
    /// `==` becomes `!=`, or `<` becomes `>=`, or the other way round.
    Comparison,
    /// `+` becomes `-`, or the other way round.
    Sum,
    /// The lowest bit of a constant is inverted.
    Constant,
    /// A bit or the lower bound of a slice is the one above.
    Index,
    /// An assignment in a process is left out.
    Assignment,
}

/// A fault: in the module whose name ends with `module`, the statement `right` reads `wrong`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    /// Name of the module behind that of the top, or nothing for the top itself.
    pub module: String,
    /// Number of the line among those of the module that read `right`, from 0.
    pub occurrence: usize,
    /// The line as it is, without its indentation.
    pub right: String,
    /// The line with the fault.
    pub wrong: String,
    /// How it was made.
    pub operator: Operator,
}

/// All mutants of a module's text. `module` is its name behind that of the top.
#[must_use]
pub fn mutants(module: &str, text: &str) -> Vec<Mutant> {
    let mut found: Vec<Mutant> = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    // Indentation of the process that a line is in.
    let mut process: Option<usize> = None;
    for line in text.lines() {
        let code = line.trim();
        let indentation = line.len() - line.trim_start().len();
        let occurrence = lines.iter().filter(|seen| **seen == code).count();
        lines.push(code);
        let starts = ["always_comb", "always_ff", "always @"];
        if starts.iter().any(|start| code.starts_with(start)) {
            process = Some(indentation);
        } else if process.is_some_and(|start| indentation <= start && !code.is_empty()) {
            process = None;
        }
        if process.is_none() && !code.starts_with("assign ") || code.starts_with("//") {
            continue;
        }
        for (operator, wrong) in variants(code, process.is_some()) {
            found.push(Mutant {
                module: module.into(),
                occurrence,
                right: code.into(),
                wrong,
                operator,
            });
        }
    }
    found
}

/// The line with each fault that its text allows.
fn variants(code: &str, process: bool) -> Vec<(Operator, String)> {
    let mut all = Vec::new();
    let (statement, comment) = code.split_at(code.find("//").unwrap_or(code.len()));
    let mut add = |operator, text: String| all.push((operator, text + comment));
    if let Some(condition) = statement.trim_end().strip_prefix("if (")
        && let Some(condition) = condition.strip_suffix(") begin")
    {
        add(Operator::Condition, format!("if (!({condition})) begin "));
    }
    let swaps = [
        (" & ", " | ", Operator::Gate),
        (" | ", " & ", Operator::Gate),
        (" == ", " != ", Operator::Comparison),
        (" != ", " == ", Operator::Comparison),
        (" < ", " >= ", Operator::Comparison),
        (" >= ", " < ", Operator::Comparison),
        (" + ", " - ", Operator::Sum),
        (" - ", " + ", Operator::Sum),
        ("(~", "(", Operator::Negation),
    ];
    for (right, wrong, operator) in swaps {
        for (at, _) in statement.match_indices(right) {
            let behind = &statement[at + right.len()..];
            add(operator, format!("{}{wrong}{behind}", &statement[..at]));
        }
    }
    for (at, _) in statement.match_indices("'h") {
        let digits = &statement[at + 2..];
        let count = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
        let Some(last) = digits[..count].chars().last().and_then(|c| c.to_digit(16)) else {
            continue;
        };
        let end = at + 2 + count;
        let (front, behind) = (&statement[..end - 1], &statement[end..]);
        add(Operator::Constant, format!("{front}{:x}{behind}", last ^ 1));
    }
    for (at, _) in statement.match_indices('[') {
        let inner = &statement[at + 1..];
        let Some(length) = inner.find(']') else {
            continue;
        };
        // A slice moves as a whole, so that the widths stay.
        let bounds: Option<Vec<usize>> = inner[..length]
            .split(':')
            .map(|bound| bound.parse().ok())
            .collect();
        let Some(bounds) = bounds.filter(|bounds| bounds.iter().all(|bound| *bound > 0)) else {
            continue;
        };
        let moved: Vec<String> = bounds.iter().map(|bound| (bound - 1).to_string()).collect();
        let (front, behind) = (&statement[..=at], &inner[length..]);
        add(
            Operator::Index,
            format!("{front}{}{behind}", moved.join(":")),
        );
    }
    let assigns = statement.contains(" = ") || statement.contains(" <= ");
    if process && assigns && statement.trim_end().ends_with(';') && !statement.starts_with("for") {
        add(Operator::Assignment, "; ".into());
    }
    all
}

/// What the environment asks of a design that a bench is about to build: to be listed, to have a fault, or nothing.
///
/// # Panics
/// When the environment names no folder that can be written, or no mutant.
pub fn apply(top: &str, design: &mut Design) {
    // What tests of a bench have planted is no text of the writer's.
    if let Some(folder) = env::var_os(LIST).filter(|_| !top.contains("fault")) {
        let folder = Path::new(&folder).join(top);
        fs::create_dir_all(&folder).expect("the folder for texts can be made");
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), text).expect("a text can be written");
        };
        for module in &design.modules {
            write(relative(top, &module.name), &module.text);
        }
        if let Some(package) = &design.package {
            write(PACKAGE, &package.text);
        }
    }
    let Ok(mutant) = env::var(PLANT) else {
        return;
    };
    let mutant: Mutant = serde_json::from_str(&mutant).expect("a mutant as JSON");
    for module in &mut design.modules {
        if relative(top, &module.name) == file(&mutant.module)
            && let Some(text) = planted(&module.text, &mutant)
        {
            module.text = text;
        }
    }
}

/// Whether the environment plants a fault: the text may then have warnings.
#[must_use]
pub fn is_planting() -> bool {
    env::var_os(PLANT).is_some()
}

/// The text with the fault, if it has the statement.
#[must_use]
pub fn planted(text: &str, mutant: &Mutant) -> Option<String> {
    let same = |line: &&str| line.trim() == mutant.right;
    let line = text.lines().filter(same).nth(mutant.occurrence)?;
    let at = line.as_ptr() as usize - text.as_ptr() as usize;
    let (front, behind) = (&text[..at], &text[at + line.len()..]);
    Some(format!("{front}{}{behind}", mutant.wrong))
}

/// Name of a module behind that of the top, as a file's.
fn relative<'a>(top: &str, name: &'a str) -> &'a str {
    file(name.strip_prefix(top).unwrap_or(name))
}

/// Name of a module's file: that of a top is `top`, as no file can have no name.
#[must_use]
pub fn file(module: &str) -> &str {
    match module.trim_start_matches('_') {
        "" => "top",
        module => module,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
module m (input logic a);
    localparam logic [7:0] none = 8'h0;
    assign b = c & (~d);
    always_comb begin
        q_d = q_q;
        if (a[3:1] == none) begin
            q_d = q_q + 8'h2;
        end
        q_d = q_q;
    end
    generate for (k = 0; k < 8; k = k + 1) begin
        always_ff @(posedge clk)
            r <= a;
        wire unused = &{1'b0, a[3:1]};
    end endgenerate
    other other (.a (a & b));
endmodule
";

    fn wrongs(operator: Operator) -> Vec<String> {
        let all = mutants("", TEXT).into_iter();
        all.filter(|mutant| mutant.operator == operator)
            .map(|mutant| mutant.wrong)
            .collect()
    }

    #[test]
    fn each_operator_changes_what_it_says() {
        assert_eq!(wrongs(Operator::Gate), ["assign b = c | (~d);"]);
        assert_eq!(wrongs(Operator::Negation), ["assign b = c & (d);"]);
        assert_eq!(
            wrongs(Operator::Condition),
            ["if (!(a[3:1] == none)) begin "]
        );
        assert_eq!(wrongs(Operator::Comparison), ["if (a[3:1] != none) begin"]);
        assert_eq!(wrongs(Operator::Sum), ["q_d = q_q - 8'h2;"]);
        assert_eq!(wrongs(Operator::Constant), ["q_d = q_q + 8'h3;"]);
        assert_eq!(wrongs(Operator::Index), ["if (a[2:0] == none) begin"]);
        assert_eq!(wrongs(Operator::Assignment), ["; ", "; ", "; ", "; "]);
    }

    #[test]
    fn a_mutant_changes_its_line_alone() {
        for mutant in mutants("", TEXT) {
            let text = planted(TEXT, &mutant).unwrap();
            let changed = TEXT.lines().zip(text.lines());
            let changed: Vec<_> = changed.filter(|(a, b)| a != b).collect();
            assert_eq!(changed.len(), 1, "{mutant:?}");
            assert_eq!(changed[0].0.trim(), mutant.right);
        }
        let mut second = mutants("", TEXT)
            .into_iter()
            .filter(|m| m.right == "q_d = q_q;");
        assert_eq!(second.next_back().unwrap().occurrence, 1);
    }

    #[test]
    fn a_module_is_named_behind_its_top() {
        assert_eq!(relative("place_64", "place_64_spans_store"), "spans_store");
        assert_eq!(relative("place_64", "place_64"), "top");
    }
}

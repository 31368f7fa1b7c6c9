//! Verilator's messages as values.

use std::fmt;

/// One warning: `%Warning-CODE: file:line:column: text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Verilator's name of the kind, such as `WIDTHTRUNC`; [`Build::lint_off`](crate::Build::lint_off) takes it.
    pub code: String,
    /// Name of the source.
    pub file: String,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            file,
            line,
            column,
            message,
        } = self;
        write!(f, "{file}:{line}:{column}: {code}: {message}")
    }
}

/// All warnings in Verilator's output. Other lines (source excerpts, hints, errors) are skipped.
pub(crate) fn warnings(output: &str) -> Vec<Warning> {
    output.lines().filter_map(warning).collect()
}

fn warning(line: &str) -> Option<Warning> {
    let (code, rest) = line.strip_prefix("%Warning-")?.split_once(": ")?;
    let (file, line, column, message) = place(rest).unwrap_or(("", 0, 0, rest));
    Some(Warning {
        code: code.into(),
        file: file.into(),
        line,
        column,
        message: message.into(),
    })
}

fn place(text: &str) -> Option<(&str, u32, u32, &str)> {
    let (place, message) = text.split_once(": ")?;
    let mut parts = place.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some((parts.next()?, line, column, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_with_and_without_a_place() {
        let output = "%Warning-WIDTHTRUNC: a.sv:3:12: Operator ASSIGNW: expects 4 bits\n\
                      \x20                   : ... note: In instance 'a'\n\
                      \x20   3 | assign x = y;\n\
                      %Warning-MULTITOP: Multiple top level modules\n\
                      %Error: Exiting due to 2 warning(s)\n";
        let found = warnings(output);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].to_string(),
            "a.sv:3:12: WIDTHTRUNC: Operator ASSIGNW: expects 4 bits"
        );
        assert_eq!((found[1].code.as_str(), found[1].line), ("MULTITOP", 0));
    }
}

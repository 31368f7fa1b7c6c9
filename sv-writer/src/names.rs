//! Names: how rust-hdl's paths become SystemVerilog identifiers, and which identifiers are taken by the language.

use crate::error::Problem;

/// The wire that takes what nothing reads.
pub const SINK: &str = "unused_ok";

/// `s_axis$0$tdata` as an identifier: `s_axis_0_tdata`.
pub fn flat(name: &str) -> String {
    name.replace('$', "_")
}

/// An instance name as people write it: `step$3` is `step[3]`.
pub fn shown(name: &str) -> String {
    let mut parts = name.split('$');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |path, index| format!("{path}[{index}]"))
}

/// Refuses what cannot be an identifier.
pub fn check(name: &str) -> Result<(), Problem> {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(letter) || !name.chars().all(|c| letter(c) || c.is_ascii_digit()) {
        Err(Problem::BadName(name.into()))
    } else if KEYWORDS.contains(&name) {
        Err(Problem::Keyword(name.into()))
    } else {
        Ok(())
    }
}

/// Value of an array index such as `2*i+1`; `lookup` knows the loop variables.
pub fn index_value(text: &str, lookup: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
    let mut parser = IndexParser { rest: text, lookup };
    let value = parser.sum()?;
    parser.rest.is_empty().then_some(value)
}

struct IndexParser<'a> {
    rest: &'a str,
    lookup: &'a dyn Fn(&str) -> Option<i128>,
}

impl IndexParser<'_> {
    fn accept(&mut self, symbols: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let symbol = self.rest.chars().next().filter(|c| symbols.contains(c))?;
        self.rest = self.rest[symbol.len_utf8()..].trim_start();
        Some(symbol)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        while let Some(symbol) = self.accept(&['+', '-']) {
            let right = self.product()?;
            value = match symbol {
                '+' => value.checked_add(right)?,
                _ => value.checked_sub(right)?,
            };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.factor()?;
        while let Some(symbol) = self.accept(&['*', '/', '%']) {
            let right = self.factor()?;
            value = match symbol {
                '*' => value.checked_mul(right)?,
                '/' => value.checked_div(right)?,
                _ => value.checked_rem(right)?,
            };
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<i128> {
        if self.accept(&['(']).is_some() {
            let value = self.sum()?;
            self.accept(&[')'])?;
            return Some(value);
        }
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !word(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        (self.lookup)(name).or_else(|| number(name))
    }
}

/// A Rust integer literal: `12`, `0x1f`, `0b01`, `1_000`, `3usize`.
pub fn number(text: &str) -> Option<i128> {
    let text = text.replace('_', "");
    let (radix, digits) = match text.get(..2) {
        Some("0x") => (16, &text[2..]),
        Some("0b") => (2, &text[2..]),
        Some("0o") => (8, &text[2..]),
        _ => (10, &text[..]),
    };
    let suffix = ["usize", "u128", "u64", "u32", "u16", "u8", "i32", "i64"];
    let digits = suffix
        .iter()
        .find_map(|s| digits.strip_suffix(s))
        .unwrap_or(digits);
    i128::from_str_radix(digits, radix).ok()
}

/// Reserved words of IEEE 1800-2023, annex B.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "accept_on", "alias", "always", "always_comb", "always_ff", "always_latch", "and", "assert", "assign", "assume",
    "automatic", "before", "begin", "bind", "bins", "binsof", "bit", "break", "buf", "bufif0", "bufif1", "byte",
    "case", "casex", "casez", "cell", "chandle", "checker", "class", "clocking", "cmos", "config", "const",
    "constraint", "context", "continue", "cover", "covergroup", "coverpoint", "cross", "deassign", "default",
    "defparam", "design", "disable", "dist", "do", "edge", "else", "end", "endcase", "endchecker", "endclass",
    "endclocking", "endconfig", "endfunction", "endgenerate", "endgroup", "endinterface", "endmodule", "endpackage",
    "endprimitive", "endprogram", "endproperty", "endsequence", "endspecify", "endtable", "endtask", "enum", "event",
    "eventually", "expect", "export", "extends", "extern", "final", "first_match", "for", "force", "foreach",
    "forever", "fork", "forkjoin", "function", "generate", "genvar", "global", "highz0", "highz1", "if", "iff",
    "ifnone", "ignore_bins", "illegal_bins", "implements", "implies", "import", "incdir", "include", "initial",
    "inout", "input", "inside", "instance", "int", "integer", "interconnect", "interface", "intersect", "join",
    "join_any", "join_none", "large", "let", "liblist", "library", "local", "localparam", "logic", "longint",
    "macromodule", "matches", "medium", "modport", "module", "nand", "negedge", "nettype", "new", "nexttime", "nmos",
    "nor", "noshowcancelled", "not", "notif0", "notif1", "null", "or", "output", "package", "packed", "parameter",
    "pmos", "posedge", "primitive", "priority", "program", "property", "protected", "pull0", "pull1", "pulldown",
    "pullup", "pulsestyle_ondetect", "pulsestyle_onevent", "pure", "rand", "randc", "randcase", "randsequence",
    "rcmos", "real", "realtime", "ref", "reg", "reject_on", "release", "repeat", "restrict", "return", "rnmos",
    "rpmos", "rtran", "rtranif0", "rtranif1", "s_always", "s_eventually", "s_nexttime", "s_until", "s_until_with",
    "scalared", "sequence", "shortint", "shortreal", "showcancelled", "signed", "small", "soft", "solve", "specify",
    "specparam", "static", "string", "strong", "strong0", "strong1", "struct", "super", "supply0", "supply1",
    "sync_accept_on", "sync_reject_on", "table", "tagged", "task", "this", "throughout", "time", "timeprecision",
    "timeunit", "tran", "tranif0", "tranif1", "tri", "tri0", "tri1", "triand", "trior", "trireg", "type", "typedef",
    "union", "unique", "unique0", "unsigned", "until", "until_with", "untyped", "use", "uwire", "var", "vectored",
    "virtual", "void", "wait", "wait_order", "wand", "weak", "weak0", "weak1", "while", "wildcard", "wire", "with",
    "within", "wor", "xnor", "xor",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_computed_with_the_usual_precedence() {
        let value = |text| index_value(text, &|name| (name == "i").then_some(5));
        assert_eq!(value("i"), Some(5));
        assert_eq!(value("2*(i+1)-i%3/2"), Some(11));
        assert_eq!(value("0x1f - 1_0usize"), Some(21));
        assert_eq!(value("N-1"), None);
        assert_eq!(value("i+"), None);
        assert_eq!(value("(i"), None);
        assert_eq!(value("i/0"), None);
        assert_eq!(value(""), None);
    }

    #[test]
    fn names_become_identifiers() {
        assert_eq!(flat("s_axis$0$tdata"), "s_axis_0_tdata");
        assert_eq!(shown("step$3"), "step[3]");
        assert_eq!(check("tdata_0"), Ok(()));
        assert_eq!(
            check("always_ff"),
            Err(Problem::Keyword("always_ff".into()))
        );
        assert_eq!(check("0a"), Err(Problem::BadName("0a".into())));
    }
}

//! The port list and the module instances, read back from the C++ headers that Verilator writes.
//!
//! ```text
//!     // PORTS
//!     VL_IN8(&clk,0,0);               type by width: 8, 16, "" (32), 64, W; then msb, lsb
//!     VL_OUTW(&tdata,511,0,16);       wide ports add the number of 32-bit words
//!     VlUnpacked<CData/*7:0*/, 4> &a; anything else is not a packed vector
//!     // CELLS
//!
//!     // MODULE INSTANCE STATE
//!     Vmodel___024root               TOP;
//! ```

use crate::{error::Error, model::Direction};

/// A port as the generated class declares it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// Member of the generated class.
    pub(crate) member: String,
    /// Name in SystemVerilog.
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) width: u32,
}

pub(crate) fn ports(header: &str) -> Result<Vec<Declared>, Error> {
    let lines = header.lines().map(str::trim);
    let section = lines
        .skip_while(|l| *l != "// PORTS")
        .skip(1)
        .take_while(|l| *l != "// CELLS");
    let declarations = section.filter(|l| !l.is_empty() && !l.starts_with("//"));
    declarations
        .map(|d| {
            port(d).ok_or_else(|| Error::UnsupportedPort {
                declaration: d.into(),
            })
        })
        .collect()
}

/// Members of the table of instances that hold state, by its header.
pub(crate) fn parts(header: &str) -> impl Iterator<Item = &str> {
    let lines = header.lines().map(str::trim);
    let section = lines
        .skip_while(|l| *l != "// MODULE INSTANCE STATE")
        .skip(1)
        .take_while(|l| !l.is_empty() && !l.starts_with("//"));
    section.filter_map(|l| l.strip_suffix(';')?.split_whitespace().next_back())
}

fn port(declaration: &str) -> Option<Declared> {
    let (kind, arguments) = declaration
        .strip_prefix("VL_")?
        .strip_suffix(");")?
        .split_once("(&")?;
    let direction = match kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'W') {
        "IN" => Direction::Input,
        "OUT" => Direction::Output,
        "INOUT" => Direction::InOut,
        _ => return None,
    };
    let mut arguments = arguments.split(',');
    let member = arguments.next()?;
    let (msb, lsb): (u32, u32) = (
        arguments.next()?.parse().ok()?,
        arguments.next()?.parse().ok()?,
    );
    let width = msb.checked_sub(lsb)?.checked_add(1)?;
    Some(Declared {
        member: member.into(),
        name: decode(member),
        direction,
        width,
    })
}

/// Undoes Verilator's escapes: `__0XX` for a character C++ does not allow (a second `_` in a row among them), and
/// `__SYM__` before a C++ keyword.
fn decode(member: &str) -> String {
    let mut name = String::new();
    let mut rest = member.strip_prefix("__SYM__").unwrap_or(member);
    while let Some(at) = rest.find("__0") {
        let code = rest
            .get(at + 3..at + 5)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let (plain, after) = rest.split_at(at);
        name.push_str(plain);
        match code {
            Some(code) => {
                name.push(code.into());
                rest = &after[5..];
            }
            None => {
                name.push_str("__0");
                rest = &after[3..];
            }
        }
    }
    name + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_all_kinds() {
        let header = "  // PORTS\n  // comment\n  VL_IN8(&clk,0,0);\n  VL_OUTW(&q,99,0,4);\n\n  VL_INOUT(&z,31,4);\n  // CELLS\n  int other;";
        let found = ports(header).unwrap();
        let seen: Vec<_> = found
            .iter()
            .map(|p| (p.name.as_str(), p.direction, p.width))
            .collect();
        assert_eq!(
            seen,
            [
                ("clk", Direction::Input, 1),
                ("q", Direction::Output, 100),
                ("z", Direction::InOut, 28)
            ]
        );
    }

    #[test]
    fn instances_without_what_is_not_state() {
        let header = "    bool __Vm_didInit = false;\n\n    // MODULE INSTANCE STATE\n    Vmodel___024root               TOP;\n    Vmodel_unit TOP__top__one;\n\n    // COVERAGE\n    uint32_t counts[3];";
        assert_eq!(parts(header).collect::<Vec<_>>(), ["TOP", "TOP__top__one"]);
        assert_eq!(parts("class Vmodel__Syms;").count(), 0);
    }

    #[test]
    fn unpacked_port_is_refused() {
        let header = "// PORTS\nVlUnpacked<CData/*7:0*/, 4> &arr;\n// CELLS";
        assert!(
            matches!(ports(header), Err(Error::UnsupportedPort { declaration }) if declaration.contains("arr"))
        );
    }

    #[test]
    fn names_are_decoded() {
        for (member, name) in [
            ("a", "a"),
            ("a___05Fb", "a__b"),
            ("esc__02bx", "esc+x"),
            ("__SYM__class", "class"),
            ("x__0", "x__0"),
            ("x__0é", "x__0é"),
        ] {
            assert_eq!(decode(member), name);
        }
    }
}

//! A wrapper around the RTL that records all ports in every cycle.

use std::fmt::Write as _;
use std::path::Path;

use warpline_sv_writer::{Design, Direction, Port};

/// All ports but the clock, inputs first.
pub(super) fn recorded<'p>(ports: &'p [Port], clock: &str) -> impl Iterator<Item = &'p Port> {
    let of = move |direction| ports.iter().filter(move |port| port.direction == direction);
    let all = of(Direction::Input).chain(of(Direction::Output));
    let clock = clock.to_owned();
    all.filter(move |port| port.name != clock)
}

/// The design with its name and ports, which writes a line to `file` at each rising edge of `clock`: inputs, then outputs, with
/// their values before the edge. Each simulation starts a new file.
///
/// Memories start with zeros, as in a bitstream: rows that were never written read the same.
#[must_use]
pub fn recorder(design: &Design, clock: &str, file: &Path) -> Vec<(String, String)> {
    let (mut files, top) = (design.sources(), design.top());
    let inside = format!("{top}_recorded");
    for (name, text) in &mut files {
        if *name == format!("{top}.sv") {
            *name = format!("{inside}.sv");
            *text = text.replacen(&format!("module {top} "), &format!("module {inside} "), 1);
        }
        *text = with_zeros(text);
    }
    let mut ports = Vec::new();
    let mut joined = Vec::new();
    for port in &design.ports {
        let direction = match port.direction {
            Direction::Input => "input",
            Direction::Output => "output",
        };
        let (name, high) = (&port.name, port.width - 1);
        ports.push(format!("    {direction} wire [{high}:0] {name}"));
        joined.push(format!(".{name}({name})"));
    }
    let names: Vec<&str> = recorded(&design.ports, clock)
        .map(|port| port.name.as_str())
        .collect();
    let wrapper = format!(
        "// Records its ports.
module {top} (
{}
);
    {inside} watched ({});
    integer recording;
    initial recording = $fopen(\"{}\", \"w\");
    always @(posedge {clock}) begin
        $fwrite(recording, \"{}\\n\", {});
        $fflush(recording);
    end
endmodule
",
        ports.join(",\n"),
        joined.join(", "),
        file.display(),
        vec!["%h"; names.len()].join(" "),
        names.join(", "),
    );
    files.push((format!("{top}.sv"), wrapper));
    files
}

/// `text` with memories that start with zeros.
fn with_zeros(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        out += line;
        out.push('\n');
        let last = line
            .split_once(" rows [0:")
            .and_then(|(_, tail)| tail.strip_suffix("];"));
        if let Some(last) = last {
            let _ = writeln!(
                out,
                "    initial for (int row = 0; row <= {last}; row = row + 1) rows[row] = '0;"
            );
        }
    }
    out
}

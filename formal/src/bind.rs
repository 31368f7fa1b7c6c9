//! Checkers into designs, by text.
//!
//! ```text
//!  module queue (…);                          module queue_properties #(…) (
//!      …                                          input s_valid,
//!      queue_store store (…);                     input [2:0] store__proof_row, …
//!      …                                      );
//!      (* hierconn *) wire [2:0] \store.proof_proof_row_is ;     ◄── yosys joins it with that of the instance
//!      queue_properties properties_queue_properties (.s_valid(s_valid), .store__proof_row(\store.proof_proof_row_is ), …);
//!  endmodule
//! ```
use crate::Error;

/// Memories of so many bits show all of their rows, as `proof_rows`.
const SMALL: usize = 2048;

/// `text` with an arbitrary row to look at in each memory.
pub fn with_proof_rows(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        out += line;
        out.push('\n');
        // "reg [7:0] rows [0:15];"
        let Some((range, last)) = line
            .split_once(" rows [0:")
            .and_then(|(head, tail)| Some((head.rsplit_once('[')?.1, tail.strip_suffix("];")?)))
        else {
            continue;
        };
        let rows: usize = last.parse().map_or(2, |last: usize| last + 1);
        let top = rows.next_power_of_two().ilog2() - 1;
        out += &format!(
            "    (* anyconst *) wire [{top}:0] proof_row;\n    wire [{range} proof_data = rows[proof_row];\n    \
             wire [{top}:0] proof_row_before = proof_row - 1'b1;\n    wire [{range} proof_before = rows[proof_row_before];\n"
        );
        let width = range
            .trim_end_matches(":0]")
            .parse()
            .map_or(1, |high: usize| high + 1);
        if rows * width <= SMALL {
            let all: Vec<String> = (0..rows).rev().map(|row| format!("rows[{row}]")).collect();
            let high = rows * width - 1;
            out += &format!("    wire [{high}:0] proof_rows = {{{}}};\n", all.join(", "));
        }
    }
    out
}

/// Binds `checker` to the instance `path` below `top`.
pub fn bind(
    text: &str,
    top: &str,
    path: &str,
    checker: &str,
    parameters: &[(&str, usize)],
) -> Result<String, Error> {
    let module = module_at(text, top, path)?;
    let (name, ports) = header(checker)?;
    let instance = format!(" properties_{name} (");
    let mut text = text.to_string();
    if module_text(&text, &module)?.contains(&instance) {
        return Ok(text);
    }
    let mut added = String::new();
    let mut connections = vec![];
    for port in &ports {
        let steps: Vec<&str> = port.split("__").collect();
        let (signal, instances) = steps.split_last().expect("split gives one part at least");
        let mut inside = module.clone();
        for instance in instances {
            inside = module_of(&text, &inside, instance)?;
        }
        let range =
            range_of(module_text(&text, &inside)?, signal).ok_or_else(|| Error::NoSignal {
                module: inside.clone(),
                signal: (*signal).into(),
            })?;
        if instances.is_empty() {
            connections.push(format!(".{port}({port})"));
            continue;
        }
        // by another name: joining a register itself would take its power-up value away
        let alias = format!("    wire {range} proof_{signal}_is = {signal};\n");
        let body = module_text(&text, &inside)?.to_string();
        if !body.contains(&alias) {
            let with = body.replacen("\nendmodule", &format!("\n{alias}endmodule"), 1);
            text = text.replacen(&body, &with, 1);
        }
        let path = format!("{}.proof_{signal}_is", instances.join("."));
        added += &format!("    (* hierconn *) wire {range} \\{path} ;\n");
        connections.push(format!(".{port}(\\{path} )"));
    }
    let values = parameters
        .iter()
        .map(|(name, value)| format!(".{name}({value})"));
    let values = values.collect::<Vec<_>>().join(", ");
    let values = match parameters.is_empty() {
        true => String::new(),
        false => format!(" #({values})"),
    };
    added += &format!("    {name}{values}{instance}{});\n", connections.join(", "));
    let body = module_text(&text, &module)?.to_string();
    let bound = body.replacen("\nendmodule", &format!("\n{added}endmodule"), 1);
    text = text.replacen(&body, &bound, 1);
    if !text.contains(checker) {
        text += checker;
    }
    Ok(text)
}

/// `text` with arbitrary outputs in the place of what is in the instance `path` below `top`.
pub fn free(text: &str, top: &str, path: &str) -> Result<String, Error> {
    let module = module_at(text, top, path)?;
    let body = module_text(text, &module)?;
    let head = body.split_once("\n);").map_or(body, |(head, _)| head);
    let mut freed = format!("{head}\n);\n");
    for line in head.lines() {
        let line = line.trim().trim_end_matches(',');
        let Some(output) = line.strip_prefix("output ") else {
            continue;
        };
        // "logic name", "logic [7:0] name", "types::record_t name"
        let output = output.trim_start_matches("logic ");
        let (range, name) = match output.rsplit_once(' ') {
            Some((range, name)) => (range.trim(), name),
            None => ("", output),
        };
        freed += &format!(
            "    (* anyseq *) wire {range} any_{name};\n    assign {name} = any_{name};\n"
        );
    }
    freed += "endmodule";
    Ok(text.replacen(body, &freed, 1))
}

/// Text from `module name (` to `endmodule`.
fn module_text<'t>(text: &'t str, name: &str) -> Result<&'t str, Error> {
    let from = text.find(&format!("\nmodule {name} (\n"));
    let rest = from.map(|from| &text[from..]);
    let body = rest.and_then(|rest| Some(&rest[..rest.find("\nendmodule")? + "\nendmodule".len()]));
    body.ok_or_else(|| Error::NoInstance {
        module: "of the design".into(),
        instance: name.into(),
    })
}

/// Module of the instance `path` below `top`, "" for the top.
fn module_at(text: &str, top: &str, path: &str) -> Result<String, Error> {
    let mut instances = path.split('.').filter(|step| !step.is_empty());
    instances.try_fold(top.to_string(), |module, instance| {
        module_of(text, &module, instance)
    })
}

/// Module of the instance `instance` in `module`.
fn module_of(text: &str, module: &str, instance: &str) -> Result<String, Error> {
    let body = module_text(text, module)?;
    let line = body
        .lines()
        .find_map(|line| line.trim().strip_suffix(&format!(" {instance} (")));
    line.map(str::to_string).ok_or_else(|| Error::NoInstance {
        module: module.into(),
        instance: instance.into(),
    })
}

/// Range of the declaration of `signal`: "[7:0]", the type of a record, or nothing for a single bit.
fn range_of(module: &str, signal: &str) -> Option<String> {
    module.lines().find_map(|line| {
        let line = line
            .trim()
            .trim_start_matches("(* anyconst *) ")
            .trim_start_matches("input ")
            .trim_start_matches("output ")
            .trim_start();
        let kinds = ["logic ", "reg ", "wire "];
        let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind));
        let is_record = |line: &str| {
            line.split(' ')
                .next()
                .is_some_and(|word| word.contains("::"))
        };
        let rest = rest
            .or_else(|| is_record(line).then_some(line))?
            .trim_start();
        let rest = rest.split(['=', ';']).next()?.trim();
        let (range, names) = match rest.starts_with('[') || is_record(rest) {
            true => rest.split_once(' ')?,
            false => ("", rest),
        };
        let mut names = names.split(',').map(str::trim);
        names.any(|name| name == signal).then(|| range.to_string())
    })
}

/// Name and ports of the first module of a checker. Ports are `input <range> <name>`, one a line or several.
fn header(checker: &str) -> Result<(String, Vec<String>), Error> {
    let text: String = checker
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().to_string() + "\n")
        .collect();
    let refuse = || Error::Checker(checker.lines().take(3).collect());
    let rest = text.split_once("module ").ok_or_else(refuse)?.1;
    let (head, _) = rest.split_once(");").ok_or_else(refuse)?;
    let name = head.split([' ', '#', '(']).next().unwrap_or_default();
    let ports = head.split("input ").skip(1).map(|port| {
        let port = port.trim().trim_end_matches(',').trim_end();
        port.rsplit([' ', ']'])
            .next()
            .unwrap_or_default()
            .to_string()
    });
    Ok((name.to_string(), ports.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESIGN: &str = "
module inner (
    input  wire        clock,
    output logic [7:0] out
);
    reg [7:0] rows [0:15];
endmodule

module outer (
    input  wire clock
);
    logic [3:0]            count_d, count_q;
    outer_types::beat_t    beat_d, beat_q;
    inner store (
        .clock (clock)
    );
endmodule
";

    #[test]
    fn a_checker_sees_signals_of_its_module_and_of_instances() {
        let text = with_proof_rows(DESIGN);
        let checker = "module c #(parameter N = 1) (\n input clock, input [3:0] count_q, // next\n input [3:0] store__proof_row\n);\nendmodule\n";
        let bound = bind(&text, "outer", "", checker, &[("N", 3)]).unwrap();
        assert!(bound.contains("    wire [3:0] proof_proof_row_is = proof_row;\nendmodule"));
        assert!(bound.contains("(* hierconn *) wire [3:0] \\store.proof_proof_row_is ;\n"));
        assert!(bound.contains(
            "c #(.N(3)) properties_c (.clock(clock), .count_q(count_q), \
             .store__proof_row(\\store.proof_proof_row_is ));\nendmodule"
        ));
        assert_eq!(bind(&bound, "outer", "", checker, &[]).unwrap(), bound);
    }

    #[test]
    fn declarations_have_a_range_or_the_type_of_a_record() {
        let outer = module_text(DESIGN, "outer").unwrap();
        let of = |signal| range_of(outer, signal);
        assert_eq!(of("clock"), Some(String::new()));
        assert_eq!(of("count_q"), Some("[3:0]".into()));
        assert_eq!(of("beat_q"), Some("outer_types::beat_t".into()));
        assert_eq!(of("beat"), None);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let checker = |port| format!("module c (input {port});\nendmodule\n");
        let said = |path, port| {
            let error = bind(DESIGN, "outer", path, &checker(port), &[]).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            said("", "store__lost"),
            "module inner has no signal lost, which a checker wants to see"
        );
        assert_eq!(said("shop", "clock"), "module outer has no instance shop");
    }
}

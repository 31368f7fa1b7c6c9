//! From [`Module`] to text.

use crate::check;
use crate::kernel::*;
use crate::names::SINK;
use crate::record::bits;
use crate::schedule;
use num_bigint::BigUint;
use num_traits::Zero;
use std::collections::{BTreeMap, HashMap};

/// Text of a module from its port list to `endmodule`, without its name, so that modules of equal behaviour have equal
/// text. `child_modules` names the module of each child node.
pub fn body(module: &Module, child_modules: &[String], style: Style<'_>) -> String {
    let aliases = match &module.body {
        Body::Kernel(statements) => schedule::aliases(module, statements),
        Body::Text(_) => HashMap::new(),
    };
    Printer {
        module,
        child_modules,
        aliases,
        style,
        lines: vec![],
    }
    .print()
}

/// How a module is written.
#[derive(Clone, Copy)]
pub struct Style<'a> {
    pub faults: Faults,
    /// Name of the package of records.
    pub types: &'a str,
    /// Whether fields are printed with what the source says of them.
    pub documented: bool,
}

/// Longer lists are written one item a line.
const LINE_LENGTH: usize = 100;

/// Mistakes planted on purpose, to show that the tests would find them. All off in real use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Leave out the parentheses around operators.
    pub no_parentheses: bool,
    /// Leave out casts, so that sums keep their carry and shifts their high bits.
    pub no_casts: bool,
    /// Write `<=` for `<`.
    pub wrong_compare: bool,
}

/// What opens a combinational process: `COMBINATIONAL_MACRO` defines it.
pub const COMBINATIONAL: &str = "`SV_WRITER_COMB";

/// Icarus 11 wakes an `always_comb` for the events of another one and never leaves time 0; everywhere else its checks are
/// worth having, and it runs once at time 0, which `always @*` does not.
pub const COMBINATIONAL_MACRO: &str = "\
`ifndef SV_WRITER_COMB
`ifdef __ICARUS__ // Icarus 11 never leaves time 0 in always_comb
`define SV_WRITER_COMB always @*
`else
`define SV_WRITER_COMB always_comb
`endif
`endif
";

struct Printer<'a> {
    module: &'a Module,
    child_modules: &'a [String],
    /// Signals that go by another signal's name.
    aliases: HashMap<SignalId, SignalId>,
    style: Style<'a>,
    lines: Vec<String>,
}

impl Printer<'_> {
    fn print(mut self) -> String {
        self.port_list();
        self.constants();
        self.registers();
        self.locals();
        self.instances();
        match &self.module.body {
            Body::Kernel(statements) => self.kernel(statements),
            Body::Text(text) => {
                self.section("logic");
                let lines = text.trim_end().lines();
                self.lines
                    .extend(lines.map(|line| format!("    {}", line.trim_end())));
            }
        }
        self.flip_flops();
        self.sink();
        let trimmed = self.lines.iter().map(|line| line.trim_end());
        trimmed.map(|line| format!("{line}\n")).collect()
    }

    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    fn section(&mut self, title: &str) {
        self.line("");
        self.line(format!("    // {title}"));
    }

    /// What the source says of a field, above what it becomes.
    fn doc(&mut self, doc: &[String]) {
        if self.style.documented {
            let lines = doc.iter().map(|line| format!("    // {line}"));
            self.lines.extend(lines);
        }
    }

    /// The signal by whose name `id` goes.
    fn kept(&self, id: SignalId) -> &Signal {
        match self.aliases.get(&id) {
            Some(kept) => self.kept(*kept),
            None => &self.module.signals[id],
        }
    }

    fn name(&self, id: SignalId) -> &str {
        &self.kept(id).name
    }

    /// Type of a signal, as it stands before its name.
    fn data_type(&self, signal: &Signal) -> String {
        let net = if signal.role == Role::Input {
            "wire "
        } else {
            ""
        };
        match &signal.record {
            Some(record) => format!("{net}{}::{} ", self.style.types, record.name),
            None if net.is_empty() => format!("logic {}", range(signal)),
            None => format!("{net}{}", range(signal)),
        }
    }

    fn widest<'s>(&self, signals: impl Iterator<Item = &'s Signal>) -> usize {
        let types = signals.map(|signal| self.data_type(signal).len());
        types.max().unwrap_or(0)
    }

    /// Bits to assign to: Icarus 11 takes whole fields, but no part of one.
    fn field(&self, signal: &Signal, low: usize, width: usize) -> String {
        let part = self.part(signal, low, width);
        match signal.record.is_some() && part.contains('[') {
            true => format!("{}{}", signal.name, bits(low, width)),
            false => part,
        }
    }

    /// Bits of a signal, as its field where they are one.
    fn part(&self, signal: &Signal, low: usize, width: usize) -> String {
        let record = signal.record.as_ref();
        let path = record.and_then(|record| record.path(low, width));
        format!(
            "{}{}",
            signal.name,
            path.unwrap_or_else(|| bits(low, width))
        )
    }

    fn signals(&self, wanted: impl Fn(&Signal) -> bool) -> Vec<(SignalId, Signal)> {
        let all = self.module.signals.iter().enumerate();
        all.filter(|(_, s)| wanted(s))
            .map(|(id, s)| (id, s.clone()))
            .collect()
    }
}

// ---- declarations

impl Printer<'_> {
    fn port_list(&mut self) {
        let ports = self.signals(|s| matches!(s.role, Role::Input | Role::Output));
        let align = self.widest(ports.iter().map(|(_, s)| s));
        let count = ports.len();
        for (index, (_, port)) in ports.into_iter().enumerate() {
            let direction = match port.role {
                Role::Input => "input ",
                _ => "output",
            };
            let comma = if index + 1 < count { "," } else { "" };
            self.doc(&port.doc);
            self.line(format!(
                "    {direction} {:align$}{}{comma}",
                self.data_type(&port),
                port.name
            ));
        }
        self.line(");");
    }

    fn constants(&mut self) {
        let (mut signals, mut members) = (vec![], BTreeMap::new());
        match &self.module.body {
            Body::Kernel(statements) => statements.iter().for_each(|statement| {
                statement.walk(&mut |s| {
                    for expression in s.own_expressions() {
                        expression.reads(&mut |id, _| signals.push(id));
                        expression.members(&mut |name, value, width| {
                            members.insert((width, name.to_string()), value.clone());
                        });
                    }
                });
            }),
            Body::Text(text) => {
                let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let words: Vec<&str> = text.split(|c| !word(c)).collect();
                signals.extend(
                    (0..self.module.signals.len()).filter(|id| words.contains(&self.name(*id))),
                );
            }
        }
        let constants = self.signals(|s| matches!(s.role, Role::Constant(_)));
        let used: Vec<_> = constants
            .into_iter()
            .filter(|(id, _)| signals.contains(id))
            .collect();
        if used.is_empty() && members.is_empty() {
            return;
        }
        self.section("constants");
        let enums = members
            .into_iter()
            .map(|((width, name), value)| (name, width, value));
        let enums: Vec<_> = enums.collect();
        for (_, signal) in used {
            if let Role::Constant(value) = &signal.role {
                let literal = literal(value, signal.width);
                self.doc(&signal.doc);
                self.line(format!(
                    "    localparam logic {}{} = {literal};",
                    range(&signal),
                    signal.name
                ));
            }
        }
        let mut enums = enums;
        enums.sort_by_key(|(name, _, value)| (prefix(name), value.clone()));
        for (name, width, value) in enums {
            let range = range_of(width);
            self.line(format!(
                "    localparam logic {range}{name} = {};",
                literal(&value, width)
            ));
        }
    }

    fn registers(&mut self) {
        let flip_flops: Vec<(SignalId, SignalId)> = self.flip_flop_signals();
        if flip_flops.is_empty() {
            return;
        }
        self.section("registers");
        let align = self.widest(flip_flops.iter().map(|(d, _)| &self.module.signals[*d]));
        for (d, q) in flip_flops {
            let data_type = self.data_type(&self.module.signals[d]);
            self.doc(&self.module.signals[d].doc);
            self.line(format!(
                "    {data_type:align$}{}, {};",
                self.name(d),
                self.name(q)
            ));
        }
    }

    fn flip_flop_signals(&self) -> Vec<(SignalId, SignalId)> {
        let children = self.module.children.iter();
        children
            .filter_map(|child| match child {
                Child::FlipFlop { d, q, .. } => Some((*d, *q)),
                Child::Instance { .. } => None,
            })
            .collect()
    }

    fn locals(&mut self) {
        let locals = self.signals(|s| s.role == Role::Local);
        if locals.is_empty() {
            return;
        }
        self.section("signals");
        let align = self.widest(locals.iter().map(|(_, s)| s));
        for (_, local) in locals {
            self.doc(&local.doc);
            let data_type = self.data_type(&local);
            self.line(format!("    {data_type:align$}{};", local.name));
        }
    }

    fn instances(&mut self) {
        let instances: Vec<_> = self
            .module
            .children
            .iter()
            .filter_map(|child| match child {
                Child::Instance {
                    name,
                    node,
                    ports,
                    doc,
                } => Some((name, *node, ports, doc)),
                Child::FlipFlop { .. } => None,
            })
            .collect();
        self.wires(instances.iter().flat_map(|(_, _, ports, _)| ports.iter()));
        for (name, node, ports, doc) in instances {
            self.line("");
            self.doc(doc);
            self.line(format!("    {} {name} (", self.child_modules[node]));
            let align = ports.iter().map(|(port, _)| port.len()).max().unwrap_or(0);
            for (index, (port, id)) in ports.iter().enumerate() {
                let net = self.name(*self.module.clocks.get(id).unwrap_or(id));
                let comma = if index + 1 < ports.len() { "," } else { "" };
                self.line(format!("        .{port:align$} ({net}){comma}"));
            }
            self.line("    );");
        }
    }

    /// What the ports of sub-blocks are connected with, unless they share another signal's name.
    fn wires<'p>(&mut self, ports: impl Iterator<Item = &'p (String, SignalId)>) {
        let wires: Vec<Signal> = ports
            .filter(|(_, id)| !self.aliases.contains_key(id))
            .map(|(_, id)| self.module.signals[*id].clone())
            .filter(|s| !(s.clock && s.role == Role::ChildInput))
            .collect();
        if wires.is_empty() {
            return;
        }
        self.section("ports of sub-blocks");
        let align = self.widest(wires.iter());
        for wire in wires {
            let data_type = self.data_type(&wire);
            self.line(format!("    {data_type:align$}{};", wire.name));
        }
    }

    fn flip_flops(&mut self) {
        let mut by_clock: BTreeMap<SignalId, Vec<(SignalId, SignalId, BigUint)>> = BTreeMap::new();
        for child in &self.module.children {
            if let Child::FlipFlop {
                d,
                q,
                clock,
                power_up,
            } = child
            {
                let source = self.module.clocks.get(clock).unwrap_or(clock);
                by_clock
                    .entry(*source)
                    .or_default()
                    .push((*d, *q, power_up.clone()));
            }
        }
        for (clock, registers) in by_clock {
            self.line("");
            // `always_ff` forbids a second writer, and `initial` is one (IEEE 1800-2017 9.2.2.4).
            self.line("    initial begin");
            for (_, q, power_up) in &registers {
                let value = literal(power_up, self.module.signals[*q].width);
                self.line(format!("        {} = {value};", self.name(*q)));
            }
            self.line("    end");
            self.line(format!("    always @(posedge {}) begin", self.name(clock)));
            for (d, q, _) in &registers {
                self.line(format!("        {} <= {};", self.name(*q), self.name(*d)));
            }
            self.line("    end");
        }
    }

    /// Verilator's idiom for signals that are not used on purpose.
    fn sink(&mut self) {
        let mut unused = vec![];
        for (id, bits) in check::unread(self.module)
            .iter()
            .enumerate()
            .filter(|(_, bits)| !bits.is_zero())
        {
            let signal = &self.module.signals[id];
            if bits.count_ones() == signal.width as u64 {
                unused.push(signal.name.clone());
                continue;
            }
            for (low, width) in check::runs(bits, signal.width) {
                let parts = match &signal.record {
                    Some(record) => record.split(low, width),
                    None => vec![(low, width)],
                };
                unused.extend(
                    parts
                        .iter()
                        .map(|(low, width)| self.part(signal, *low, *width)),
                );
            }
        }
        if unused.is_empty() {
            return;
        }
        self.section("bits that nothing reads");
        let line = format!("    wire {SINK} = &{{1'b0, {}}};", unused.join(", "));
        if line.len() <= LINE_LENGTH {
            return self.line(line);
        }
        self.line(format!("    wire {SINK} = &{{"));
        self.line("        1'b0,");
        self.line(format!("        {}", unused.join(",\n        ")));
        self.line("    };");
    }
}

fn prefix(name: &str) -> String {
    name.split('_').next().unwrap_or_default().into()
}

fn range(signal: &Signal) -> String {
    range_of(signal.width)
}

fn range_of(width: usize) -> String {
    match width {
        1 => String::new(),
        _ => format!("[{}:0] ", width - 1),
    }
}

fn literal(value: &BigUint, width: usize) -> String {
    match width {
        1 => format!("1'b{value}"),
        _ => format!("{width}'h{value:x}"),
    }
}

// ---- logic

impl Printer<'_> {
    fn kernel(&mut self, statements: &[Statement]) {
        let clocks = self.module.clocks.iter();
        let passed_on: Vec<String> = clocks
            .filter(|(to, _)| self.module.signals[**to].role == Role::Output)
            .map(|(to, from)| format!("    assign {} = {};", self.name(*to), self.name(*from)))
            .collect();
        let processes = schedule::processes(statements, &self.aliases);
        if passed_on.is_empty() && processes.is_empty() {
            return;
        }
        self.section("logic");
        self.lines.extend(passed_on);
        for process in processes {
            let last = self.lines.last().map_or("", String::as_str);
            if !last.contains("// ") && (!process.alone || last == "    end") {
                self.line("");
            }
            for text in process.comments {
                self.comment(text, "    ");
            }
            if process.alone {
                for (_, statement) in process.statements {
                    self.statement(statement, 1, "assign ");
                }
                continue;
            }
            self.line(format!("    {COMBINATIONAL} begin"));
            for (comments, statement) in process.statements {
                for text in comments {
                    self.comment(text, "        ");
                }
                self.statement(statement, 2, "");
            }
            self.line("    end");
        }
    }

    fn comment(&mut self, text: &str, pad: &str) {
        let opened =
            |line: &String| line.is_empty() || line.ends_with("begin") || line.contains("// ");
        if !self.lines.last().is_some_and(opened) {
            self.line("");
        }
        self.line(format!("{pad}// {text}"));
    }

    fn block(&mut self, statements: &[Statement], depth: usize) {
        for statement in statements {
            self.statement(statement, depth, "");
        }
    }

    fn statement(&mut self, statement: &Statement, depth: usize, keyword: &str) {
        let pad = "    ".repeat(depth);
        match statement {
            Statement::Assign { target, value } => {
                let signal = self.kept(target.signal);
                let name = &signal.name;
                let target = match &target.part {
                    None => name.clone(),
                    Some((Position::Constant(low), width)) => self.field(signal, *low, *width),
                    Some((Position::Dynamic(at), 1)) => format!("{name}[{}]", self.outer(at)),
                    Some((Position::Dynamic(at), width)) => {
                        format!("{name}[{} +: {width}]", self.outer(at))
                    }
                };
                let text = format!("{pad}{keyword}{target} = {};", self.outer(value));
                self.line(text);
            }
            Statement::If {
                test,
                then,
                otherwise,
            } => self.conditional(test, then, otherwise, depth, &pad),
            Statement::Case { test, arms } => {
                self.line(format!("{pad}case ({})", self.outer(test)));
                for (label, block) in arms {
                    let label = match label {
                        Label::Value(value) => format!("{}: begin", self.outer(value)),
                        Label::Default => "default: begin".into(),
                        Label::Last(value) => format!("default: begin // {}", self.outer(value)),
                    };
                    self.line(format!("{pad}    {label}"));
                    self.block(block, depth + 2);
                    self.line(format!("{pad}    end"));
                }
                self.line(format!("{pad}endcase"));
            }
            Statement::Comment(text) => self.comment(text, &pad),
        }
    }

    fn conditional(
        &mut self,
        test: &Expr,
        then: &[Statement],
        otherwise: &[Statement],
        depth: usize,
        pad: &str,
    ) {
        self.line(format!("{pad}if ({}) begin", self.outer(test)));
        self.block(then, depth + 1);
        let mut rest = otherwise;
        while let [
            Statement::If {
                test,
                then,
                otherwise,
            },
        ] = rest
        {
            self.line(format!("{pad}end else if ({}) begin", self.outer(test)));
            self.block(then, depth + 1);
            rest = otherwise;
        }
        if !rest.is_empty() {
            self.line(format!("{pad}end else begin"));
            self.block(rest, depth + 1);
        }
        self.line(format!("{pad}end"));
    }

    /// An expression that needs no parentheses around it.
    fn outer(&self, e: &Expr) -> String {
        match e {
            Expr::Signal(id) => self.name(*id).into(),
            Expr::Literal { value, width } => literal(value, *width),
            Expr::Member { name, .. } => name.clone(),
            Expr::Slice { of, low, width } => self.part(self.kept(*of), *low, *width),
            Expr::Part { of, low, width: 1 } => format!("{}[{}]", self.name(*of), self.outer(low)),
            Expr::Part { of, low, width } => {
                format!("{}[{} +: {width}]", self.name(*of), self.outer(low))
            }
            Expr::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.outer(part)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Expr::Resize { value, .. } if self.style.faults.no_casts => self.inner(value),
            Expr::Resize { value, width } => self.resized(value, *width),
            Expr::Shift { left, value, by } => {
                let by = match by {
                    Position::Constant(distance) => distance.to_string(),
                    Position::Dynamic(distance) => self.inner(distance),
                };
                format!(
                    "{} {} {by}",
                    self.inner(value),
                    if *left { "<<" } else { ">>" }
                )
            }
            Expr::Unary(op, value) => {
                let symbol = match op {
                    UnaryOp::Not => "~",
                    UnaryOp::All => "&",
                    UnaryOp::Any => "|",
                    UnaryOp::Xor => "^",
                };
                format!("{symbol}{}", self.inner(value))
            }
            Expr::Binary(BinaryOp::Lt, left, right) if self.style.faults.wrong_compare => {
                format!("{} <= {}", self.inner(left), self.inner(right))
            }
            Expr::Binary(op, left, right) => {
                format!("{} {} {}", self.inner(left), op.symbol(), self.inner(right))
            }
        }
    }

    /// Tools disagree on whether the operand of a size cast is self-determined; that of a concatenation always is. And Icarus 11
    /// casts no field of a record.
    fn resized(&self, value: &Expr, width: usize) -> String {
        let from = value.width(&self.module.signals);
        let is_concatenated = match value {
            Expr::Shift { .. } | Expr::Unary(..) | Expr::Binary(..) => true,
            Expr::Signal(of) | Expr::Slice { of, .. } => self.kept(*of).record.is_some(),
            _ => false,
        };
        match is_concatenated && from < width {
            true => {
                let zeros = literal(&BigUint::zero(), width - from);
                format!("{{{zeros}, {}}}", self.outer(value))
            }
            false => format!("{width}'({})", self.outer(value)),
        }
    }

    /// An expression as an operand. A size cast is one too: yosys 0.70 reads `~1'(x)` as `(~1)'(x)`.
    fn inner(&self, e: &Expr) -> String {
        match e {
            Expr::Shift { .. } | Expr::Unary(..) | Expr::Binary(..) | Expr::Resize { .. }
                if !self.style.faults.no_parentheses =>
            {
                format!("({})", self.outer(e))
            }
            _ => self.outer(e),
        }
    }
}

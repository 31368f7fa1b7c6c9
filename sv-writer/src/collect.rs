//! The tree of blocks below a top block, as rust-hdl's `Probe` shows it.

use crate::clocked;
use crate::dff;
use crate::doc;
use crate::error::{Problem, WriteError};
use crate::names;
use crate::record::Record;
use num_bigint::BigUint;
use num_traits::Num;
use rust_hdl_core::prelude::*;
use std::rc::Rc;

/// One block instance.
pub struct Node {
    /// Path from the top, for people: `rx.crc.step[3]`.
    pub path: String,
    /// Name within the parent, as written: `step_3`.
    pub name: String,
    /// Ports, local signals and constants, in declaration order.
    pub atoms: Vec<AtomInfo>,
    /// Sub-blocks, in declaration order.
    pub children: Vec<Node>,
    /// What the block does.
    pub code: Verilog,
    /// What its Rust source says of it; empty without [`Block`](crate::Block)'s derive.
    pub doc: Vec<String>,
    /// What its owner says of the field.
    pub field_doc: Vec<String>,
    /// Clock of its owner that the derive gives it; see [`clocked`].
    pub clock: Option<String>,
}

/// One port, local signal or constant.
pub struct AtomInfo {
    /// What its owner says of the field; of the signals of one field, the first has it.
    pub doc: Vec<String>,
    /// Name as written: `s_axis_tdata`.
    pub name: String,
    /// Direction.
    pub kind: AtomKind,
    /// Bits.
    pub width: usize,
    /// Whether the type is `Clock`.
    pub clock: bool,
    /// Its fields, of a `LogicStruct`.
    pub record: Option<Rc<Record>>,
    /// Value at the time of writing; what counts for constants.
    pub value: BigUint,
    /// Enums that the type holds.
    pub enums: Vec<EnumInfo>,
}

/// One `LogicState`: members are `State::Idle`, in the order of their values.
#[derive(Clone)]
pub struct EnumInfo {
    /// Bits of the encoding.
    pub width: usize,
    /// Labels with their type's name.
    pub members: Vec<String>,
}

impl Node {
    /// Power-up value when the block is a flip-flop.
    pub fn power_up(&self) -> Option<BigUint> {
        match &self.code {
            Verilog::Custom(text) => dff::power_up(text).and_then(parse_hex),
            _ => None,
        }
    }

    /// Ports only.
    pub fn ports(&self) -> impl Iterator<Item = &AtomInfo> {
        self.atoms.iter().filter(|atom| atom.kind.is_parameter())
    }
}

/// Visits `block` and everything below it.
pub fn collect(block: &dyn Block, top: &str) -> Result<Node, WriteError> {
    let mut collector = Collector::default();
    block.accept(top, &mut collector);
    match (collector.refused, collector.root) {
        (Some(error), _) => Err(error),
        (None, Some(root)) => Ok(root),
        (None, None) => Err(WriteError {
            module: top.into(),
            problem: Problem::Unsupported("a bare signal is no block"),
        }),
    }
}

/// A block that is being visited.
struct Open {
    node: Node,
    namespace: Vec<String>,
    /// What its derive clocks the field at hand by.
    clock: Option<String>,
}

#[derive(Default)]
struct Collector {
    /// Of the field that comes next.
    field_doc: Vec<String>,
    /// A block has just been opened.
    block_doc: bool,
    stack: Vec<Open>,
    root: Option<Node>,
    refused: Option<WriteError>,
}

impl Collector {
    fn refuse(&mut self, problem: Problem) {
        let module = self
            .stack
            .last()
            .map_or_else(String::new, |open| open.node.path.clone());
        self.refused.get_or_insert(WriteError { module, problem });
    }
}

impl Probe for Collector {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        let shown = names::shown(name);
        let path = match self.stack.last() {
            Some(parent) if self.stack.len() > 1 => format!("{}.{shown}", parent.node.path),
            _ => shown,
        };
        let node = Node {
            path,
            name: names::flat(name),
            atoms: vec![],
            children: vec![],
            code: node.hdl(),
            doc: vec![],
            field_doc: std::mem::take(&mut self.field_doc),
            clock: self.stack.last().and_then(|open| open.clock.clone()),
        };
        self.block_doc = true;
        self.stack.push(Open {
            node,
            namespace: vec![],
            clock: None,
        });
    }

    fn visit_start_namespace(&mut self, name: &str, _: &dyn Block) {
        if let Some(open) = self.stack.last_mut() {
            if let Some(text) = name.strip_prefix(doc::MARK) {
                // the first one of a block is the block's, the others open a field
                match std::mem::take(&mut self.block_doc) {
                    true => open.node.doc = doc::plain(text),
                    false => self.field_doc = doc::plain(text),
                }
                open.clock = None;
            }
            if let Some(clock) = name.strip_prefix(clocked::MARK) {
                open.clock = Some(names::flat(clock));
            }
            open.namespace.push(names::flat(name));
        }
    }

    fn visit_atom(&mut self, name: &str, atom: &dyn Atom) {
        let Some(open) = self.stack.last() else {
            return;
        };
        let name = open
            .namespace
            .iter()
            .cloned()
            .chain([names::flat(name)])
            .collect::<Vec<_>>()
            .join("_");
        let descriptor = atom.descriptor();
        let mut enums = vec![];
        find_enums(&descriptor, &mut enums);
        match atom.kind() {
            AtomKind::InOutParameter => self.refuse(Problem::InOut(name.clone())),
            _ if atom.bits() == 0 => self.refuse(Problem::NoBits(name.clone())),
            _ if has_sign(&descriptor) => self.refuse(Problem::Signed(name.clone())),
            _ => {}
        }
        let info = AtomInfo {
            doc: std::mem::take(&mut self.field_doc),
            kind: atom.kind(),
            width: atom.bits(),
            clock: descriptor.name == "clock",
            record: Record::of(&descriptor),
            value: literal_value(&atom.verilog()),
            enums,
            name,
        };
        if let Some(open) = self.stack.last_mut() {
            open.node.atoms.push(info);
        }
    }

    fn visit_end_namespace(&mut self, _: &str, _: &dyn Block) {
        if let Some(open) = self.stack.last_mut() {
            open.namespace.pop();
        }
    }

    fn visit_end_scope(&mut self, _: &str, _: &dyn Block) {
        self.block_doc = false; // of a block that has none
        if let Some(Open { node, .. }) = self.stack.pop() {
            match self.stack.last_mut() {
                Some(parent) => parent.node.children.push(node),
                None => self.root = Some(node),
            }
        }
    }
}

fn find_enums(descriptor: &TypeDescriptor, found: &mut Vec<EnumInfo>) {
    match &descriptor.kind {
        TypeKind::Enum(members) => found.push(EnumInfo {
            width: clog2(members.len()),
            members: members.clone(),
        }),
        TypeKind::Composite(fields) => fields.iter().for_each(|f| find_enums(&f.kind, found)),
        TypeKind::Bits(_) | TypeKind::Signed(_) => {}
    }
}

fn has_sign(descriptor: &TypeDescriptor) -> bool {
    match &descriptor.kind {
        TypeKind::Signed(_) => true,
        TypeKind::Composite(fields) => fields.iter().any(|f| has_sign(&f.kind)),
        TypeKind::Bits(_) | TypeKind::Enum(_) => false,
    }
}

/// Value of a literal. Negative ones occur with signed types only, which are refused.
pub fn literal_value(literal: &VerilogLiteral) -> BigUint {
    let text = format!("{literal:x}");
    text.split_once("'h")
        .and_then(|(_, digits)| parse_hex(digits))
        .unwrap_or_default()
}

fn parse_hex(digits: &str) -> Option<BigUint> {
    BigUint::from_str_radix(digits, 16).ok()
}

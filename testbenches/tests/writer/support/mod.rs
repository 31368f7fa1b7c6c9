//! A block whose ports and statements are made at run time.

use rust_hdl_core::ast::VerilogStatement;
use rust_hdl_core::constraint::PinConstraint;
use rust_hdl_core::prelude::*;

/// A signal or constant without a Rust type.
#[derive(Clone)]
pub struct Atomic {
    pub name: String,
    pub kind: AtomKind,
    pub width: usize,
    pub value: u128,
}

impl Atomic {
    pub fn new(name: &str, kind: AtomKind, width: usize) -> Self {
        Self {
            name: name.into(),
            kind,
            width,
            value: 0,
        }
    }
}

impl Atom for Atomic {
    fn bits(&self) -> usize {
        self.width
    }
    fn connected(&self) -> bool {
        true
    }
    fn changed(&self) -> bool {
        false
    }
    fn kind(&self) -> AtomKind {
        self.kind
    }
    fn descriptor(&self) -> TypeDescriptor {
        TypeDescriptor {
            name: format!("Bits<{}>", self.width),
            kind: TypeKind::Bits(self.width),
        }
    }
    fn vcd(&self) -> VCDValue {
        VCDValue::Vector(vec![])
    }
    fn id(&self) -> usize {
        0
    }
    fn verilog(&self) -> VerilogLiteral {
        self.value.into()
    }
    fn constraints(&self) -> Vec<PinConstraint> {
        vec![]
    }
}

#[derive(Default)]
pub struct Kernel {
    pub atoms: Vec<Atomic>,
    pub statements: Vec<VerilogStatement>,
}

impl Logic for Kernel {
    fn update(&mut self) {}
    fn hdl(&self) -> Verilog {
        Verilog::Combinatorial(self.statements.clone())
    }
}

impl Block for Kernel {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}
    fn has_changed(&self) -> bool {
        false
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        for atom in &self.atoms {
            probe.visit_atom(&atom.name, atom);
        }
        probe.visit_end_scope(name, self);
    }
}

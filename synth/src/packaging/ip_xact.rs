//! `warpline.xml`: the device as an IP-XACT component (IEEE 1685-2014).
//!
//! ```text
//!  ports ─► bus interfaces, each port of one mapped to its signal      registers ─► memory map
//!        └─► model: ports with direction and width                     sources   ─► file set
//! ```
//!
//! Bus definitions are those of Arm's AMBA 4 library, `amba.com`; they come with the tools.

use warpline_regmap::register;
use warpline_regmap::register_list;
use warpline_regmap::{Access, Field, Register};
use warpline_sv_writer::Direction;

use super::names::{Names, VERSION};
use super::ports::{INTERFACES, Interface, Protocol, meaning};

/// Namespace of the standard's schema.
const NAMESPACE: &str = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014";
/// Name of the memory map that the registers are in.
const MAP: &str = "registers";
/// Name of the view and of its file set.
const VIEW: &str = "rtl";
/// Name of the field of a register that is one plain number.
const PLAIN: &str = "VALUE";

pub(super) fn text(names: &Names<'_>) -> String {
    let mut xml = Xml {
        text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Generated; do not edit. -->\n"
            .into(),
        depth: 0,
    };
    let root = format!(
        "component xmlns:ipxact=\"{NAMESPACE}\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"{NAMESPACE} {NAMESPACE}/index.xsd\""
    );
    xml.element(&root, |xml| {
        xml.leaf("vendor", "warpline");
        xml.leaf("library", "iwarp");
        xml.leaf("name", names.top);
        xml.leaf("version", VERSION);
        xml.element("busInterfaces", |xml| {
            let has = |interface: &&Interface| {
                let mut ports = names.design.ports.iter();
                ports.any(|port| interface.signal(&port.name).is_some())
            };
            for interface in INTERFACES.iter().filter(has) {
                bus_interface(xml, interface, names);
            }
        });
        xml.element("memoryMaps", memory_map);
        xml.element("model", |xml| model(xml, names));
        xml.element("fileSets", |xml| file_set(xml, names));
        xml.leaf("description", &names.device);
    });
    xml.text
}

/// XML as it is written: elements of the standard's namespace.
struct Xml {
    text: String,
    /// Elements that are open.
    depth: usize,
}

impl Xml {
    fn line(&mut self, line: &str) {
        let indent = 2 * self.depth;
        self.text += &format!("{:indent$}{line}\n", "");
    }

    /// An element with what `inside` writes; `tag` may have attributes.
    fn element(&mut self, tag: &str, inside: impl FnOnce(&mut Self)) {
        self.line(&format!("<ipxact:{tag}>"));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        let name = tag.split(' ').next().unwrap_or_default();
        self.line(&format!("</ipxact:{name}>"));
    }

    /// An element with a text.
    fn leaf(&mut self, tag: &str, text: &str) {
        self.line(&format!("<ipxact:{tag}>{}</ipxact:{tag}>", escaped(text)));
    }

    /// An element with attributes only.
    fn empty(&mut self, tag: &str) {
        self.line(&format!("<ipxact:{tag}/>"));
    }
}

fn escaped(text: &str) -> String {
    let text = text.trim().replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn bus_interface(xml: &mut Xml, interface: &Interface, names: &Names<'_>) {
    let (bus, version) = match interface.protocol {
        Protocol::Axi4 => ("AXI4", "r0p0"),
        Protocol::Axi4Lite => ("AXI4-Lite", "r0p0"),
        Protocol::Axi4Stream => ("AXI4Stream", "r0p0_1"),
    };
    let of = |kind: &str, suffix: &str| {
        format!(
            "{kind} vendor=\"amba.com\" library=\"AMBA4\" name=\"{bus}{suffix}\" version=\"{version}\""
        )
    };
    let ports = names.design.ports.iter();
    let signals = ports.filter_map(|port| Some((port, interface.signal(&port.name)?)));
    xml.element("busInterface", |xml| {
        xml.leaf("name", interface.name);
        xml.empty(&of("busType", ""));
        xml.element("abstractionTypes", |xml| {
            xml.element("abstractionType", |xml| {
                xml.empty(&of("abstractionRef", "_rtl"));
                xml.element("portMaps", |xml| {
                    for (port, signal) in signals {
                        xml.element("portMap", |xml| {
                            xml.element("logicalPort", |xml| xml.leaf("name", &signal));
                            xml.element("physicalPort", |xml| xml.leaf("name", &port.name));
                        });
                    }
                });
            });
        });
        match (interface.master, interface.protocol) {
            (true, _) => xml.empty("master"),
            (false, Protocol::Axi4Lite) => xml.element("slave", |xml| {
                xml.empty(&format!("memoryMapRef memoryMapRef=\"{MAP}\""));
            }),
            (false, _) => xml.empty("slave"),
        }
    });
}

fn model(xml: &mut Xml, names: &Names<'_>) {
    xml.element("views", |xml| {
        xml.element("view", |xml| {
            xml.leaf("name", VIEW);
            xml.leaf("componentInstantiationRef", VIEW);
        });
    });
    xml.element("instantiations", |xml| {
        xml.element("componentInstantiation", |xml| {
            xml.leaf("name", VIEW);
            xml.leaf("language", "SystemVerilog");
            xml.leaf("moduleName", names.top);
            xml.element("fileSetRef", |xml| xml.leaf("localName", VIEW));
        });
    });
    xml.element("ports", |xml| {
        for port in &names.design.ports {
            xml.element("port", |xml| {
                xml.leaf("name", &port.name);
                xml.leaf(
                    "description",
                    &meaning(&port.name, &names.design.ports).unwrap_or_default(),
                );
                xml.element("wire", |xml| {
                    xml.leaf(
                        "direction",
                        match port.direction {
                            Direction::Input => "in",
                            Direction::Output => "out",
                        },
                    );
                    if port.width > 1 {
                        xml.element("vectors", |xml| {
                            xml.element("vector", |xml| {
                                xml.leaf("left", &(port.width - 1).to_string());
                                xml.leaf("right", "0");
                            });
                        });
                    }
                });
            });
        }
    });
}

fn file_set(xml: &mut Xml, names: &Names<'_>) {
    xml.element("fileSet", |xml| {
        xml.leaf("name", VIEW);
        for file in &names.sources {
            xml.element("file", |xml| {
                xml.leaf("name", file);
                xml.leaf("fileType", "systemVerilogSource");
            });
        }
    });
}

fn memory_map(xml: &mut Xml) {
    xml.element("memoryMap", |xml| {
        xml.leaf("name", MAP);
        xml.element("addressBlock", |xml| {
            xml.leaf("name", MAP);
            xml.leaf("baseAddress", "'h0");
            xml.leaf("range", &hexadecimal(register::SPACE.into()));
            xml.leaf("width", "32");
            xml.leaf("usage", "register");
            for group in groups() {
                match group[..] {
                    [single]
                        if single.words() == 1 && (single.count == 1 || single.stride == 4) =>
                    {
                        let dimension = (single.count > 1).then_some(single.count);
                        word(xml, single, single.name, dimension, single.offset, 0);
                    }
                    _ => file(xml, &group),
                }
            }
        });
        xml.leaf("addressUnitBits", "8");
    });
}

fn hexadecimal(value: u64) -> String {
    format!("'h{value:x}")
}

/// Registers in order; arrays that lie between each other's elements together, as one register file.
fn groups() -> Vec<Vec<&'static Register>> {
    let mut groups: Vec<Vec<&Register>> = Vec::new();
    for register in register_list::all() {
        match groups.last_mut() {
            Some(group) if between(register, group[0]) => group.push(register),
            _ => groups.push(vec![register]),
        }
    }
    groups
}

fn between(register: &Register, first: &Register) -> bool {
    (register.count, register.stride) == (first.count, first.stride)
        && first.count > 1
        && register.offset < first.offset + first.stride
}

/// An array of elements of several registers, or of one register of several words.
fn file(xml: &mut Xml, group: &[&'static Register]) {
    let first = group[0];
    xml.element("registerFile", |xml| {
        let names: Vec<_> = group.iter().map(|register| register.name).collect();
        xml.leaf("name", &names.join("_AND_"));
        xml.leaf("dim", &first.count.to_string());
        xml.leaf("addressOffset", &hexadecimal(first.offset.into()));
        xml.leaf("range", &hexadecimal(first.stride.into()));
        for register in group {
            let offset = register.offset - first.offset;
            for at in 0..register.words() {
                let name = match register.words() {
                    1 => register.name.to_owned(),
                    _ => format!("{}_{at}", register.name),
                };
                word(xml, register, &name, None, offset + 4 * at, at);
            }
        }
    });
}

/// A register, or word `at` of one that has several.
fn word(
    xml: &mut Xml,
    register: &Register,
    name: &str,
    dimension: Option<u32>,
    offset: u32,
    at: u32,
) {
    xml.element("register", |xml| {
        xml.leaf("name", name);
        xml.leaf("description", register.doc);
        if let Some(dimension) = dimension {
            xml.leaf("dim", &dimension.to_string());
        }
        xml.leaf("addressOffset", &hexadecimal(offset.into()));
        xml.leaf("size", "32");
        let plain = Field {
            name: PLAIN,
            lsb: 32 * at as usize,
            width: 32,
            doc: "",
        };
        let here = |field: &&Field| field.lsb / 32 == at as usize;
        let mut fields: Vec<_> = register.fields.iter().filter(here).collect();
        if register.fields.is_empty() {
            fields.push(&plain);
        }
        for of_word in fields {
            field(xml, register, of_word);
        }
    });
}

fn field(xml: &mut Xml, register: &Register, field: &Field) {
    let status = register.status.contains(field);
    let access = if status {
        Access::ReadOnly
    } else {
        register.access
    };
    xml.element("field", |xml| {
        xml.leaf("name", field.name);
        if !field.doc.is_empty() {
            xml.leaf("description", field.doc);
        }
        xml.leaf("bitOffset", &(field.lsb % 32).to_string());
        if let Some(reset) = register.reset {
            let value = match field.lsb / 32 {
                0 => field.get(&[reset]),
                _ => 0,
            };
            xml.element("resets", |xml| {
                xml.element("reset", |xml| xml.leaf("value", &hexadecimal(value)));
            });
        }
        xml.leaf("bitWidth", &field.width.to_string());
        xml.leaf(
            "volatile",
            if access == Access::ReadOnly {
                "true"
            } else {
                "false"
            },
        );
        xml.leaf(
            "access",
            match access {
                Access::ReadOnly => "read-only",
                Access::WriteOnly => "write-only",
                Access::ReadWrite | Access::WriteOneToClear => "read-write",
            },
        );
        if access == Access::WriteOneToClear {
            xml.leaf("modifiedWriteValue", "oneToClear");
        }
    });
}

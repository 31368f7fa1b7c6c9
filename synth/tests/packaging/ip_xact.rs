//! The IP-XACT component against the device and the register description, both ways.

use std::collections::BTreeSet;

use roxmltree::{Document, Node};
use warpline_design::design;
use warpline_hdl::Config;
use warpline_sv_writer::{Design, Direction};
use warpline_synth::packaging;

use crate::{CONFIG, DEVICE, file, registers};

/// Elements called `name` below `node`, at any depth.
fn all<'d>(node: Node<'d, 'd>, name: &'static str) -> impl Iterator<Item = Node<'d, 'd>> {
    node.descendants()
        .filter(move |node| node.tag_name().name() == name)
}

/// Text of the child called `name`.
fn child<'d>(node: Node<'d, 'd>, name: &str) -> Option<&'d str> {
    let found = node
        .children()
        .find(|node| node.tag_name().name() == name)?;
    found.text()
}

fn number(text: &str) -> u32 {
    match text.strip_prefix("'h") {
        Some(digits) => u32::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

/// Ports as name, input or output, and width.
type Ports = BTreeSet<(String, bool, usize)>;

fn ports_of(document: &Document) -> Ports {
    let ports = all(document.root(), "port").map(|port| {
        let wire = port
            .children()
            .find(|node| node.tag_name().name() == "wire")
            .unwrap();
        let input = match child(wire, "direction").unwrap() {
            "in" => true,
            "out" => false,
            other => panic!("{other}"),
        };
        let vector = all(wire, "vector").next();
        let width = vector.map_or(1, |vector| {
            assert_eq!(child(vector, "right"), Some("0"));
            1 + number(child(vector, "left").unwrap()) as usize
        });
        (child(port, "name").unwrap().to_owned(), input, width)
    });
    ports.collect()
}

fn ports_of_device() -> Ports {
    let ports = DEVICE.ports.iter();
    ports
        .map(|p| (p.name.clone(), p.direction == Direction::Input, p.width))
        .collect()
}

#[test]
fn ports_are_those_of_the_device() {
    let text = file("warpline.xml");
    assert_eq!(
        ports_of(&Document::parse(&text).unwrap()),
        ports_of_device()
    );
    let other = text.replace(
        "<ipxact:left>63</ipxact:left>",
        "<ipxact:left>62</ipxact:left>",
    );
    assert_ne!(
        ports_of(&Document::parse(&other).unwrap()),
        ports_of_device()
    );
}

#[test]
fn every_port_but_clock_and_reset_is_mapped_once_to_a_signal_of_its_bus() {
    maps_every_port(&DEVICE, &file("warpline.xml"), 5);
    let config = Config {
        transmit: true,
        ..*CONFIG
    };
    let sends = design(&config).unwrap();
    let mut files = packaging::files(&sends, &config).into_iter();
    let (_, text) = files.find(|(name, _)| name == "warpline.xml").unwrap();
    maps_every_port(&sends, &text, 9);
}

fn maps_every_port(device: &Design, text: &str, count: usize) {
    let document = Document::parse(text).unwrap();
    let mut mapped = Vec::new();
    let interfaces: Vec<_> = all(document.root(), "busInterface").collect();
    assert_eq!(interfaces.len(), count);
    for interface in interfaces {
        let bus = child(interface, "name").unwrap();
        for map in all(interface, "portMap") {
            let name = |kind| child(all(map, kind).next().unwrap(), "name").unwrap();
            let (logical, physical) = (name("logicalPort"), name("physicalPort"));
            assert_eq!(physical, format!("{bus}_{}", logical.to_lowercase()));
            mapped.push(physical.to_owned());
        }
    }
    mapped.extend(["aclk", "aresetn"].map(String::from));
    mapped.sort();
    let mut ports: Vec<_> = device.ports.iter().map(|port| port.name.clone()).collect();
    ports.sort();
    assert_eq!(mapped, ports);
}

#[test]
fn files_are_those_of_the_device() {
    let text = file("warpline.xml");
    let document = Document::parse(&text).unwrap();
    let files: Vec<_> = all(document.root(), "file")
        .filter_map(|file| child(file, "name"))
        .collect();
    let parts = DEVICE.parts().map(|module| &*module.name);
    let names = ["warpline_pkg"].into_iter().chain(parts);
    assert_eq!(
        files,
        names.map(|name| format!("{name}.sv")).collect::<Vec<_>>()
    );
}

/// All words: offset, and fields with their lowest bits and widths.
type Map = BTreeSet<(u32, Vec<(String, usize, usize)>)>;

fn registers_of(document: &Document) -> Map {
    let mut map = Map::new();
    let block = all(document.root(), "addressBlock").next().unwrap();
    let mut word = |register: Node, base: u32| {
        let dimension = child(register, "dim").map_or(1, number);
        let offset = number(child(register, "addressOffset").unwrap());
        let fields = all(register, "field").map(|field| {
            let value = |name| number(child(field, name).unwrap()) as usize;
            (
                child(field, "name").unwrap().to_owned(),
                value("bitOffset"),
                value("bitWidth"),
            )
        });
        let fields: Vec<_> = fields.collect();
        for at in 0..dimension {
            assert!(map.insert((base + offset + 4 * at, fields.clone())));
        }
    };
    for node in block.children() {
        match node.tag_name().name() {
            "register" => word(node, 0),
            "registerFile" => {
                let of = |name| number(child(node, name).unwrap());
                for at in 0..of("dim") {
                    let base = of("addressOffset") + at * of("range");
                    let inside = node
                        .children()
                        .filter(|node| node.tag_name().name() == "register");
                    inside.for_each(|register| word(register, base));
                }
            }
            _ => {}
        }
    }
    map
}

fn registers_of_description() -> Map {
    let mut map = Map::new();
    for register in registers() {
        for index in 0..register.count {
            for at in 0..register.words() {
                let here = register
                    .fields
                    .iter()
                    .filter(|field| field.lsb / 32 == at as usize);
                let mut fields: Vec<_> = here
                    .map(|field| (field.name.to_owned(), field.lsb % 32, field.width))
                    .collect();
                if register.fields.is_empty() {
                    fields.push(("VALUE".into(), 0, 32));
                }
                map.insert((register.at(index) + 4 * at, fields));
            }
        }
    }
    map
}

#[test]
fn registers_are_those_of_the_description() {
    let text = file("warpline.xml");
    assert_eq!(
        registers_of(&Document::parse(&text).unwrap()),
        registers_of_description()
    );
    let version = "<ipxact:addressOffset>'h4<";
    let other = text.replacen(version, "<ipxact:addressOffset>'h24<", 1);
    assert_ne!(
        registers_of(&Document::parse(&other).unwrap()),
        registers_of_description()
    );
}

//! Records: what rust-hdl's `LogicStruct` becomes, a packed structure of the design's package.
//!
//! ```text
//!   struct Beat { stream: Bits<8>, last: Bit }     first field in the lowest bits
//!     │
//!     └─► typedef struct packed { logic last; logic [7:0] stream; } beat_t;     first member in the highest bits
//! ```
//!
//! A module names the type with its package, `warpline_types::beat_t`, and its fields as `beat.stream`. Blocks with text of their
//! own have vectors at their ports: they hold records of any type.

use crate::doc;
use crate::error::Problem;
use crate::names;
use rust_hdl_core::prelude::{TypeDescriptor, TypeField, TypeKind, clog2};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a `LogicStruct` with `Record` derived says of itself.
#[doc(hidden)]
pub struct RecordDoc {
    pub name: &'static str,
    pub doc: &'static str,
    /// Name and documentation of each field, in order.
    pub fields: &'static [(&'static str, &'static str)],
}

inventory::collect!(RecordDoc);

impl RecordDoc {
    /// Of the struct `name` with these fields.
    fn of(name: &str, fields: &[Box<TypeField>]) -> Option<&'static Self> {
        let names = |doc: &RecordDoc| {
            let known = doc.fields.iter().map(|(name, _)| *name);
            known.eq(fields.iter().map(|field| &*field.fieldname))
        };
        let mut all = inventory::iter::<RecordDoc>.into_iter();
        all.find(|doc| doc.name == name && names(doc))
    }
}

/// A packed structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Name of the type: `beat_t`.
    pub name: String,
    /// Lowest bits first.
    pub fields: Vec<Field>,
    /// What its Rust source says of it, a line each.
    pub doc: Vec<String>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// Its lowest bit in the record.
    pub low: usize,
    pub width: usize,
    /// Its own fields, if it has some.
    pub record: Option<Rc<Record>>,
    /// What the Rust source says of it, a line each.
    pub doc: Vec<String>,
}

impl Record {
    /// The record that `descriptor` describes; `None` for bits and enumerations.
    pub fn of(descriptor: &TypeDescriptor) -> Option<Rc<Record>> {
        let TypeKind::Composite(fields) = &descriptor.kind else {
            return None;
        };
        let docs = RecordDoc::of(&descriptor.name, fields);
        let mut low = 0;
        let field = |(index, field): (usize, &TypeField)| {
            let width = width(&field.kind);
            low += width;
            Field {
                doc: docs.map_or_else(Vec::new, |docs| doc::plain(docs.fields[index].1)),
                name: field.fieldname.clone(),
                low: low - width,
                width,
                record: Record::of(&field.kind),
            }
        };
        Some(Rc::new(Record {
            fields: fields.iter().map(|f| &**f).enumerate().map(field).collect(),
            doc: docs.map_or_else(Vec::new, |docs| doc::plain(docs.doc)),
            name: format!("{}_t", snake_case(&descriptor.name)),
        }))
    }

    /// The field that bits `low` and `width` above it are, or lie in: `.stream`, `.stream[3:0]`; `None` if they are in no single
    /// field.
    pub fn path(&self, low: usize, width: usize) -> Option<String> {
        let holds = |field: &&Field| field.low <= low && low + width <= field.low + field.width;
        let field = self.fields.iter().find(holds)?;
        let inside = low - field.low;
        let rest = match &field.record {
            _ if width == field.width => String::new(),
            Some(record) => record.path(inside, width)?,
            None => bits(inside, width),
        };
        Some(format!(".{}{rest}", field.name))
    }

    /// Bits `low` and `width` above it, cut where fields begin, highest first.
    pub fn split(&self, low: usize, width: usize) -> Vec<(usize, usize)> {
        let mut parts = vec![];
        for field in self.fields.iter().rev() {
            let from = low.max(field.low);
            let to = (low + width).min(field.low + field.width);
            match &field.record {
                _ if from >= to => {}
                Some(record) if to - from < field.width => {
                    let inner = record.split(from - field.low, to - from);
                    parts.extend(inner.into_iter().map(|(at, width)| (at + field.low, width)));
                }
                _ => parts.push((from, to - from)),
            }
        }
        parts
    }

    fn check(&self) -> Result<(), Problem> {
        self.fields.iter().try_for_each(|field| match field.width {
            0 => Err(Problem::NoBits(field.name.clone())),
            _ => names::check(&field.name),
        })
    }

    fn text(&self, text: &mut String) {
        *text += "\n";
        comment(text, "    ", &self.doc);
        *text += "    typedef struct packed {\n";
        for field in self.fields.iter().rev() {
            let data_type = match (&field.record, field.width) {
                (Some(record), _) => record.name.clone(),
                (None, 1) => "logic".into(),
                (None, width) => format!("logic {}", bits(0, width)),
            };
            comment(text, "        ", &field.doc);
            *text += &format!("        {data_type} {};\n", field.name);
        }
        *text += &format!("    }} {};\n", self.name);
    }
}

/// Bits of a vector, as the text selects them.
pub fn bits(low: usize, width: usize) -> String {
    match width {
        1 => format!("[{low}]"),
        _ => format!("[{}:{low}]", low + width - 1),
    }
}

fn comment(text: &mut String, pad: &str, lines: &[String]) {
    for line in lines {
        *text += &format!("{pad}// {line}");
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
}

fn width(descriptor: &TypeDescriptor) -> usize {
    match &descriptor.kind {
        TypeKind::Bits(width) | TypeKind::Signed(width) => *width,
        TypeKind::Enum(members) => clog2(members.len()),
        TypeKind::Composite(fields) => fields.iter().map(|field| width(&field.kind)).sum(),
    }
}

/// `StagEntry` as `stag_entry`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The records of a design, each type once, those that others hold first.
#[derive(Default)]
pub struct Records {
    in_order: Vec<Rc<Record>>,
    by_name: BTreeMap<String, usize>,
}

impl Records {
    /// Adds `record` and those in it.
    ///
    /// # Errors
    /// [`Problem::RecordClash`] when another record has the name; names that cannot be identifiers.
    pub fn add(&mut self, record: &Rc<Record>) -> Result<(), Problem> {
        if let Some(at) = self.by_name.get(&record.name) {
            return match self.in_order[*at] == *record {
                true => Ok(()),
                false => Err(Problem::RecordClash(record.name.clone())),
            };
        }
        record.check()?;
        for inner in record.fields.iter().filter_map(|f| f.record.as_ref()) {
            self.add(inner)?;
        }
        self.by_name
            .insert(record.name.clone(), self.in_order.len());
        self.in_order.push(record.clone());
        Ok(())
    }

    /// The package `name`; `None` without records.
    pub fn package(&self, name: &str) -> Option<String> {
        if self.in_order.is_empty() {
            return None;
        }
        let mut text =
            format!("// The first member of a record has the highest bits.\npackage {name};\n");
        self.in_order
            .iter()
            .for_each(|record| record.text(&mut text));
        text += "\nendpackage\n\n`ifdef __ICARUS__ // Icarus 11 finds a record by its full name only if it has been imported\n";
        let records = self.in_order.iter();
        text.extend(records.map(|record| format!("import {name}::{};\n", record.name)));
        Some(text + "`endif\n")
    }
}

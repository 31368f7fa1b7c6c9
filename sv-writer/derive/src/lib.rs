//! `#[derive(Record)]`: documentation for rust-hdl's `LogicStruct`, in `record`.
//!
//! `#[derive(Block)]`: rust-hdl's `LogicBlock`, with the documentation of the block and its fields, its constructor and its clocks.
//!
//! ```text
//!  //! of the file ──┐
//!  /// of the struct ┼─► accept: visit_start_scope ─► namespaces that hold a text and nothing else ─► sv-writer
//!  /// of its fields ┘                                                                          └─► other probes: no effect
//! ```
//!
//! rust-hdl's visitor has no place for documentation. A namespace that is opened and closed at once is one: a probe that does
//! not know this derive sees a namespace without members.
//!
//! The constructor is in `construct`, clocks are in `clocked`.
#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod clocked;
mod construct;
mod record;

use clocked::Clocks;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Field, Ident, Lit, Meta};

/// What the name of a namespace begins with that holds documentation; `warpline_sv_writer` knows the same word.
const DOC: &str = "doc:";

/// Implements rust-hdl's `Block` for a struct whose fields are blocks, signals and constants. Fields whose names begin with an
/// underscore hold no hardware and are left out.
///
/// The text of a module opens with the `//!` lines of the file and the `///` lines of the struct; those of a field stand
/// above the port, register, constant or instance that it becomes.
///
/// # Attributes
///
/// With `#[block(…)]` on the struct the derive builds the block, too, so that a field is named once, where it is declared:
///
/// | attribute | on | what |
/// |---|---|---|
/// | `#[block(default)]` | the struct | implements `Default` |
/// | `#[block(rows: usize, …)]` | the struct | a private `fn assemble(rows: usize, …) -> Self`; what the attributes below say of the fields may use these arguments |
/// | `#[block()]` | the struct | `assemble` without arguments, for a `Default` of one's own that checks something first |
/// | `#[value(Fifo::new(rows))]` | a field | this value |
/// | `#[constant(rows - 1)]` | a `Constant` | a `Constant` of this value: an unsigned number that fits, or what the `Constant` holds |
/// | `#[constant(\|i\| 2 * i)]` | an array of `Constant`s | the `Constant` at index `i` |
/// | none | a field | its `Default`; of an array, that of each element, however many there are |
///
/// A `Constant` without a value is an error of compilation. A number that does not fit into its `Constant` panics when the
/// block is built.
///
/// # Clocks
///
/// A struct with one `Signal<In, Clock>` gives that clock to each field that is `Clocked`: a `Dff`, a block that derives `Block` and has one clock,
/// an array of these. `d` of a `Dff` is `q` until the kernel assigns it. Both count as the first statements of the kernel, in simulation and in
/// the text. With several clocks, or for a foreign block, the kernel connects.
#[proc_macro_derive(Block, attributes(block, value, constant))]
pub fn block(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let file = proc_macro::Span::call_site().local_file();
    let file = file.and_then(|path| std::fs::read_to_string(path).ok());
    let implementation = implementation(&input, &file.unwrap_or_default());
    implementation
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// Documents a `LogicStruct`: what its `///` lines say stands in the package of records, above the type and its fields.
#[proc_macro_derive(Record)]
pub fn record(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let documentation = record::documentation(&input);
    documentation
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn implementation(input: &DeriveInput, file: &str) -> Result<TokenStream, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "a block is a struct"));
    };
    let (mut names, mut shown, mut docs) = (vec![], vec![], vec![]);
    for field in &data.fields {
        let name = name(field)?;
        if !name.to_string().starts_with('_') {
            names.push(name);
            shown.push(name.to_string());
            docs.push(format!("{DOC}{}", lines(&field.attrs)));
        }
    }
    let doc = format!("{DOC}{}\n\n{}", lines(&input.attrs), of_file(file));
    let block = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let constructor = construct::constructor(input, data)?;
    let (clocked, clocks) = match clocked::own_clock(data) {
        Some(clock) => (
            clocked::implementation(input, clock),
            clocked::clocks(clock, &names),
        ),
        None => (TokenStream::new(), Clocks::none(&names)),
    };
    let Clocks { claim, hold, marks } = clocks;
    Ok(quote! {
        #constructor
        #clocked
        impl #generics ::rust_hdl_core::prelude::Block for #block #arguments #bounds {
            fn connect_all(&mut self) {
                #claim
                ::rust_hdl_core::prelude::Logic::connect(self);
                #(self.#names.connect_all();)*
            }
            fn update_all(&mut self) {
                #hold
                ::rust_hdl_core::prelude::Logic::update(self);
                #(self.#names.update_all();)*
            }
            fn has_changed(&self) -> bool {
                false #(|| self.#names.has_changed())*
            }
            fn accept(&self, name: &str, probe: &mut dyn ::rust_hdl_core::prelude::Probe) {
                probe.visit_start_scope(name, self);
                probe.visit_start_namespace(#doc, self);
                probe.visit_end_namespace(#doc, self);
                #(
                    probe.visit_start_namespace(#docs, self);
                    probe.visit_end_namespace(#docs, self);
                    #marks
                    self.#names.accept(#shown, probe);
                )*
                probe.visit_end_scope(name, self);
            }
        }
    })
}

fn name(field: &Field) -> Result<&Ident, Error> {
    let name = field.ident.as_ref();
    let name = name.ok_or_else(|| Error::new(field.span(), "a field of a block has a name"))?;
    // rust-hdl reads these as words of its own.
    match name.to_string().as_str() {
        "config" | "wire" | "reg" | "module" | "edge" | "disable" => Err(Error::new(
            name.span(),
            format!("`{name}` is a word of the hardware language: rename the field"),
        )),
        _ => Ok(name),
    }
}

/// The `///` lines above an item.
fn lines(attributes: &[Attribute]) -> String {
    let texts = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            Expr::Lit(literal) if pair.path.is_ident("doc") => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        }
    });
    let texts: Vec<String> = texts.collect();
    texts.join("\n")
}

/// The `//!` lines at the top of a file.
fn of_file(text: &str) -> String {
    let inner = text.lines().map_while(|line| line.strip_prefix("//!"));
    inner.collect::<Vec<_>>().join("\n")
}

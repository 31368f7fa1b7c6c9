//! Clocks: a block with one `Signal<In, Clock>` hands it on to its fields, and its registers hold what they have.
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataStruct, DeriveInput, GenericArgument, Ident, PathArguments, Type};

/// What the name of a namespace begins with that stands in front of a field that is clocked; `warpline_sv_writer` knows the
/// same word.
const CLOCKED: &str = "clocked:";

/// What the derive puts into the methods of `Block`.
pub struct Clocks {
    /// For `connect_all`.
    pub claim: TokenStream,
    /// For `update_all`.
    pub hold: TokenStream,
    /// For `accept`, in front of each field.
    pub marks: Vec<TokenStream>,
}

impl Clocks {
    /// Nothing, of a block without a clock.
    pub fn none(names: &[&Ident]) -> Self {
        Self {
            claim: TokenStream::new(),
            hold: TokenStream::new(),
            marks: vec![TokenStream::new(); names.len()],
        }
    }
}

/// The clock to hand on: the only one. Of several, the kernel says which one is whose.
pub fn own_clock(data: &DataStruct) -> Option<&Ident> {
    let mut clocks = data.fields.iter().filter(|field| is_clock_input(&field.ty));
    let clock = clocks.next()?;
    clock.ident.as_ref().filter(|_| clocks.next().is_none())
}

/// `Signal<In, Clock>`
fn is_clock_input(of: &Type) -> bool {
    let Some((name, arguments)) = last_segment(of) else {
        return false;
    };
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return false;
    };
    let names = arguments.args.iter().map(|argument| match argument {
        GenericArgument::Type(of) => last_segment(of).map(|(name, _)| name.to_string()),
        _ => None,
    });
    let wanted = ["In", "Clock"].map(|name| Some(name.to_string()));
    name == "Signal" && names.eq(wanted)
}

fn last_segment(of: &Type) -> Option<(&Ident, &PathArguments)> {
    let Type::Path(path) = of else {
        return None;
    };
    let last = path.path.segments.last()?;
    Some((&last.ident, &last.arguments))
}

/// The block is `Clocked` itself.
pub fn implementation(input: &DeriveInput, clock: &Ident) -> TokenStream {
    let block = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    quote! {
        impl #generics ::warpline_sv_writer::Clocked for #block #arguments #bounds {
            #[inline(always)]
            fn hold(&mut self, clock: ::rust_hdl_core::prelude::Clock) {
                self.#clock.next = clock;
            }
            fn claim(&mut self) {
                ::rust_hdl_core::prelude::Logic::connect(&mut self.#clock);
            }
        }
    }
}

/// For the fields called `names`.
pub fn clocks(clock: &Ident, names: &[&Ident]) -> Clocks {
    let kinds = quote!(
        use ::warpline_sv_writer::clocked::{Kind, WithClock as _, WithoutClock as _};
    );
    let clocked = format!("{CLOCKED}{clock}");
    let mark = |name| {
        quote! {{
            #kinds
            if Kind::of(&self.#name).has_clock() {
                probe.visit_start_namespace(#clocked, self);
                probe.visit_end_namespace(#clocked, self);
            }
        }}
    };
    Clocks {
        claim: quote! {{
            #kinds
            #(Kind::of(&self.#names).claim(&mut self.#names);)*
        }},
        hold: quote! {{
            #kinds
            let clock = self.#clock.val();
            #(Kind::of(&self.#names).hold(&mut self.#names, clock);)*
        }},
        marks: names.iter().map(mark).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::{Data, parse_str};

    fn found(fields: &str) -> Option<String> {
        let input: DeriveInput = parse_str(&format!("struct A {{ {fields} }}")).unwrap();
        let Data::Struct(data) = &input.data else {
            panic!("a struct");
        };
        own_clock(data).map(Ident::to_string)
    }

    #[test]
    fn the_only_clock_input_is_handed_on() {
        assert_eq!(
            found("a: Dff<Bit>, aclk: Signal<In, Clock>"),
            Some("aclk".into())
        );
        assert_eq!(
            found("c: rust_hdl_core::prelude::Signal<In, prelude::Clock>"),
            Some("c".into())
        );
        assert_eq!(found("a: Signal<In, Clock>, b: Signal<In, Clock>"), None);
        assert_eq!(found("c: Signal<Out, Clock>, d: Signal<In, Bit>"), None);
        assert_eq!(found("c: [Signal<In, Clock>; 2], d: Clock"), None);
    }
}

//! Documentation of a record. Its type says nothing of it at run time, so it is found by the record's name.

use crate::lines;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error};

/// What registers the documentation of the record.
pub fn documentation(input: &DeriveInput) -> Result<TokenStream, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "a record is a struct"));
    };
    let name = input.ident.to_string();
    let doc = lines(&input.attrs);
    let fields = data.fields.iter().map(|field| {
        let name = field.ident.as_ref().map(ToString::to_string);
        let (name, doc) = (name.unwrap_or_default(), lines(&field.attrs));
        quote!((#name, #doc))
    });
    Ok(quote! {
        ::warpline_sv_writer::inventory::submit! {
            ::warpline_sv_writer::RecordDoc {
                name: #name,
                doc: #doc,
                fields: &[#(#fields),*],
            }
        }
    })
}

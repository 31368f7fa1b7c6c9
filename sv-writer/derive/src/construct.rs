//! The constructor: `Default`, or `assemble` with the arguments of `#[block(…)]`, each field by its attribute or its type.
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, DataStruct, DeriveInput, Error, Field, Ident, Token, Type};

/// What `#[block(…)]` asks for.
enum Form {
    Default,
    Assemble(Vec<Argument>),
}

impl Parse for Form {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        if input.peek(Ident) && !input.peek2(Token![:]) {
            let word: Ident = input.parse()?;
            return match word == "default" && input.is_empty() {
                true => Ok(Self::Default),
                false => Err(Error::new(
                    word.span(),
                    "`#[block(…)]` has `default`, or arguments such as `rows: usize`",
                )),
            };
        }
        let arguments = Punctuated::<Argument, Token![,]>::parse_terminated(input)?;
        Ok(Self::Assemble(arguments.into_iter().collect()))
    }
}

/// `rows: usize`
struct Argument {
    name: Ident,
    of: Type,
}

impl Parse for Argument {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let of = input.parse()?;
        Ok(Self { name, of })
    }
}

/// The constructor that the struct asks for, if it does.
pub fn constructor(input: &DeriveInput, data: &DataStruct) -> Result<TokenStream, Error> {
    let Some(attribute) = one(&input.attrs, "block")? else {
        return match data.fields.iter().find_map(|field| first(field)) {
            Some(stray) => Err(Error::new(
                stray.span(),
                "the derive builds the block only with `#[block(…)]` on the struct",
            )),
            None => Ok(TokenStream::new()),
        };
    };
    let mut fields = vec![];
    for field in &data.fields {
        let (name, value) = (&field.ident, value(field)?);
        fields.push(quote!(#name: #value));
    }
    let block = &input.ident;
    let (generics, parameters, bounds) = input.generics.split_for_impl();
    Ok(match attribute.parse_args()? {
        Form::Default => quote! {
            impl #generics ::core::default::Default for #block #parameters #bounds {
                fn default() -> Self {
                    Self { #(#fields),* }
                }
            }
        },
        Form::Assemble(arguments) => {
            let (names, types): (Vec<_>, Vec<_>) =
                arguments.into_iter().map(|a| (a.name, a.of)).unzip();
            quote! {
                impl #generics #block #parameters #bounds {
                    /// Every field by its attribute, or by its `Default`.
                    #[allow(clippy::too_many_arguments)]
                    fn assemble(#(#names: #types),*) -> Self {
                        Self { #(#fields),* }
                    }
                }
            }
        }
    })
}

fn value(field: &Field) -> Result<TokenStream, Error> {
    let of = &field.ty;
    let value = one(&field.attrs, "value")?;
    let constant = one(&field.attrs, "constant")?;
    match (value, constant) {
        (Some(value), None) => value.parse_args(),
        (None, Some(constant)) => {
            let value: TokenStream = constant.parse_args()?;
            match of {
                Type::Array(array) if is_constant(&array.elem) => {
                    Ok(quote!(::warpline_sv_writer::constants(#value)))
                }
                of if is_constant(of) => Ok(quote!(::warpline_sv_writer::constant(#value))),
                of => Err(Error::new(
                    of.span(),
                    "`#[constant(…)]` is for a `Constant` or an array of them; `#[value(…)]` is for anything",
                )),
            }
        }
        (Some(_), Some(constant)) => Err(Error::new(
            constant.span(),
            "a field has one value: `#[value(…)]` or `#[constant(…)]`",
        )),
        (None, None) => default(of),
    }
}

fn default(of: &Type) -> Result<TokenStream, Error> {
    match of {
        Type::Array(array) => {
            let element = default(&array.elem)?;
            Ok(quote!(::core::array::from_fn(|_| #element)))
        }
        of if is_constant(of) => Err(Error::new(
            of.span(),
            "a `Constant` has no default: give its value with `#[constant(…)]`",
        )),
        _ => Ok(quote!(::core::default::Default::default())),
    }
}

fn is_constant(of: &Type) -> bool {
    match of {
        Type::Path(path) => {
            let last = path.path.segments.last();
            last.is_some_and(|segment| segment.ident == "Constant")
        }
        _ => false,
    }
}

/// The attribute of this name; there is one at most.
fn one<'a>(attributes: &'a [Attribute], name: &str) -> Result<Option<&'a Attribute>, Error> {
    let mut named = attributes.iter().filter(|a| a.path().is_ident(name));
    let found = named.next();
    match named.next() {
        Some(second) => Err(Error::new(
            second.span(),
            format!("a second `#[{name}(…)]`"),
        )),
        None => Ok(found),
    }
}

fn first(field: &Field) -> Option<&Attribute> {
    let ours = |a: &&Attribute| a.path().is_ident("value") || a.path().is_ident("constant");
    field.attrs.iter().find(ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::{Data, parse_str};

    fn written(source: &str) -> Result<String, String> {
        let input: DeriveInput = parse_str(source).unwrap();
        let Data::Struct(data) = &input.data else {
            panic!("a struct");
        };
        let tokens = constructor(&input, data).map_err(|error| error.to_string())?;
        Ok(tokens.to_string().replace(' ', ""))
    }

    fn refused(source: &str) -> String {
        written(source).expect_err("the derive refuses it")
    }

    #[test]
    fn without_the_attribute_nothing_is_built() {
        assert_eq!(written("struct A { a: Signal<In, Bit> }"), Ok("".into()));
    }

    #[test]
    fn a_field_is_its_attribute_or_its_default() {
        let text = written(
            "#[block(default)] struct A<const N: usize> {
                a: [[Dff<Bit>; 2]; N],
                #[value(Fifo::new(N))] b: Fifo,
                #[constant(N - 1)] c: Constant<Bits<4>>,
                #[constant(|i| i)] d: [Constant<Bits<4>>; N],
            }",
        );
        let text = text.unwrap();
        let array = "::core::array::from_fn(|_|";
        for field in [
            format!("a:{array}{array}::core::default::Default::default()))"),
            "b:Fifo::new(N)".into(),
            "c:::warpline_sv_writer::constant(N-1)".into(),
            "d:::warpline_sv_writer::constants(|i|i)".into(),
            "impl<constN:usize>::core::default::DefaultforA<N>{fndefault()->Self".into(),
        ] {
            assert!(text.contains(&field), "{field} in {text}");
        }
    }

    #[test]
    fn arguments_are_those_of_assemble() {
        let text = written("#[block(config: &Config, rows: usize)] struct A { a: Bit }").unwrap();
        assert!(text.contains("fnassemble(config:&Config,rows:usize)->Self{Self{a:"));
        let text = written("#[block()] struct A { a: Bit }").unwrap();
        assert!(text.contains("fnassemble()->Self{Self{a:"));
    }

    #[test]
    fn what_cannot_be_built_is_refused() {
        let refused = |source: &str, reason: &str| {
            let error = refused(source);
            assert!(error.contains(reason), "{error}");
        };
        refused(
            "#[block(default)] struct A { a: Constant<Bit> }",
            "a `Constant` has no default",
        );
        refused(
            "#[block(default)] struct A { a: [Constant<Bit>; 4] }",
            "a `Constant` has no default",
        );
        refused(
            "#[block(default)] struct A { #[constant(1)] a: Dff<Bit> }",
            "`#[constant(…)]` is for a `Constant`",
        );
        refused(
            "#[block(default)] struct A { #[constant(1)] #[value(b())] a: Constant<Bit> }",
            "one value",
        );
        refused(
            "#[block(default)] struct A { #[value(b())] #[value(c())] a: Bit }",
            "a second `#[value(…)]`",
        );
        refused(
            "struct A { #[value(b())] a: Bit }",
            "only with `#[block(…)]` on the struct",
        );
        refused("#[block(new)] struct A { a: Bit }", "has `default`");
        refused("#[block(rows)] struct A { a: Bit }", "arguments such as");
        refused("#[block(rows: )] struct A { a: Bit }", "expected");
    }
}

//! Ports by the names of a struct's fields.

/// A struct whose fields are ports of a model, and `find`, which looks all of them up: their names are those of the fields behind
/// a prefix, which may be empty.
///
/// ```no_run
/// # use warpline_verilate::{Build, Error};
/// warpline_verilate::ports! {
///     /// Ports of a stream.
///     struct Stream: tdata, tvalid, tready
/// }
///
/// # fn main() -> Result<(), Error> {
/// # let text = "";
/// let mut model = Build::new("fifo").source("fifo.sv", text).open()?;
/// let input = Stream::find(&model, "s_axis_")?;
/// model.set(input.tvalid, 1);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `find` returns [`Error`](crate::Error) of the first port that the model does not have.
#[macro_export]
macro_rules! ports {
    ($(#[$about:meta])* $visible:vis struct $ports:ident: $($name:ident),+ $(,)?) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        $visible struct $ports {
            $(pub $name: $crate::Port,)+
        }

        impl $ports {
            /// Looks all of them up: their names begin with `prefix`.
            pub fn find(model: &$crate::Model, prefix: &str) -> Result<Self, $crate::Error> {
                let port = |name: &str| model.port(&format!("{prefix}{name}"));
                Ok(Self { $($name: port(stringify!($name))?,)+ })
            }
        }
    };
}

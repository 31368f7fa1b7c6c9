//! Numbers with names: values for the documentation and an enum in one.

macro_rules! codes {
    ($(#[doc = $enum_doc:literal])+ $name:ident { $( $(#[doc = $doc:literal])+ $variant:ident $upper:ident = $value:literal; )+ }) => {
        $(#[doc = $enum_doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $( $(#[doc = $doc])+ $variant = $value, )+
        }

        impl $name {
            /// All of them, in ascending order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
            /// The same for the documentation.
            pub const VALUES: &[crate::Value] = &[$(
                crate::Value { name: stringify!($upper), value: $value, doc: concat!($($doc),+) }
            ),+];

            /// The one with this number.
            #[must_use]
            pub const fn parse(value: u64) -> Option<Self> {
                match value {
                    $( $value => Some(Self::$variant), )+
                    _ => None,
                }
            }

            /// Its name in the documentation.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => stringify!($upper), )+
                }
            }
        }
    };
}

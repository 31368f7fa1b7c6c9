//! What stands in `#[constant(…)]`, as a `Constant`.

use rust_hdl_core::prelude::*;

/// A value of a `Constant<T>`: a `T`, or for `Bits` an unsigned number.
pub trait ConstantValue<T> {
    /// The value itself.
    ///
    /// # Panics
    /// When a number is negative, or does not fit.
    fn constant_value(self) -> T;
}

impl<T: Synth> ConstantValue<T> for T {
    fn constant_value(self) -> T {
        self
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl<const N: usize> ConstantValue<Bits<N>> for $number {
            fn constant_value(self) -> Bits<N> {
                let value = u64::try_from(self);
                value.unwrap_or_else(|_| panic!("a constant of {self}")).into()
            }
        }
    )*};
}

// A literal without a type is an i32.
numbers!(u8, u16, u32, u64, usize, i32);

/// A constant of `value`.
///
/// # Panics
/// When a number is negative, or does not fit.
pub fn constant<T: Synth>(value: impl ConstantValue<T>) -> Constant<T> {
    Constant::new(value.constant_value())
}

/// Constants of what `value` makes of their indices.
///
/// # Panics
/// When a number is negative, or does not fit.
pub fn constants<T: Synth, V: ConstantValue<T>, const N: usize>(
    value: impl Fn(usize) -> V,
) -> [Constant<T>; N] {
    std::array::from_fn(|index| constant(value(index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_values_become_constants() {
        assert_eq!(constant::<Bits<4>>(15).val(), 15);
        assert_eq!(constant::<Bits<64>>(u64::MAX).val(), u64::MAX);
        assert!(constant::<Bit>(true).val());
        assert_eq!(constant::<Bits<4>>(Bits::<4>::from(3)).val(), 3);
        let squares: [Constant<Bits<8>>; 3] = constants(|index| index * index);
        assert_eq!(squares.map(|square| square.val().index()), [0, 1, 4]);
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_number_that_does_not_fit_is_refused() {
        constant::<Bits<4>>(16);
    }

    #[test]
    #[should_panic(expected = "a constant of -1")]
    fn a_negative_number_is_refused() {
        constant::<Bits<4>>(-1);
    }
}

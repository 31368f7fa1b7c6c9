//! Two words that keep the constructors of blocks short.

/// The default of whatever is wanted.
pub fn d<T: Default>() -> T {
    T::default()
}

/// An array of defaults.
pub fn array<T: Default, const N: usize>() -> [T; N] {
    std::array::from_fn(|_| T::default())
}

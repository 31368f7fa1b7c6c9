//! RTL of warpline

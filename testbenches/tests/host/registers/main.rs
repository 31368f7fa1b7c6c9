//! The register block over AXI4-Lite, against `warpline_regmap::register` and a plain model.
//!
//! The model knows the documented latencies, so every output is compared in every cycle, and every word read must be the
//! one that was there two cycles after its address was taken.

mod map;
mod random;
mod support;

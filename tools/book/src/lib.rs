//! The book: documents of the repository, and the heads of the RTL's blocks, as chapters of an mdBook.
//!
//! ```text
//!  docs/book/SUMMARY.md ─► summary ─► chapters ─┐
//!  *.md ──────────────────► markdown ───────────┼─► tree ─► text ─► mdbook ─► pages ─► site: links
//!  hdl/src/**/*.rs ───────► block ──────────────┘     │
//!                                                     ├─► command: what documents tell a reader to type
//!                                                     └─► excerpt: what they quote of programs
//! ```
//!
//! Nothing is written twice: a chapter is a document at its place in the repository, or is made of the head of a block's
//! file when the book is built. In the text for mdBook each document keeps its path, so that its links keep their meaning.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod block;
pub mod command;
pub mod excerpt;
pub mod markdown;
pub mod site;
pub mod summary;
pub mod text;
pub mod tree;

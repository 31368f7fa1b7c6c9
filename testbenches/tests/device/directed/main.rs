//! The whole device through driver and simulated card, at the narrowest and the widest bus: golden vectors, validation
//! cases, and what happens around a stream's life.

mod any_order;
mod endings;
mod fpdus;
mod gaps;
mod markers;
mod queues;
mod streams;
mod support;
mod validation;

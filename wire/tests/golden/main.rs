//! The golden vectors of `vectors.json`: CRC, FPDUs, limits, MULPDU, start frames, segmentation and
//! the validation cases.

#[path = "../common/mod.rs"]
mod common;

mod fpdus;
mod sizes;
mod start_frames;
mod validation;

use common::*;
use sha2::{Digest, Sha256};
use warpline_wire::ddp::{Header, TaggedHeader, UntaggedHeader};
use warpline_wire::error_number::{Checks, Detail, ErrorNumber};
use warpline_wire::receive::{
    Delivery, Flags, Framing, FramingConfig, MsnMode, Receiver, ReceiverConfig, Scope, StagEntry,
    StreamConfig, Target,
};
use warpline_wire::send::{CrcField, FpduWriter, Message, ddp_segments};
use warpline_wire::start::{DraftKey, Frame, Kind, Negotiation, Progress};
use warpline_wire::{crc, marker, mpa};

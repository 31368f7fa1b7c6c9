//! Faults planted in the written text, and in the model: each is seen.

use warpline_hdl::tx::mpa::transmit_ring::TransmitRing;
use warpline_hdl::tx::mpa::transmit_ring::ports::{ACKNOWLEDGE, MEASURE, SEND};
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::stimulus::Pace;

use crate::support::{Bench, Paces, RING};

type Bench64 = Bench<64, 8, 2, 3, 1, 4>;

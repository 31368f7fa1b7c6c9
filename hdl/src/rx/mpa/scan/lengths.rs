//! Lengths of the FPDUs that would begin in the lanes of a header row, for each lane, whether or not one begins there.
//!
//! ```text
//!  first two octets of each dword ─► [Lengths] ─► ULPDU_Length, known? one marker inside? ─ queue ─►
//!                                    [Totals] ─► dwords on the wire; long? far? refused?
//! ```
//!
//! An FPDU that begins in lane i has its ULPDU_Length there, or one lane higher if its first dword is a marker; that
//! can only be lane 0, since markers lie at multiples of 512 octets and the rows' size divides 512. With c dwords of
//! content whose first one lies h dwords behind a marker position, (h + c - 2) / 127 markers follow inside the FPDU.
//! For a length below [`LONG`] that is none or one, and it is one when ULPDU_Length + 4 (h + 1) + 1 reaches 512: one
//! addition of nine bits with a constant, since rows begin at multiples of D dwords. The dwords take one more
//! addition, because a marker adds as much as four octets of length: (2 + L + 3 + 4 markers) / 4 + 1. The walker
//! counts the markers inside longer FPDUs.
//!
//! Comparisons of the number of dwords are made with ULPDU_Length, beside the addition and not behind it: n dwords or
//! more are 4·n octets less the sum of the other terms.
//!
//! Both are combinational, as deep as one addition of 17 bits. Throughput: one row a cycle.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, COMBINATIONAL};

/// From this ULPDU_Length on, more than one marker may lie inside an FPDU.
pub const LONG: u32 = 504;
const _: () = assert!(LONG == 0b11_1111 << 3, "told by six bits being 1");
/// Rows from the begin of an FPDU to the next one from which on the visit moves to another stream.
pub const FAR: usize = 16;

/// Octets that make a number of dwords of ULPDU_Length, with none, one and two markers in the FPDU.
const ADDED: [usize; 3] = [9, 13, 17];

/// ULPDU_Length for each lane, H = 16·D.
#[derive(Block)]
#[block()]
pub struct Lengths<const H: usize, const D: usize> {
    /// First two octets of each dword, the first one low.
    pub octets: Signal<In, Bits<H>>,
    /// Dwords from a marker position to lane 0, a multiple of D.
    pub phase: Signal<In, Bits<7>>,
    /// The same to the lane behind the last one.
    pub phase_behind: Signal<In, Bits<8>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// It does, and lane 0 holds one.
    pub leading: Signal<In, Bit>,
    /// Lanes whose dword has landed.
    pub landed: Signal<In, Bits<D>>,
    /// ULPDU_Length of an FPDU that begins in a lane.
    pub lengths: Signal<Out, Bits<H>>,
    /// It has landed.
    pub known: Signal<Out, Bits<D>>,
    /// Its length is below [`LONG`], and a marker lies inside.
    pub marker: Signal<Out, Bits<D>>,
}

impl<const H: usize, const D: usize> Default for Lengths<H, D> {
    fn default() -> Self {
        assert!(
            H == 16 * D && D.is_power_of_two() && D > 1,
            "two octets a dword"
        );
        Self::assemble()
    }
}

impl<const H: usize, const D: usize> Logic for Lengths<H, D> {
    fn update(&mut self) {
        let (octets, landed) = (self.octets.val(), self.landed.val());
        let (phase, markers) = (self.phase.val().to_u32(), self.markers.val());
        let phase_behind = self.phase_behind.val().to_u32();
        let mut lengths = Bits::<H>::default();
        let (mut known, mut marker) = (Bits::<D>::default(), Bits::<D>::default());
        for lane in 0..D {
            let leading = lane == 0 && self.leading.val();
            let at = if leading { 1 } else { lane };
            let length = octets.get_bits::<16>(16 * at).to_u16().swap_bytes();
            let behind = match lane {
                _ if leading => 2,
                _ if lane + 1 < D => phase | (lane as u32 + 1),
                _ => phase_behind,
            };
            lengths.set_bits::<16>(16 * lane, u64::from(length).into());
            known = known.replace_bit(lane, landed.get_bit(at));
            let length = u32::from(length);
            let inside = markers && length < LONG && length + 4 * behind + 1 >= 512;
            marker = marker.replace_bit(lane, inside);
        }
        self.lengths.next = lengths;
        self.known.next = known;
        self.marker.next = marker;
    }

    fn connect(&mut self) {
        self.lengths.connect();
        self.known.connect();
        self.marker.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::new();
        let mut steps = String::new();
        for lane in 0..D {
            let swapped = |lane: usize| {
                let low = 16 * lane;
                format!(
                    "{{octets[{}:{low}], octets[{}:{}]}}",
                    low + 7,
                    low + 15,
                    low + 8
                )
            };
            let behind = match lane + 1 {
                next if next < D => format!("{{1'b0, phase | 7'd{next}}}"),
                _ => "phase_behind".into(),
            };
            let (length, landed, behind) = if lane == 0 {
                (
                    format!("leading ? {} : {}", swapped(1), swapped(0)),
                    "leading ? landed[1] : landed[0]".into(),
                    format!("leading ? 8'd2 : {behind}"),
                )
            } else {
                (swapped(lane), format!("landed[{lane}]"), behind)
            };
            text += &format!(
                "wire [15:0] length_{lane} = {length};\nwire [7:0] behind_{lane} = {behind};\n"
            );
            steps += &format!(
                "    lengths[{}:{}] = length_{lane};\n    known[{lane}] = {landed};\n    \
                 marker[{lane}] = markers && length_{lane}[15:9] == 7'd0 && length_{lane}[8:3] != 6'd{}\n        \
                 && ({{1'b0, length_{lane}[8:0]}} + {{behind_{lane}, 2'b01}}) >= 10'd512;\n",
                16 * lane + 15,
                16 * lane,
                LONG >> 3
            );
        }
        Verilog::Custom(format!("{text}{COMBINATIONAL} begin\n{steps}end"))
    }
}

/// Dwords on the wire for each lane, H = 16·D.
#[derive(Block)]
#[block(max_ulpdu: usize)]
pub struct Totals<const H: usize, const D: usize> {
    /// As from [`Lengths`].
    pub lengths: Signal<In, Bits<H>>,
    /// As from [`Lengths`].
    pub marker: Signal<In, Bits<D>>,
    /// Dwords from a marker position to lane 0.
    pub phase: Signal<In, Bits<7>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// The stream accepts any length.
    pub long_ulpdus: Signal<In, Bit>,
    /// Dwords of an FPDU that begins in a lane, 16 bits each; of a long one without the markers inside.
    pub dwords: Signal<Out, Bits<H>>,
    /// Markers inside it are not counted yet.
    pub long: Signal<Out, Bits<D>>,
    /// It ends at least [`FAR`] rows away.
    pub far: Signal<Out, Bits<D>>,
    /// The next one begins in a later row, with or without markers inside.
    pub crosses: Signal<Out, Bits<D>>,
    /// It begins behind the next row.
    pub beyond: Signal<Out, Bits<D>>,
    /// Its length is refused (AMB-21).
    pub refused: Signal<Out, Bits<D>>,
    #[value(max_ulpdu as u32)]
    _max_ulpdu: u32,
}

impl<const H: usize, const D: usize> Totals<H, D> {
    /// For lengths up to `max_ulpdu`.
    #[must_use]
    pub fn new(max_ulpdu: usize) -> Self {
        assert!(H == 16 * D && (1..=0xFFFF).contains(&max_ulpdu));
        Self::assemble(max_ulpdu)
    }
}

impl<const H: usize, const D: usize> Logic for Totals<H, D> {
    fn update(&mut self) {
        let (lengths, markers) = (self.lengths.val(), self.markers.val());
        let leading = markers && !self.phase.val().any();
        let mut all = Bits::<H>::default();
        let mut flags = [Bits::<D>::default(); 5];
        for lane in 0..D {
            let length = lengths.get_bits::<16>(16 * lane).to_u32();
            let inside = self.marker.val().get_bit(lane);
            let inner = usize::from(inside) + usize::from(leading && lane == 0);
            let dwords = (length + ADDED[inner] as u32) >> 2;
            all.set_bits::<16>(16 * lane, u64::from(dwords).into());
            let found = [
                markers && length >= LONG,
                dwords >= (FAR * D) as u32,
                dwords >= (D - lane) as u32,
                dwords >= (2 * D - lane) as u32,
                length > self._max_ulpdu && !self.long_ulpdus.val(),
            ];
            for (flag, found) in flags.iter_mut().zip(found) {
                *flag = flag.replace_bit(lane, found);
            }
        }
        self.dwords.next = all;
        [
            self.long.next,
            self.far.next,
            self.crosses.next,
            self.beyond.next,
            self.refused.next,
        ] = flags;
    }

    fn connect(&mut self) {
        self.dwords.connect();
        self.long.connect();
        self.far.connect();
        self.crosses.connect();
        self.beyond.connect();
        self.refused.connect();
    }

    fn hdl(&self) -> Verilog {
        let mut text = String::from("wire leading = markers && phase == 7'd0;\n");
        let mut steps = String::new();
        for lane in 0..D {
            let (low, high) = (16 * lane, 16 * lane + 15);
            let length = format!("lengths[{high}:{low}]");
            // one of three: no marker, one, two
            let by_markers = |of: [String; 3]| {
                let [none, one, two] = of;
                let inside = format!("marker[{lane}] ? {one} : {none}");
                match lane {
                    0 => format!("leading ? (marker[0] ? {two} : {one}) : ({inside})"),
                    _ => inside,
                }
            };
            let added = by_markers(ADDED.map(|added| format!("17'd{added}")));
            let at_least = |dwords: usize| {
                by_markers(ADDED.map(|added| match (4 * dwords).checked_sub(added) {
                    None | Some(0) => "1'b1".into(),
                    Some(octets) => format!("{length} >= 16'd{octets}"),
                }))
            };
            text += &format!(
                "wire [15:0] total_{lane} = 16'(({{1'b0, {length}}} + ({added})) >> 2);\n"
            );
            steps += &format!(
                "    dwords[{high}:{low}] = total_{lane};\n    \
                 long[{lane}] = markers && {length} >= 16'd{LONG};\n    \
                 far[{lane}] = {};\n    \
                 crosses[{lane}] = {};\n    \
                 beyond[{lane}] = {};\n    \
                 refused[{lane}] = {length} > 16'd{} && !long_ulpdus;\n",
                at_least(FAR * D),
                at_least(D - lane),
                at_least(2 * D - lane),
                self._max_ulpdu
            );
        }
        Verilog::Custom(format!("{text}{COMBINATIONAL} begin\n{steps}end"))
    }
}

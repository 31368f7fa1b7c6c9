//! Port: an AXI4-Lite slave that gives one access at a time, with what its address means.
//!
//! ```text
//!  s_axil AW, W ─► held ─┐
//!         AR ────► held ─┴─► turn ─► access ─► … ─► done, data ─┬─► B
//!                                                               └─► R
//! ```
//!
//! A write begins when both of its halves are here and the response before it was accepted; a read in the same way.
//! When both can begin, the one that was not last does. So a response that its master does not accept stops no access
//! of the other channel, and neither does half of a write.
//!
//! Latency: `access_valid` follows the address, or the second half of a write, by 2 cycles, and the response follows
//! `done` by one. Throughput: the next access of a channel is valid 2 cycles after the response to the last one was
//! accepted; its address is held by then.
use crate::parts::axi::AxiLiteSlave;
use rust_hdl_core::prelude::*;
use warpline_regmap::{Register, mailbox, register, transmit};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// What an address means.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Target {
    /// `registers` alone.
    Registers,
    /// `MAILBOX`.
    Window,
    /// `ARGUMENT`.
    Argument,
    /// `COMMAND`.
    Command,
    /// `HOST_MESSAGE`.
    HostMessage,
    /// `CARD_MESSAGE`.
    CardMessage,
    /// `INTERRUPT_STATE`, in `registers` and here.
    InterruptState,
    /// `INTERRUPT_ENABLE`, in `registers` and here.
    InterruptEnable,
    /// `INTERRUPT_TEST`, in `registers` and here.
    InterruptTest,
    /// `CAPABILITIES`, of `registers` with a bit of the mailbox.
    Capabilities,
}

/// An access to a register.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Access {
    /// A write.
    pub write: Bit,
    /// Octet offset / 4.
    pub row: Bits<10>,
    /// Word to write.
    pub data: Bits<32>,
    /// Octets of it to write.
    pub strobe: Bits<4>,
    /// What `row` means.
    pub target: Target,
}

/// The port of one side.
#[derive(Block)]
#[block(default)]
pub struct Port {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The side.
    pub s_axil: AxiLiteSlave,
    /// An access of it.
    pub access: Signal<Out, Access>,
    /// It is valid, until `done`.
    pub access_valid: Signal<Out, Bit>,
    /// Pulse: it is done.
    pub done: Signal<In, Bit>,
    /// With `done`: the word read.
    pub data: Signal<In, Bits<32>>,
    /// With `done`: the response.
    pub response: Signal<In, Bits<2>>,

    serves: Dff<Bit>,
    aw_held: Dff<Bit>,
    aw_row: Dff<Bits<10>>,
    w_held: Dff<Bit>,
    w_data: Dff<Bits<32>>,
    w_strobe: Dff<Bits<4>>,
    ar_held: Dff<Bit>,
    ar_row: Dff<Bits<10>>,
    b_valid: Dff<Bit>,
    b_response: Dff<Bits<2>>,
    r_valid: Dff<Bit>,
    r_response: Dff<Bits<2>>,
    r_data: Dff<Bits<32>>,
    under_way: Dff<Bit>,
    given: Dff<Access>,
    read_last: Dff<Bit>,

    write_due: Signal<Local, Bit>,
    read_due: Signal<Local, Bit>,
    takes_write: Signal<Local, Bit>,
    takes_read: Signal<Local, Bit>,
    row: Signal<Local, Bits<10>>,
    target: Signal<Local, Target>,

    #[constant(row(mailbox::MAILBOX))]
    window_row: Constant<Bits<10>>,
    #[constant(area(mailbox::MAILBOX))]
    window_area: Constant<Bits<10>>,
    #[constant(row(register::ARGUMENT))]
    argument_row: Constant<Bits<10>>,
    #[constant(area(register::ARGUMENT))]
    argument_area: Constant<Bits<10>>,
    #[constant(row(register::COMMAND))]
    command_row: Constant<Bits<10>>,
    #[constant(row(mailbox::HOST_MESSAGE))]
    host_message_row: Constant<Bits<10>>,
    #[constant(row(mailbox::CARD_MESSAGE))]
    card_message_row: Constant<Bits<10>>,
    #[constant(row(register::INTERRUPT_STATE))]
    state_row: Constant<Bits<10>>,
    #[constant(row(register::INTERRUPT_ENABLE))]
    enable_row: Constant<Bits<10>>,
    #[constant(row(register::INTERRUPT_TEST))]
    test_row: Constant<Bits<10>>,
    #[constant(row(transmit::CAPABILITIES))]
    capabilities_row: Constant<Bits<10>>,
}

impl Logic for Port {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("what arrives is held");
        self.serves.d.next = !self.reset.val();
        self.s_axil.awready.next = self.serves.q.val() & !self.aw_held.q.val();
        self.s_axil.wready.next = self.serves.q.val() & !self.w_held.q.val();
        self.s_axil.arready.next = self.serves.q.val() & !self.ar_held.q.val();
        if self.s_axil.awvalid.val() & self.serves.q.val() & !self.aw_held.q.val() {
            self.aw_held.d.next = true;
            self.aw_row.d.next = self.s_axil.awaddr.val().get_bits::<10>(2);
        }
        if self.s_axil.wvalid.val() & self.serves.q.val() & !self.w_held.q.val() {
            self.w_held.d.next = true;
            self.w_data.d.next = self.s_axil.wdata.val();
            self.w_strobe.d.next = self.s_axil.wstrb.val();
        }
        if self.s_axil.arvalid.val() & self.serves.q.val() & !self.ar_held.q.val() {
            self.ar_held.d.next = true;
            self.ar_row.d.next = self.s_axil.araddr.val().get_bits::<10>(2);
        }

        comment!("whose turn it is");
        self.write_due.next = self.aw_held.q.val()
            & self.w_held.q.val()
            & !self.b_valid.q.val()
            & !self.under_way.q.val();
        self.read_due.next = self.ar_held.q.val() & !self.r_valid.q.val() & !self.under_way.q.val();
        self.takes_write.next =
            self.write_due.val() & (!self.read_due.val() | self.read_last.q.val());
        self.takes_read.next =
            self.read_due.val() & (!self.write_due.val() | !self.read_last.q.val());
        self.row.next = self.aw_row.q.val();
        if self.takes_read.val() {
            self.row.next = self.ar_row.q.val();
        }

        comment!("what its address means");
        self.target.next = Target::Registers;
        if (self.row.val() & self.window_area.val()) == self.window_row.val() {
            self.target.next = Target::Window;
        }
        if (self.row.val() & self.argument_area.val()) == self.argument_row.val() {
            self.target.next = Target::Argument;
        }
        if self.row.val() == self.command_row.val() {
            self.target.next = Target::Command;
        }
        if self.row.val() == self.host_message_row.val() {
            self.target.next = Target::HostMessage;
        }
        if self.row.val() == self.card_message_row.val() {
            self.target.next = Target::CardMessage;
        }
        if self.row.val() == self.state_row.val() {
            self.target.next = Target::InterruptState;
        }
        if self.row.val() == self.enable_row.val() {
            self.target.next = Target::InterruptEnable;
        }
        if self.row.val() == self.test_row.val() {
            self.target.next = Target::InterruptTest;
        }
        if self.row.val() == self.capabilities_row.val() {
            self.target.next = Target::Capabilities;
        }

        if self.takes_write.val() | self.takes_read.val() {
            self.under_way.d.next = true;
            self.read_last.d.next = self.takes_read.val();
            self.given.d.next.write = self.takes_write.val();
            self.given.d.next.row = self.row.val();
            self.given.d.next.data = self.w_data.q.val();
            self.given.d.next.strobe = self.w_strobe.q.val();
            self.given.d.next.target = self.target.val();
        }
        if self.takes_write.val() {
            self.aw_held.d.next = false;
            self.w_held.d.next = false;
        }
        if self.takes_read.val() {
            self.ar_held.d.next = false;
        }
        self.access.next = self.given.q.val();
        self.access_valid.next = self.under_way.q.val();

        comment!("responses");
        if self.b_valid.q.val() & self.s_axil.bready.val() {
            self.b_valid.d.next = false;
        }
        if self.r_valid.q.val() & self.s_axil.rready.val() {
            self.r_valid.d.next = false;
        }
        if self.done.val() {
            self.under_way.d.next = false;
            if self.given.q.val().write {
                self.b_valid.d.next = true;
                self.b_response.d.next = self.response.val();
            } else {
                self.r_valid.d.next = true;
                self.r_data.d.next = self.data.val();
                self.r_response.d.next = self.response.val();
            }
        }
        self.s_axil.bvalid.next = self.b_valid.q.val();
        self.s_axil.bresp.next = self.b_response.q.val();
        self.s_axil.rvalid.next = self.r_valid.q.val();
        self.s_axil.rdata.next = self.r_data.q.val();
        self.s_axil.rresp.next = self.r_response.q.val();

        if self.reset.val() {
            self.aw_held.d.next = false;
            self.w_held.d.next = false;
            self.ar_held.d.next = false;
            self.b_valid.d.next = false;
            self.r_valid.d.next = false;
            self.under_way.d.next = false;
            self.read_last.d.next = false;
        }
    }
}

/// The row of a register, or of the first one of an array.
pub(super) fn row(register: Register) -> Bits<10> {
    u64::from(register.offset / 4).into()
}

/// Bits of a row that are those of [`row`] in all elements of an array.
fn area(array: Register) -> Bits<10> {
    assert!(
        array.stride == 4
            && array.count.is_power_of_two()
            && array.offset.is_multiple_of(4 * array.count),
        "{}: words in an area of a power of two",
        array.name
    );
    u64::from(register::SPACE / 4 - array.count).into()
}

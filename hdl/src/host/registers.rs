//! Registers: the device's registers as an AXI4-Lite slave of 4 KiB.
//!
//! ```text
//!  s_axil AW ─► row ──┐
//!         W  ─► word ─┼─► arguments, completion queue, interrupts ──► levels
//!         B  ◄─ done  └─► start, restart, arm, clear, test, doorbell ──► pulses
//!         AR ─► row ─┬─► one compare a word ─► AND-OR ─┐
//!                    └─► record_row ─► record_data ────┴─► R
//! ```
//!
//! Every offset, width and position is that of `warpline_regmap::register`. Addresses without a register read zero
//! and ignore writes, octet strobes are honoured, the two low address bits are ignored, and the response is always
//! OKAY. Address and data of a write arrive in any order. No write depends on another block: what must take effect at
//! once is a pulse, in the cycle of the write's response.
//!
//! Latency: the response to a write follows its second half by three cycles; that to a read follows the address by
//! four, with the value of two cycles before. Throughput: a write every three cycles and a read every five,
//! independent of each other.
//!
//! An illegal completion queue ends before an entry could go to it: three cycles behind the write to
//! `COMPLETION_ENTRIES` its entries are zero, and the host reads zero. Writes to its base end a queue at once.
//!
//! While a command runs, writes to COMMAND and ARGUMENT have no effect, so `arguments` is stable for the blocks that
//! carry the command out. Counters lag two cycles behind their pulses.
use crate::Config;
use crate::parts::axi::AxiLiteSlave;
use rust_hdl_core::prelude::*;
use warpline_regmap::Register;
use warpline_regmap::layout::error_record;
use warpline_regmap::sctp::sctp_capabilities;
use warpline_regmap::{register, transmit};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Words that never change.
const IDENTITY: [Register; 8] = [
    register::IDENTITY,
    register::VERSION,
    register::SHAPE,
    register::RING_OCTETS,
    register::STAG_SLOTS,
    register::RECEIVE_SLOTS,
    register::MAX_ULPDU,
    transmit::CAPABILITIES,
];
/// Status, in the order in which the kernel fills `status_words`.
const STATUS: [Register; 3] = [
    register::COMMAND,
    register::COMPLETION_PRODUCER,
    register::INTERRUPT_STATE,
];
/// Place of the completion queue, in the order in which the kernel reads `completion`.
const COMPLETION: [Register; 2] = [
    register::COMPLETION_BASE_LOW,
    register::COMPLETION_BASE_HIGH,
];
/// Settings of interrupts, in the order in which the kernel reads `interrupts`.
const INTERRUPTS: [Register; 2] = [register::INTERRUPT_ENABLE, register::INTERRUPT_HOLDOFF];
/// Counters, in the order in which the kernel feeds `counter`.
const COUNTERS: [Register; 7] = [
    register::SEGMENTS,
    register::OCTETS,
    register::SEGMENTS_DROPPED,
    register::FPDUS,
    register::FPDUS_DISCARDED,
    register::PAYLOAD_OCTETS,
    register::ERRORS,
];
/// Words of `ARGUMENT`.
const ARGUMENTS: usize = register::ARGUMENT.count as usize;

/// The registers of a device with S streams.
#[derive(Block)]
#[block(identity: [u64; 8])]
pub struct Registers<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Rises with the reset of the ports, a cycle before `reset`, and falls with it.
    pub port_reset: Signal<In, Bit>,
    /// The host.
    pub s_axil: AxiLiteSlave,

    /// Pulse: execute the command `number`.
    pub start: Signal<Out, Bit>,
    /// Number of the command; stable until the next `start`.
    pub number: Signal<Out, Bits<8>>,
    /// Words of `ARGUMENT`, word 0 in the lowest bits; stable while `busy`.
    pub arguments: Signal<Out, Bits<256>>,
    /// The command is not done; high at the latest in the second cycle after `start`.
    pub busy: Signal<In, Bit>,
    /// The last command was refused.
    pub failed: Signal<In, Bit>,

    /// Bus address of the completion queue.
    pub completion_base: Signal<Out, Bits<64>>,
    /// Entries of the completion queue: as the host wrote them, and zero from the second cycle behind `restart` on if
    /// there is no such queue.
    pub completion_entries: Signal<Out, Bits<32>>,
    /// Entries that the host has consumed.
    pub completion_consumer: Signal<Out, Bits<32>>,
    /// Pulse: the base or `completion_entries` was written; the queue ends, or a new one begins.
    pub restart: Signal<Out, Bit>,
    /// Entries that the device has written since `restart`.
    pub completion_producer: Signal<In, Bits<32>>,

    /// Pulse: an interrupt is requested.
    pub arm: Signal<Out, Bit>,
    /// Entries that the host has consumed, with `arm`.
    pub armed_count: Signal<Out, Bits<32>>,
    /// Interrupts that have happened, one bit a vector.
    pub interrupt_state: Signal<In, Bits<2>>,
    /// Pulses: bits of `interrupt_state` to be cleared.
    pub interrupt_clear: Signal<Out, Bits<2>>,
    /// Interrupts whose messages are sent.
    pub interrupt_enable: Signal<Out, Bits<2>>,
    /// Pulses: interrupts to raise.
    pub interrupt_test: Signal<Out, Bits<2>>,
    /// Cycles between two COMPLETION messages.
    pub holdoff: Signal<Out, Bits<24>>,

    /// Pulse: descriptors were written to a receive ring. At most every three cycles; without back-pressure.
    pub doorbell: Signal<Out, Bit>,
    /// Stream of the ring, below S, with `doorbell`.
    pub doorbell_stream: Signal<Out, Bits<8>>,
    /// Queue of the ring, 0 to 7 whatever the device has, with `doorbell`.
    pub doorbell_queue: Signal<Out, Bits<8>>,
    /// Descriptors written so far modulo 2^16, with `doorbell`.
    pub doorbell_value: Signal<Out, Bits<16>>,

    /// Pulse: slots were written to a send ring. At most every three cycles; without back-pressure.
    pub send_doorbell: Signal<Out, Bit>,
    /// Stream of the ring, with `send_doorbell`; there may be no such stream.
    pub send_doorbell_stream: Signal<Out, Bits<8>>,
    /// Slots written so far modulo 2^16, with `send_doorbell`.
    pub send_doorbell_value: Signal<Out, Bits<16>>,
    /// `TRANSMIT_STATE` of each stream.
    pub transmit_state: [Signal<In, Bits<32>>; S],

    /// Pulse: a segment was accepted.
    pub segments: Signal<In, Bit>,
    /// Stream octets accepted in this cycle.
    pub octets: Signal<In, Bits<8>>,
    /// Pulse: octets of a segment were dropped.
    pub segments_dropped: Signal<In, Bit>,
    /// Pulse: an FPDU left its ring.
    pub fpdus: Signal<In, Bit>,
    /// Pulse: an FPDU was discarded.
    pub discarded: Signal<In, Bit>,
    /// Payload octets of an FPDU that was accepted, with `payload_valid`.
    pub payload: Signal<In, Bits<16>>,
    /// Pulse: `payload` is valid.
    pub payload_valid: Signal<In, Bit>,
    /// Pulse: a stream had an error.
    pub errors: Signal<In, Bit>,

    /// Sequence number behind the last in-order octet, of each stream.
    pub edge_sequence: [Signal<In, Bits<32>>; S],
    /// Sequence number behind the last octet that the ring has room for, of each stream.
    pub limit_sequence: [Signal<In, Bits<32>>; S],

    /// Row of the error records: 16 words a stream.
    pub record_row: Signal<Out, Bits<8>>,
    /// Word at the `record_row` of two cycles ago.
    pub record_data: Signal<In, Bits<32>>,

    // write: both halves held, then applied
    aw_held: Dff<Bit>,
    w_held: Dff<Bit>,
    write_row: Dff<Bits<10>>,
    write_data: Dff<Bits<32>>,
    write_strobe: Dff<Bits<4>>,
    apply: Dff<Bit>,
    b_valid: Dff<Bit>,
    idle: Dff<Bit>,
    #[value(Storage::new(elements(register::ARGUMENT), [u32::MAX; ARGUMENTS]))]
    argument: Storage<ARGUMENTS>,
    #[value(Storage::new(singles(COMPLETION), COMPLETION.map(|r| r.mask())))]
    completion: Storage<2>,
    #[value(Storage::new(singles([register::COMPLETION_ENTRIES]), [u32::MAX]))]
    queue_size: Storage<1>,
    refused: Dff<Bit>,
    base_written: Signal<Local, Bit>,
    entries_low: Signal<Local, Bits<17>>,
    base_low: Signal<Local, Bits<6>>,
    #[value(Storage::new(singles([register::COMPLETION_CONSUMER]), [u32::MAX]))]
    consumer: Storage<1>,
    #[value(Storage::new(singles(INTERRUPTS), INTERRUPTS.map(|r| r.mask())))]
    interrupts: Storage<2>,
    start_pulse: Dff<Bit>,
    number_given: Dff<Bits<8>>,
    restart_pulse: Dff<Bit>,
    arm_pulse: Dff<Bit>,
    count_given: Dff<Bits<32>>,
    clear_pulse: Dff<Bits<2>>,
    test_pulse: Dff<Bits<2>>,
    bell: Signal<Local, Bits<10>>,
    bell_pulse: Dff<Bit>,
    bell_element: Dff<Bits<10>>,
    bell_count: Dff<Bits<16>>,

    send_bell_pulse: Dff<Bit>,
    send_bell_stream: Dff<Bits<16>>,
    send_bell_count: Dff<Bits<16>>,

    // read: row held, three steps, then answered
    reading: Dff<Bit>,
    read_row: Dff<Bits<10>>,
    step: Dff<Bits<2>>,
    r_valid: Dff<Bit>,
    r_data: Dff<Bits<32>>,
    #[value(Words::new(singles(IDENTITY)))]
    identity_words: Words<8>,
    #[value(Words::new(singles(STATUS)))]
    status_words: Words<3>,
    #[value(Words::new(elements(register::ARGUMENT)))]
    argument_words: Words<ARGUMENTS>,
    #[value(Words::new(singles(COMPLETION)))]
    completion_words: Words<2>,
    #[value(Words::new(singles([register::COMPLETION_ENTRIES])))]
    entries_words: Words<1>,
    #[value(Words::new(singles([register::COMPLETION_CONSUMER])))]
    consumer_words: Words<1>,
    #[value(Words::new(singles(INTERRUPTS)))]
    interrupt_words: Words<2>,
    #[value(Words::new(singles(COUNTERS)))]
    counter_words: Words<7>,
    #[value(Words::new(elements(register::STREAM_EDGE)))]
    edge_words: Words<S>,
    #[value(Words::new(elements(register::STREAM_LIMIT)))]
    limit_words: Words<S>,
    #[value(Words::new(elements(transmit::TRANSMIT_STATE)))]
    transmit_words: Words<S>,
    record_word: Signal<Local, Bits<10>>,
    record_hit: Dff<Bit>,
    record: Signal<Local, Bits<32>>,
    busy_word: Signal<Local, Bits<32>>,
    failed_word: Signal<Local, Bits<32>>,

    counter: [Counter; 7],

    #[constant(|i| identity[i])]
    identity: [Constant<Bits<32>>; 8],
    #[constant(row(register::COMMAND.offset))]
    command_row: Constant<Bits<10>>,
    #[constant(row(register::COMPLETION_BASE_LOW.offset))]
    base_low_row: Constant<Bits<10>>,
    #[constant(row(register::COMPLETION_BASE_HIGH.offset))]
    base_high_row: Constant<Bits<10>>,
    #[constant(row(register::COMPLETION_ENTRIES.offset))]
    entries_row: Constant<Bits<10>>,
    #[constant(row(register::COMPLETION_ARM.offset))]
    arm_row: Constant<Bits<10>>,
    #[constant(register::COMPLETION_ARM.octets())]
    arm_octets: Constant<Bits<4>>,
    #[constant(row(register::INTERRUPT_STATE.offset))]
    state_row: Constant<Bits<10>>,
    #[constant(row(register::INTERRUPT_TEST.offset))]
    test_row: Constant<Bits<10>>,
    #[constant(row(register::RECEIVE_PRODUCER.offset))]
    bell_base: Constant<Bits<10>>,
    #[constant(register::RECEIVE_PRODUCER_STRIDE * S as u32)]
    bell_end: Constant<Bits<10>>,
    #[constant(register::RECEIVE_PRODUCER.octets())]
    bell_octets: Constant<Bits<4>>,
    #[constant(row(transmit::SEND_PRODUCER.offset))]
    send_bell_row: Constant<Bits<10>>,
    #[constant(transmit::SEND_PRODUCER.octets())]
    send_bell_octets: Constant<Bits<4>>,
    #[constant(transmit::SEND_PRODUCER_COUNT.lsb)]
    send_count_at: Constant<Bits<8>>,
    #[constant(transmit::SEND_PRODUCER_STREAM.lsb)]
    send_stream_at: Constant<Bits<8>>,
    #[constant(row(register::ERROR_RECORD.offset))]
    record_base: Constant<Bits<10>>,
    #[constant(row(register::ERROR_RECORD.stride * S as u32))]
    record_end: Constant<Bits<10>>,
    #[constant(error_record::WORDS)]
    record_words: Constant<Bits<4>>,
    #[constant(register::COMMAND_NUMBER.lsb)]
    number_at: Constant<Bits<8>>,
    #[constant(1_u64 << register::COMMAND_BUSY.lsb)]
    busy_mask: Constant<Bits<32>>,
    #[constant(1_u64 << register::COMMAND_FAILED.lsb)]
    failed_mask: Constant<Bits<32>>,
}

impl<const S: usize> Registers<S> {
    /// The registers of the device that `config` describes.
    ///
    /// # Panics
    /// When `config` has another number of streams than S, or more than the register map has room for.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(config.streams == S && (1..=register::STREAM_EDGE.count as usize).contains(&S));
        let record = register::ERROR_RECORD;
        assert!(
            record.stride == 64 && record.count == 16 && error_record::WORDS < 16,
            "record_row is 16 words a stream"
        );
        assert!(
            register::INTERRUPT_STATE.mask() == 0b11 && register::HOLDOFF_CYCLES.max() == 0xff_ffff,
            "two vectors, a holdoff of 24 bits"
        );
        assert!(
            register::RECEIVE_PRODUCER.mask() == 0xffff && register::RECEIVE_PRODUCER_STRIDE == 8,
            "16-bit doorbells, 8 of them a stream"
        );
        const {
            assert!(
                register::COMPLETION_ENTRIES_MAX == 1 << 16
                    && register::COMPLETION_ALIGNMENT == 1 << 6,
                "entries in 17 bits, six zeros at the end of their address"
            );
        }
        let mut shape = [0];
        register::SHAPE_WIDTH.put(&mut shape, config.octets() as u64);
        register::SHAPE_STREAMS.put(&mut shape, config.streams as u64);
        register::SHAPE_QUEUES.put(&mut shape, config.queues as u64);
        let mut capabilities = [0];
        transmit::CAPABILITY_TRANSMIT.put(&mut capabilities, config.transmit.into());
        transmit::CAPABILITY_READ_RESPONDER.put(&mut capabilities, config.transmit.into());
        sctp_capabilities::SCTP.put(&mut capabilities, config.sctp.is_some().into());
        let identity = [
            u64::from(register::IDENTITY_VALUE),
            u64::from(register::VERSION_VALUE),
            u64::from(shape[0]),
            config.ring_octets as u64,
            config.stag_slots as u64,
            config.receive_slots as u64,
            config.max_ulpdu() as u64,
            u64::from(capabilities[0]),
        ];
        Self::assemble(identity)
    }
}

impl<const S: usize> Logic for Registers<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("write: hold address and word, whichever arrives first, then apply and respond");
        self.s_axil.awready.next = !self.aw_held.q.val() & !self.reset.val();
        self.s_axil.wready.next = !self.w_held.q.val() & !self.reset.val();
        self.s_axil.bvalid.next = self.b_valid.q.val();
        self.s_axil.bresp.next = 0.into();
        if self.s_axil.awvalid.val() & !self.aw_held.q.val() {
            self.aw_held.d.next = true;
            self.write_row.d.next = self.s_axil.awaddr.val().get_bits::<10>(2);
        }
        if self.s_axil.wvalid.val() & !self.w_held.q.val() {
            self.w_held.d.next = true;
            self.write_data.d.next = self.s_axil.wdata.val();
            self.write_strobe.d.next = self.s_axil.wstrb.val();
        }
        self.apply.d.next = self.aw_held.q.val()
            & self.w_held.q.val()
            & !self.apply.q.val()
            & !self.b_valid.q.val();
        if self.apply.q.val() {
            self.aw_held.d.next = false;
            self.w_held.d.next = false;
            self.b_valid.d.next = true;
        }
        if self.b_valid.q.val() & self.s_axil.bready.val() {
            self.b_valid.d.next = false;
        }

        comment!("writable words");
        comment!("valid a cycle later: no write is applied two cycles behind a command");
        self.idle.d.next = !self.busy.val() & !self.start_pulse.q.val();
        self.argument.reset.next = self.reset.val();
        self.argument.write.next = self.apply.q.val() & self.idle.q.val();
        self.argument.row.next = self.write_row.q.val();
        self.argument.data.next = self.write_data.q.val();
        self.argument.strobe.next = self.write_strobe.q.val();
        self.completion.reset.next = self.reset.val();
        self.completion.write.next = self.apply.q.val();
        self.completion.row.next = self.write_row.q.val();
        self.completion.data.next = self.write_data.q.val();
        self.completion.strobe.next = self.write_strobe.q.val();
        comment!(
            "a queue of a power of two of entries up to 65536, at a multiple of 64 octets, or none"
        );
        self.base_written.next = self.apply.q.val()
            & self.write_strobe.q.val().any()
            & ((self.write_row.q.val() == self.base_low_row.val())
                | (self.write_row.q.val() == self.base_high_row.val()));
        self.entries_low.next = self.queue_size.word[0].val().get_bits::<17>(0);
        self.base_low.next = self.completion.word[0].val().get_bits::<6>(0);
        self.refused.d.next = !self.refused.q.val()
            & (self.queue_size.word[0].val().get_bits::<15>(17).any()
                | (self.entries_low.val() & (self.entries_low.val() - 1)).any()
                | (self.entries_low.val().any() & self.base_low.val().any()));
        self.queue_size.reset.next =
            self.reset.val() | self.refused.q.val() | self.base_written.val();
        self.queue_size.write.next = self.apply.q.val();
        self.queue_size.row.next = self.write_row.q.val();
        self.queue_size.data.next = self.write_data.q.val();
        self.queue_size.strobe.next = self.write_strobe.q.val();
        self.consumer.reset.next = self.reset.val() | self.restart_pulse.q.val();
        self.consumer.write.next = self.apply.q.val();
        self.consumer.row.next = self.write_row.q.val();
        self.consumer.data.next = self.write_data.q.val();
        self.consumer.strobe.next = self.write_strobe.q.val();
        self.interrupts.reset.next = self.reset.val();
        self.interrupts.write.next = self.apply.q.val();
        self.interrupts.row.next = self.write_row.q.val();
        self.interrupts.data.next = self.write_data.q.val();
        self.interrupts.strobe.next = self.write_strobe.q.val();
        self.start_pulse.d.next = false;
        if self.apply.q.val()
            & self.idle.q.val()
            & self.write_strobe.q.val().get_bit(0)
            & (self.write_row.q.val() == self.command_row.val())
        {
            self.start_pulse.d.next = true;
            self.number_given.d.next = self
                .write_data
                .q
                .val()
                .get_bits::<8>(self.number_at.val().index());
        }
        self.restart_pulse.d.next = self.base_written.val()
            | (self.apply.q.val()
                & self.write_strobe.q.val().any()
                & (self.write_row.q.val() == self.entries_row.val()));
        self.start.next = self.start_pulse.q.val();
        self.number.next = self.number_given.q.val();
        self.restart.next = self.restart_pulse.q.val();
        self.arguments.next = bit_cast::<256, 32>(self.argument.word[0].val())
            | (bit_cast::<256, 32>(self.argument.word[1].val()) << 32)
            | (bit_cast::<256, 32>(self.argument.word[2].val()) << 64)
            | (bit_cast::<256, 32>(self.argument.word[3].val()) << 96)
            | (bit_cast::<256, 32>(self.argument.word[4].val()) << 128)
            | (bit_cast::<256, 32>(self.argument.word[5].val()) << 160)
            | (bit_cast::<256, 32>(self.argument.word[6].val()) << 192)
            | (bit_cast::<256, 32>(self.argument.word[7].val()) << 224);
        self.completion_base.next = bit_cast::<64, 32>(self.completion.word[0].val())
            | (bit_cast::<64, 32>(self.completion.word[1].val()) << 32);
        self.completion_entries.next = self.queue_size.word[0].val();
        self.completion_consumer.next = self.consumer.word[0].val();

        self.interrupt_enable.next = self.interrupts.word[0].val().get_bits::<2>(0);
        self.holdoff.next = self.interrupts.word[1].val().get_bits::<24>(0);

        comment!("interrupts: pulses of writes");
        self.arm_pulse.d.next = self.apply.q.val()
            & ((self.write_strobe.q.val() & self.arm_octets.val()) == self.arm_octets.val())
            & (self.write_row.q.val() == self.arm_row.val());
        self.count_given.d.next = self.write_data.q.val();
        self.clear_pulse.d.next = 0.into();
        self.test_pulse.d.next = 0.into();
        if self.apply.q.val() & self.write_strobe.q.val().get_bit(0) {
            if self.write_row.q.val() == self.state_row.val() {
                self.clear_pulse.d.next = self.write_data.q.val().get_bits::<2>(0);
            }
            if self.write_row.q.val() == self.test_row.val() {
                self.test_pulse.d.next = self.write_data.q.val().get_bits::<2>(0);
            }
        }
        self.arm.next = self.arm_pulse.q.val();
        self.armed_count.next = self.count_given.q.val();
        self.interrupt_clear.next = self.clear_pulse.q.val();
        self.interrupt_test.next = self.test_pulse.q.val();

        comment!("doorbells: only of streams that exist");
        self.bell.next = self.write_row.q.val() - self.bell_base.val();
        self.bell_pulse.d.next = self.apply.q.val()
            & ((self.write_strobe.q.val() & self.bell_octets.val()) == self.bell_octets.val())
            & (self.bell.val() < self.bell_end.val());
        self.bell_element.d.next = self.bell.val();
        self.bell_count.d.next = self.write_data.q.val().get_bits::<16>(0);
        self.doorbell.next = self.bell_pulse.q.val();
        self.doorbell_stream.next = bit_cast::<8, 7>(self.bell_element.q.val().get_bits::<7>(3));
        self.doorbell_queue.next = bit_cast::<8, 3>(self.bell_element.q.val().get_bits::<3>(0));
        self.doorbell_value.next = self.bell_count.q.val();

        self.send_bell_pulse.d.next = self.apply.q.val()
            & ((self.write_strobe.q.val() & self.send_bell_octets.val())
                == self.send_bell_octets.val())
            & (self.write_row.q.val() == self.send_bell_row.val());
        self.send_bell_stream.d.next = self
            .write_data
            .q
            .val()
            .get_bits::<16>(self.send_stream_at.val().index());
        self.send_bell_count.d.next = self
            .write_data
            .q
            .val()
            .get_bits::<16>(self.send_count_at.val().index());
        self.send_doorbell.next =
            self.send_bell_pulse.q.val() & !self.send_bell_stream.q.val().get_bits::<8>(8).any();
        self.send_doorbell_stream.next = self.send_bell_stream.q.val().get_bits::<8>(0);
        self.send_doorbell_value.next = self.send_bell_count.q.val();

        comment!("counters");
        for i in 0..7 {
            self.counter[i].reset.next = self.reset.val();
            self.counter_words.value[i].next = self.counter[i].count.val();
        }
        self.counter[0].amount.next = 0.into();
        if self.segments.val() {
            self.counter[0].amount.next = 1.into();
        }
        self.counter[1].amount.next = bit_cast::<16, 8>(self.octets.val());
        self.counter[2].amount.next = 0.into();
        if self.segments_dropped.val() {
            self.counter[2].amount.next = 1.into();
        }
        self.counter[3].amount.next = 0.into();
        if self.fpdus.val() {
            self.counter[3].amount.next = 1.into();
        }
        self.counter[4].amount.next = 0.into();
        if self.discarded.val() {
            self.counter[4].amount.next = 1.into();
        }
        self.counter[5].amount.next = 0.into();
        if self.payload_valid.val() {
            self.counter[5].amount.next = self.payload.val();
        }
        self.counter[6].amount.next = 0.into();
        if self.errors.val() {
            self.counter[6].amount.next = 1.into();
        }

        comment!("read: hold the row, look it up, respond");
        self.s_axil.arready.next = !self.reading.q.val() & !self.reset.val();
        self.s_axil.rvalid.next = self.r_valid.q.val();
        self.s_axil.rdata.next = self.r_data.q.val();
        self.s_axil.rresp.next = 0.into();
        if self.s_axil.arvalid.val() & !self.reading.q.val() {
            self.reading.d.next = true;
            self.read_row.d.next = self.s_axil.araddr.val().get_bits::<10>(2);
        }
        self.step.d.next = 0.into();
        if self.reading.q.val() & !self.r_valid.q.val() {
            self.step.d.next = self.step.q.val() + 1;
        }
        if self.step.q.val() == 2 {
            self.r_valid.d.next = true;
        }
        if self.r_valid.q.val() & self.s_axil.rready.val() {
            self.r_valid.d.next = false;
            self.reading.d.next = false;
        }

        comment!("words by row");
        self.identity_words.row.next = self.read_row.q.val();
        self.status_words.row.next = self.read_row.q.val();
        self.argument_words.row.next = self.read_row.q.val();
        self.completion_words.row.next = self.read_row.q.val();
        self.entries_words.row.next = self.read_row.q.val();
        self.consumer_words.row.next = self.read_row.q.val();
        self.interrupt_words.row.next = self.read_row.q.val();
        self.counter_words.row.next = self.read_row.q.val();
        self.edge_words.row.next = self.read_row.q.val();
        self.limit_words.row.next = self.read_row.q.val();
        self.transmit_words.row.next = self.read_row.q.val();
        for i in 0..8 {
            self.identity_words.value[i].next = self.identity[i].val();
        }
        for i in 0..8 {
            self.argument_words.value[i].next = self.argument.word[i].val();
        }
        for i in 0..2 {
            self.completion_words.value[i].next = self.completion.word[i].val();
        }
        self.entries_words.value[0].next = self.queue_size.word[0].val();
        self.consumer_words.value[0].next = self.consumer.word[0].val();
        for i in 0..2 {
            self.interrupt_words.value[i].next = self.interrupts.word[i].val();
        }
        for i in 0..S {
            self.edge_words.value[i].next = self.edge_sequence[i].val();
            self.limit_words.value[i].next = self.limit_sequence[i].val();
            self.transmit_words.value[i].next = self.transmit_state[i].val();
        }
        self.busy_word.next = 0.into();
        if self.busy.val() {
            self.busy_word.next = self.busy_mask.val();
        }
        self.failed_word.next = 0.into();
        if self.failed.val() {
            self.failed_word.next = self.failed_mask.val();
        }
        self.status_words.value[0].next = (bit_cast::<32, 8>(self.number_given.q.val())
            << self.number_at.val())
            | self.busy_word.val()
            | self.failed_word.val();
        self.status_words.value[1].next = self.completion_producer.val();
        self.status_words.value[2].next = bit_cast::<32, 2>(self.interrupt_state.val());

        comment!("error records: only the words that a record has, of streams that exist");
        self.record_word.next = self.read_row.q.val() - self.record_base.val();
        self.record_row.next = self.record_word.val().get_bits::<8>(0);
        self.record_hit.d.next = (self.record_word.val() < self.record_end.val())
            & (self.record_word.val().get_bits::<4>(0) < self.record_words.val());
        self.record.next = 0.into();
        if self.record_hit.q.val() {
            self.record.next = self.record_data.val();
        }
        if self.step.q.val() == 2 {
            self.r_data.d.next = self.identity_words.word.val()
                | self.status_words.word.val()
                | self.argument_words.word.val()
                | self.completion_words.word.val()
                | self.entries_words.word.val()
                | self.consumer_words.word.val()
                | self.interrupt_words.word.val()
                | self.counter_words.word.val()
                | self.edge_words.word.val()
                | self.limit_words.word.val()
                | self.transmit_words.word.val()
                | self.record.val();
        }

        if self.reset.val() | self.port_reset.val() {
            self.aw_held.d.next = false;
            self.w_held.d.next = false;
            self.apply.d.next = false;
            self.b_valid.d.next = false;
            self.reading.d.next = false;
            self.step.d.next = 0.into();
            self.r_valid.d.next = false;
        }
        if self.reset.val() {
            self.start_pulse.d.next = false;
            self.number_given.d.next = 0.into();
            self.restart_pulse.d.next = false;
            self.refused.d.next = false;
            self.arm_pulse.d.next = false;
            self.clear_pulse.d.next = 0.into();
            self.test_pulse.d.next = 0.into();
            self.bell_pulse.d.next = false;
            self.send_bell_pulse.d.next = false;
        }
    }
}

/// Readable words: `word` is the value of the one at the `row` of two cycles ago, or zero if there is none.
///
/// ```text
///  row ──►(= at)──►[hit]──► AND value ─► OR ─►[found]──► word
/// ```
#[derive(Block)]
#[block(offsets: [u32; N])]
pub struct Words<const N: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Row to read: octet offset / 4.
    pub row: Signal<In, Bits<10>>,
    /// Present values.
    pub value: [Signal<In, Bits<32>>; N],
    /// The word.
    pub word: Signal<Out, Bits<32>>,
    #[constant(|i| row(offsets[i]))]
    at: [Constant<Bits<10>>; N],
    hit: [Dff<Bit>; N],
    chosen: [Signal<Local, Bits<32>>; N],
    sum: [Signal<Local, Bits<32>>; N],
    found: Dff<Bits<32>>,
}

impl<const N: usize> Words<N> {
    /// Words at the octet `offsets`.
    #[must_use]
    pub fn new(offsets: [u32; N]) -> Self {
        Self::assemble(offsets)
    }
}

impl<const N: usize> Logic for Words<N> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..N {
            self.hit[i].d.next = self.row.val() == self.at[i].val();
            self.chosen[i].next = 0.into();
            if self.hit[i].q.val() {
                self.chosen[i].next = self.value[i].val();
            }
        }
        comment!("at most one is chosen");
        self.sum[0].next = self.chosen[0].val();
        self.found.d.next = self.chosen[0].val();
        for i in 1..N {
            self.sum[i].next = self.sum[i - 1].val() | self.chosen[i].val();
            self.found.d.next = self.sum[i].val();
        }
        self.word.next = self.found.q.val();
    }
}

/// Words that the host writes.
#[derive(Block)]
#[block(offsets: [u32; N], masks: [u32; N])]
pub struct Storage<const N: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset: all words become zero.
    pub reset: Signal<In, Bit>,
    /// Pulse: write `data` to the word at `row`, if there is one.
    pub write: Signal<In, Bit>,
    /// Octet offset / 4.
    pub row: Signal<In, Bits<10>>,
    /// The new octets.
    pub data: Signal<In, Bits<32>>,
    /// Octets to write.
    pub strobe: Signal<In, Bits<4>>,
    /// Present values.
    pub word: [Signal<Out, Bits<32>>; N],
    #[constant(|i| row(offsets[i]))]
    at: [Constant<Bits<10>>; N],
    #[constant(|i| masks[i])]
    writable: [Constant<Bits<32>>; N],
    held: [Dff<Bits<32>>; N],
    lane: [Signal<Local, Bits<32>>; 4],
    #[constant(|lane| 0xff_u64 << (8 * lane))]
    lane_mask: [Constant<Bits<32>>; 4],
    mask: Signal<Local, Bits<32>>,
}

impl<const N: usize> Storage<N> {
    /// Words at the octet `offsets`, of which the bits of `masks` can be written.
    #[must_use]
    pub fn new(offsets: [u32; N], masks: [u32; N]) -> Self {
        Self::assemble(offsets, masks)
    }
}

impl<const N: usize> Logic for Storage<N> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..4 {
            self.lane[i].next = 0.into();
            if self.strobe.val().get_bit(i) {
                self.lane[i].next = self.lane_mask[i].val();
            }
        }
        self.mask.next =
            self.lane[0].val() | self.lane[1].val() | self.lane[2].val() | self.lane[3].val();
        for i in 0..N {
            if self.write.val() & (self.row.val() == self.at[i].val()) {
                self.held[i].d.next = (self.held[i].q.val() & !self.mask.val())
                    | (self.data.val() & self.mask.val() & self.writable[i].val());
            }
            if self.reset.val() {
                self.held[i].d.next = 0.into();
            }
            self.word[i].next = self.held[i].q.val();
        }
    }
}

/// A counter modulo 2^32; `count` lags by two cycles.
#[derive(Block, Default)]
pub struct Counter {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Added in this cycle.
    pub amount: Signal<In, Bits<16>>,
    /// The sum.
    pub count: Signal<Out, Bits<32>>,
    taken: Dff<Bits<16>>,
    sum: Dff<Bits<32>>,
}

impl Logic for Counter {
    #[hdl_gen]
    fn update(&mut self) {
        self.taken.d.next = self.amount.val();
        self.sum.d.next = self.sum.q.val() + bit_cast::<32, 16>(self.taken.q.val());
        self.count.next = self.sum.q.val();
        if self.reset.val() {
            self.taken.d.next = 0.into();
            self.sum.d.next = 0.into();
        }
    }
}

/// The row of an octet offset.
fn row(offset: u32) -> Bits<10> {
    u64::from(offset / 4).into()
}

/// Offsets of registers that stand alone.
fn singles<const N: usize>(registers: [Register; N]) -> [u32; N] {
    registers.map(|register| register.offset)
}

/// Offsets of the first N elements of an array.
fn elements<const N: usize>(register: Register) -> [u32; N] {
    std::array::from_fn(|index| register.at(index as u32))
}

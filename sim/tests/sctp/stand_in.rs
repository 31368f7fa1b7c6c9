//! A stand-in for the device at the ports of SCTP. It reports on each chunk, by its DDP-SSN:
//!
//! ```text
//!  0 to 31, even    TAKEN
//!  odd              NO_ROOM the first time, then TAKEN
//!  32 to 39         NO_ROOM for ever
//!  from 40 on       INVALID
//! ```
//!
//! All other ports are those of the stand-in in `tests/rules.rs`.

use warpline_hdl::{Config, Sctp};
use warpline_regmap::register::{self, command};
use warpline_sim::{BackPressure, Card, CardOptions, Error};

const PORTS: &str = "    input  wire        m_axis_msix_tready,
    input  wire [63:0] s_axis_sctp_tdata,
    input  wire [7:0]  s_axis_sctp_tkeep,
    input  wire        s_axis_sctp_tlast,
    input  wire [7:0]  s_axis_sctp_tdest,
    input  wire [1:0]  s_axis_sctp_tuser,
    input  wire        s_axis_sctp_tvalid,
    output wire        s_axis_sctp_tready,
    output wire [23:0] m_axis_chunk_tdata,
    output reg  [7:0]  m_axis_chunk_tdest,
    output reg         m_axis_chunk_tvalid,
    input  wire        m_axis_chunk_tready
);";

/// `SCTP_FAULT`: 1 another number, 2 a report too many, 3 a report that changes, 4 one that ends, 5 one in reset, 6 another status.
const LOGIC: &str = "    localparam SCTP_FAULT = 0;
    reg [15:0] chunk, ssn;
    reg [7:0]  status;
    reg        front;
    reg [31:0] seen;
    wire [15:0] number = front ? {s_axis_sctp_tdata[7:0], s_axis_sctp_tdata[15:8]} : chunk;
    assign s_axis_sctp_tready = !m_axis_chunk_tvalid;
    assign m_axis_chunk_tdata = {status, ssn};
    always @(posedge aclk) begin
        if (m_axis_chunk_tvalid & (m_axis_chunk_tready | SCTP_FAULT == 4)) m_axis_chunk_tvalid <= SCTP_FAULT == 2;
        else if (m_axis_chunk_tvalid & SCTP_FAULT == 3) status <= status + 1;
        if (s_axis_sctp_tvalid & s_axis_sctp_tready) begin
            front <= s_axis_sctp_tlast;
            chunk <= number;
            if (s_axis_sctp_tlast) begin
                m_axis_chunk_tvalid <= 1;
                m_axis_chunk_tdest <= s_axis_sctp_tdest;
                ssn <= SCTP_FAULT == 1 ? number + 1 : number;
                seen[number[4:0]] <= 1;
                if (SCTP_FAULT == 6) status <= 5;
                else if (number >= 40) status <= 3;
                else if (number >= 32) status <= 2;
                else if (number[0] & !seen[number[4:0]]) status <= 2;
                else status <= 0;
            end
        end
        if (!aresetn) begin
            m_axis_chunk_tvalid <= SCTP_FAULT == 5;
            front <= 1;
            seen <= 0;
        end
    end
endmodule";

/// Its text with a fault; 0: none.
fn text(fault: u32) -> String {
    let text = include_str!("../stand_in.sv");
    let text = text.replace("    input  wire        m_axis_msix_tready\n);", PORTS);
    let text = text.replace("endmodule", LOGIC);
    assert!(text.contains("s_axis_sctp_tvalid,") && text.contains("SCTP_FAULT"));
    text.replace(
        "localparam SCTP_FAULT = 0;",
        &format!("localparam SCTP_FAULT = {fault};"),
    )
}

/// A card with a fault, or what it has found at once.
pub fn open(fault: u32) -> Result<Card, Error> {
    let config = Config {
        sctp: Some(Sctp::default()),
        ..Config::simulated(64)
    };
    let options = CardOptions {
        back_pressure: BackPressure {
            stall: 50,
            latency: 1..=4,
        },
        idle: 20,
        ..CardOptions::default()
    };
    let sources = [("stand_in.sv".to_owned(), text(fault))];
    Card::open_sources(&config, options, sources)
}

pub fn card(fault: u32) -> Card {
    open(fault).unwrap()
}

/// One without the ports.
pub fn without() -> Card {
    let text = include_str!("../stand_in.sv").to_owned();
    let sources = [("stand_in.sv".to_owned(), text)];
    Card::open_sources(&Config::simulated(64), CardOptions::default(), sources).unwrap()
}

/// The host arms stream 0.
pub fn arm(card: &Card) {
    card.write_register(register::ARGUMENT.at(0), 0).unwrap();
    card.write_register(register::COMMAND.offset, command::ARM_STREAM)
        .unwrap();
    card.read_register(register::COMMAND.offset).unwrap();
}

/// The host closes stream 0.
pub fn close(card: &Card) {
    card.write_register(register::ARGUMENT.at(0), 0).unwrap();
    card.write_register(register::COMMAND.offset, command::CLOSE_STREAM)
        .unwrap();
    card.read_register(register::COMMAND.offset).unwrap();
}

//! ROMs as SystemVerilog: file name and text.

/// Whether the device leaves few block RAMs in the largest part.
pub(super) const fn few_block_rams(width: usize) -> bool {
    width > 256
}

/// What a ROM is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    BlockRam,
    /// Its output changes in cycles with `enable` only.
    BlockRamWithEnable,
    Luts,
}

/// A ROM with a registered output; rows are in hexadecimal.
pub(super) fn rom(
    name: &str,
    width: usize,
    address: usize,
    style: Style,
    rows: &[String],
) -> (String, String) {
    let depth = rows.len().next_power_of_two();
    let bits = depth.trailing_zeros().max(1) as usize;
    let (port, enable) = match style {
        Style::BlockRamWithEnable => ("    input  wire                enable,\n", "if (enable) "),
        Style::BlockRam | Style::Luts => ("", ""),
    };
    let style = match style {
        Style::BlockRam | Style::BlockRamWithEnable => "rom_style = \"block\", rom_block",
        Style::Luts => "rom_style = \"logic\"",
    };
    let mut text = format!(
        "// Made by warpline-synth: see constraints/selftest for what a row means.
module {name} (
    input  wire                clock,
{port}    input  wire  [{}:0]        row,
    output logic [{}:0] out
);
    (* {style} *) reg [{}:0] rows [0:{}];
    integer n;
    initial begin
        for (n = 0; n < {depth}; n = n + 1) rows[n] = {width}'h0;
",
        address - 1,
        width - 1,
        width - 1,
        depth - 1,
    );
    for (n, row) in rows.iter().enumerate() {
        text += &format!("        rows[{n}] = {width}'h{row};\n");
    }
    text += &format!(
        "    end
    initial out = {width}'h0;
    always_ff @(posedge clock) {enable}out <= rows[row[{}:0]];
",
        bits - 1
    );
    if bits < address {
        text += &format!(
            "    wire unused = &{{1'b0, row[{}:{bits}]}};\n",
            address - 1
        );
    }
    text += "endmodule\n";
    (format!("{name}.sv"), text)
}

/// The same in half as many block RAMs: rows are halves, the lower one first. The whole row is valid while the upper half is
/// read.
pub(super) fn rom_of_halves(
    name: &str,
    width: usize,
    address: usize,
    rows: &[String],
) -> [(String, String); 2] {
    let digits = width.div_ceil(8);
    let halves: Vec<String> = rows
        .iter()
        .flat_map(|row| {
            let (upper, lower) = row.split_at(row.len().saturating_sub(digits));
            [lower.to_owned(), format!("0{upper}")] // a number, even if nothing is left
        })
        .collect();
    let half = 4 * digits;
    let text = format!(
        "// Made by warpline-synth: see constraints/selftest for what a row means.
module {name} (
    input  wire                clock,
    input  wire  [{address}:0]        row,
    output wire  [{out}:0] out
);
    wire  [{half_top}:0] half;
    logic [{half_top}:0] lower;
    {name}_halves halves (.clock(clock), .row(row), .out(half));
    always_ff @(posedge clock) lower <= half;
    assign out = {{half[{upper_top}:0], lower}};
    wire unused = &{{1'b0, half[{half_top}:{upper}]}};
endmodule
",
        address = address - 1,
        out = width - 1,
        half_top = half - 1,
        upper = width - half,
        upper_top = width - half - 1,
    );
    [
        rom(
            &format!("{name}_halves"),
            half,
            address,
            Style::BlockRam,
            &halves,
        ),
        (format!("{name}.sv"), text),
    ]
}

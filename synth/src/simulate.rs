//! A netlist of ECP5 cells as SystemVerilog for a simulator, so that RTL and netlist can run side by side.
//!
//! ```text
//!  netlist.v ─┐
//!  yosys' models of carry, flip-flop, LUT RAM, … ──┼─► yosys: flattened ─► simulation.v
//!  our models of block RAM, which yosys lacks, and LUT ┘
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use warpline_sv_writer::{Design, Direction};

use crate::error::Error;
use crate::netlist::{Family, netlist_of, run};

/// All cells of the netlist of ECP5 in `folder` as plain SystemVerilog; its top module `top` is called `name`.
///
/// # Errors
/// As [`netlist_of`].
pub fn simulation(folder: &Path, yosys: &Path, top: &str, name: &str) -> Result<String, Error> {
    let models = folder.join("models.v");
    fs::write(&models, LUT.to_owned() + &block_ram()).map_err(Error::at(&models))?;
    // cells_sim.v includes a file twice, hence -overwrite
    let script = format!(
        "read_verilog netlist.v
read_verilog -overwrite +/ecp5/cells_sim.v
read_verilog -overwrite models.v
hierarchy -top {top} -check
proc
flatten
opt_clean -purge
check -assert
rename {top} {name}
write_verilog -noattr simulation.v
"
    );
    run(yosys, folder, "simulation", &script)?;
    let path = folder.join("simulation.v");
    let text = fs::read_to_string(&path).map_err(Error::at(&path))?;
    // text of a tool: style warnings do not apply
    let off = lint_off(&[
        "UNUSEDSIGNAL",
        "UNDRIVEN",
        "DECLFILENAME",
        "MULTIDRIVEN",
        "WIDTHEXPAND",
        "WIDTHTRUNC",
        "CASEINCOMPLETE",
        "PROCASSINIT",
        "UNOPTFLAT",
        "VARHIDDEN",
    ]);
    Ok(off + &text)
}

/// Lines that switch off warnings of Verilator for the text after them.
pub(crate) fn lint_off(codes: &[&str]) -> String {
    let line = |code| format!("/* verilator lint_off {code} */\n");
    codes.iter().map(line).collect()
}

/// The netlist of `design`, whose top module keeps its name, as plain SystemVerilog.
///
/// # Errors
/// As [`netlist_of`].
pub fn mapped(design: &Design, yosys: &Path, folder: &Path) -> Result<String, Error> {
    netlist_of(design, yosys, Family::Ecp5, folder)?;
    simulation(folder, yosys, design.top(), design.top())
}

/// Suffix of the RTL's top module beside a netlist.
const RTL: &str = "_rtl";
/// Suffix of the top module of the netlist.
pub const NETLIST: &str = "_netlist";

/// RTL and netlist as one device with the name and ports of the RTL: both get the same inputs, and an output that differs at a
/// rising edge of `clock` ends the simulation. `netlist` is the text of a module `<top>_netlist`.
#[must_use]
pub fn side_by_side(design: &Design, netlist: String, clock: &str) -> Vec<(String, String)> {
    let (mut files, top) = (design.sources(), design.top());
    let Some((file, text)) = files.last_mut() else {
        return files;
    };
    *file = format!("{top}{RTL}.sv");
    *text = text.replacen(&format!("module {top} "), &format!("module {top}{RTL} "), 1);

    let (mut ports, mut of_rtl, mut of_netlist) = (Vec::new(), Vec::new(), Vec::new());
    let (mut signals, mut compared) = (String::new(), String::new());
    for port in &design.ports {
        let (name, range) = (&port.name, format!("[{}:0]", port.width - 1));
        of_rtl.push(format!(".{name}({name})"));
        match port.direction {
            Direction::Input => {
                ports.push(format!("    input wire {range} {name}"));
                of_netlist.push(format!(".{name}({name})"));
            }
            Direction::Output => {
                ports.push(format!("    output wire {range} {name}"));
                of_netlist.push(format!(".{name}(n_{name})"));
                let _ = writeln!(signals, "    wire {range} n_{name};");
                let _ = writeln!(
                    compared,
                    "        if ({name} !== n_{name}) $fatal(1, \"{name} is %h in RTL, %h in the netlist\", {name}, n_{name});"
                );
            }
        }
    }
    let wrapper = format!(
        "// RTL and netlist with the same inputs.
module {top} (
{}
);
{signals}    {top}{RTL} rtl ({});
    {top}{NETLIST} netlist ({});
    always @(posedge {clock}) begin
{compared}    end
endmodule
",
        ports.join(",\n"),
        of_rtl.join(", "),
        of_netlist.join(", "),
    );
    files.push((format!("{top}{NETLIST}.v"), netlist));
    files.push((format!("{top}.sv"), wrapper));
    files
}

/// A LUT as a table; the model of yosys has seven multiplexers, which makes the text three times as long.
const LUT: &str = "module LUT4 (input A, B, C, D, output Z);
    parameter [15:0] INIT = 0;
    assign Z = INIT[{D, C, B, A}];
endmodule
";

/// ECP5's block RAM, DP16KD: 1024 rows of 18 bits, seen 1 to 36 bits wide by each port (ECP5 Memory Usage Guide, Lattice
/// FPGA-TN-02204). Modes that yosys does not use instantiate a missing module, which is an error; the reset of the outputs, which
/// the device does not use, is synchronous.
pub(crate) fn block_ram() -> String {
    let each = |count: usize, name: &str| -> Vec<String> {
        (0..count).rev().map(|bit| format!("{name}{bit}")).collect()
    };
    let mut inputs = Vec::new();
    let mut vectors = String::new();
    for port in ["A", "B"] {
        for (kind, count) in [("DI", 18), ("AD", 14), ("CS", 3)] {
            inputs.extend(each(count, &format!("{kind}{port}")));
        }
        inputs.extend(["CE", "OCE", "CLK", "WE", "RST"].map(|pin| format!("{pin}{port}")));
        for (kind, count) in [("DI", 18), ("AD", 14)] {
            let pins = each(count, &format!("{kind}{port}")).join(", ");
            let _ = writeln!(
                vectors,
                "    wire [{}:0] {kind}{port} = {{{pins}}};",
                count - 1
            );
        }
        let pins = each(18, &format!("DO{port}")).join(", ");
        let _ = writeln!(
            vectors,
            "    reg [17:0] DO{port} = 0;\n    assign {{{pins}}} = DO{port};"
        );
    }
    let outputs = [each(18, "DOA"), each(18, "DOB")].concat();
    let parameters: String = (0..64)
        .map(|n| format!("    parameter [319:0] INITVAL_{n:02X} = 0;\n"))
        .collect();
    let initial: String = (0..64)
        .map(|n| {
            format!("        for (n = 0; n < 16; n = n + 1) rows[{} + n] = INITVAL_{n:02X}[20 * n +: 18];\n", 16 * n)
        })
        .collect();
    let port = |p: &str, read: &str| {
        format!(
            "
    wire [17:0] was_{p} = rows[AD{p}[13:4]];
    wire [17:0] mask_{p} = mask(DATA_WIDTH_{p}, AD{p});
    wire [17:0] now_{p} = was_{p} & ~mask_{p} | DI{p} << low(DATA_WIDTH_{p}, AD{p}) & mask_{p};
    generate if (DATA_WIDTH_{p} != 36) begin
        always @(posedge CLK{p}) if (CE{p}) begin
            if (WE{p}) rows[AD{p}[13:4]] <= now_{p};
        end
    end endgenerate
    generate if ({read}) begin
        always @(posedge CLK{p}) if (RST{p}) DO{p} <= 0; else if (CE{p}) begin
            if (!WE{p} || WRITEMODE_{p} == \"READBEFOREWRITE\") DO{p} <= was_{p} >> low(DATA_WIDTH_{p}, AD{p}) & part(DATA_WIDTH_{p});
            else if (WRITEMODE_{p} == \"WRITETHROUGH\") DO{p} <= now_{p} >> low(DATA_WIDTH_{p}, AD{p}) & part(DATA_WIDTH_{p});
        end
    end endgenerate
"
        )
    };
    format!(
        "module DP16KD (input {}, output {});
    parameter DATA_WIDTH_A = 18;
    parameter DATA_WIDTH_B = 18;
    parameter REGMODE_A = \"NOREG\";
    parameter REGMODE_B = \"NOREG\";
    parameter RESETMODE = \"SYNC\";
    parameter ASYNC_RESET_RELEASE = \"SYNC\";
    parameter CSDECODE_A = \"0b000\";
    parameter CSDECODE_B = \"0b000\";
    parameter WRITEMODE_A = \"NORMAL\";
    parameter WRITEMODE_B = \"NORMAL\";
    parameter CLKAMUX = \"CLKA\";
    parameter CLKBMUX = \"CLKB\";
    parameter GSR = \"ENABLED\";
{parameters}{vectors}
    generate if (REGMODE_A != \"NOREG\" || REGMODE_B != \"NOREG\" || CSDECODE_A != \"0b000\" || CSDECODE_B != \"0b000\"
            || CLKAMUX != \"CLKA\" || CLKBMUX != \"CLKB\") begin
        mode_of_block_ram_without_model refused();
    end endgenerate

    // 16 bits of a row are numbered for narrow ports; the ninth bit of each octet is seen by 9 bits and more.
    function [4:0] low(input integer width, input [13:0] address);
        low = width >= 18 ? 0 : 9 * address[3]
            + (width <= 4 ? 4 * address[2] : 0) + (width <= 2 ? 2 * address[1] : 0) + (width <= 1 ? address[0] : 0);
    endfunction
    function [17:0] part(input integer width);
        part = width >= 18 ? 18'h3ffff : (18'd1 << width) - 18'd1;
    endfunction
    function [17:0] mask(input integer width, input [13:0] address);
        mask = width == 18 ? {{{{9{{address[1]}}}}, {{9{{address[0]}}}}}} : part(width) << low(width, address);
    endfunction

    reg [17:0] rows [0:1023];
    integer n;
    initial begin
{initial}    end
{}{}
    // 36 bits: two rows; port A writes, with an enable for each octet, and port B reads.
    wire [17:0] even = rows[{{ADA[13:5], 1'b0}}];
    wire [17:0] odd = rows[{{ADA[13:5], 1'b1}}];
    generate if (DATA_WIDTH_A == 36) begin
        always @(posedge CLKA) if (CEA & WEA) begin
            rows[{{ADA[13:5], 1'b0}}] <= {{ADA[1] ? DIA[17:9] : even[17:9], ADA[0] ? DIA[8:0] : even[8:0]}};
            rows[{{ADA[13:5], 1'b1}}] <= {{ADA[3] ? DIB[17:9] : odd[17:9], ADA[2] ? DIB[8:0] : odd[8:0]}};
        end
    end endgenerate
    generate if (DATA_WIDTH_B == 36) begin
        always @(posedge CLKB) if (RSTB) {{DOA, DOB}} <= 0; else if (CEB) begin
            DOA <= rows[{{ADB[13:5], 1'b0}}];
            DOB <= rows[{{ADB[13:5], 1'b1}}];
        end
    end endgenerate
endmodule
",
        inputs.join(", "),
        outputs.join(", "),
        port("A", "DATA_WIDTH_A != 36 && DATA_WIDTH_B != 36"),
        port("B", "DATA_WIDTH_B != 36"),
    )
}

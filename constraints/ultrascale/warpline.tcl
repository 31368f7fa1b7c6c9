# UltraScale+, out of context: vivado -mode batch -source warpline.tcl -tclargs RTL_DIR PART
#   RTL_DIR  what `warpline rtl` wrote, with --ring-octets 16384 to compare with the estimates in ../reports; PART for instance xcku5p-ffvb676-2-e
# NOT executed by the project, which has no vendor tool. A test holds its names against the generated SystemVerilog.
set rtl [lindex $argv 0]
set part [lindex $argv 1]
set here [file dirname [file normalize [info script]]]

set list [open [file join $rtl warpline.f]]
foreach name [split [string trim [read $list]] "\n"] {
    read_verilog -sv [file join $rtl $name]
}
close $list
read_xdc -mode out_of_context [file join $here warpline.xdc]

synth_design -top warpline -part $part -mode out_of_context
opt_design
place_design
phys_opt_design
route_design
report_timing_summary -file timing.rpt
report_utilization -hierarchical -file utilization.rpt
write_checkpoint -force warpline.dcp

# UltraScale+: the device out of context. NOT executed by the project, which has no vendor tool; a test holds every name
# against the generated SystemVerilog (synth/tests/constraints.rs).

# One clock for network, registers and host memory: 156.25 MHz. There is no clock crossing inside; where registers or memory
# run on another clock, put the interconnect's AXI clock converters in front.
create_clock -name aclk -period 6.400 [get_ports aclk]

# Neighbours are registered, as the device is: a third of the period is theirs.
set_input_delay -clock aclk 2.000 [get_ports -filter {DIRECTION == IN && NAME != aclk}]
set_output_delay -clock aclk 2.000 [get_ports -filter {DIRECTION == OUT}]

# aresetn is sampled by aclk and stays low for a cycle or more: it is timed like any other input.

# No false paths and no multicycle paths: every path is meant to take one cycle.

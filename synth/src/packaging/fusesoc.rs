//! `warpline.core`: `fusesoc --cores-root DIR run --target lint warpline`.

use super::names::{Names, VERSION};

pub(super) fn text(names: &Names<'_>) -> String {
    let Names { top, device, .. } = names;
    let sources = &names.sources;
    let files: String = sources
        .iter()
        .map(|file| format!("      - {file}\n"))
        .collect();
    let example = names.example();
    format!(
        "CAPI=2:
name: warpline:iwarp:{top}:{VERSION}
description: {device}

# Verilator has no warnings with -Wall, so there is no file of waivers. Packages come first; the modules need that of types.
filesets:
  rtl:
    files:
{files}    file_type: systemVerilogSource
  registers_example:
    files:
      - {example}.sv
    file_type: systemVerilogSource

targets:
  default: &default
    filesets: [rtl]
    toplevel: {top}
  lint:
    <<: *default
    description: Verilator with all warnings
    default_tool: verilator
    tools:
      verilator:
        mode: lint-only
        verilator_options: [-Wall]
  registers_example:
    <<: *default
    description: The device with its registers connected and nothing else
    filesets: [rtl, registers_example]
    toplevel: {example}
    default_tool: verilator
    tools:
      verilator:
        mode: lint-only
        verilator_options: [-Wall]
"
    )
}

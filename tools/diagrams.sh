#!/usr/bin/env bash
# tools/diagrams.sh WARPLINE FOLDER: the timing diagrams of the documents, drawn from a replay. `make diagrams` runs it.
set -euo pipefail
warpline=$1
out=$2
cd "$(dirname "$0")/.."
traffic=testbenches/captures/crc1-rev2-badstag
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
mkdir -p "$out"

"$warpline" replay "$traffic" --width 64 --trace "$run/run.fst" >/dev/null 2>&1

# draw NAME TITLE WHEN BEFORE CYCLES SIGNAL...: from BEFORE cycles before WHEN is first 1 on.
draw() {
    local name=$1 title=$2 when=$3 before=$4 cycles=$5
    shift 5
    local signals
    signals=$(IFS=, && echo "$*")
    "$warpline" wave "$run/run.fst" --title "$title" --when "$when" --before "$before" --cycles "$cycles" --when-valid --signals "$signals" \
        -o "$out/$name.svg"
}

draw segment "Two TCP segments of stream 0, 84 octets each, at 64 bits" s_axis_segment_tvalid 2 27 \
    s_axis_segment_t{valid,ready,last,keep,dest} 's_axis_segment_tuser[31:0]' 's_axis_segment_tdata[15:0]'
draw window "Window reports while a segment comes: streams in turn, the edge follows the octets" s_axis_segment_tvalid 2 27 \
    s_axis_segment_t{valid,last} m_axis_window_t{valid,ready,dest} 'm_axis_window_tdata[15:0]' 'm_axis_window_tdata[47:32]'
draw write "A burst of payload: 64 octets, 8 beats of 64 bits" write_mux.payload_awvalid 2 18 \
    m_axi_aw{valid,ready} 'm_axi_awaddr[15:0]' m_axi_awlen \
    m_axi_w{valid,ready,last,strb} 'm_axi_wdata[15:0]' m_axi_b{valid,ready,resp}
draw completion "A completion entry behind its payload: 32 octets, 4 beats of 64 bits" deliver.m_valid 2 18 \
    deliver.m_{valid,ready} m_axi_aw{valid,ready} 'm_axi_awaddr[15:0]' m_axi_awlen \
    m_axi_w{valid,ready,last,strb} 'm_axi_wdata[15:0]' m_axi_b{valid,ready,resp}
draw register-write "A register write" s_axil_bvalid 5 9 \
    s_axil_aw{valid,ready,addr} s_axil_w{valid,ready,strb} 's_axil_wdata[15:0]' s_axil_b{valid,ready,resp}
draw register-read "A register read" s_axil_rvalid 6 9 \
    s_axil_ar{valid,ready,addr} s_axil_r{valid,ready,resp} 's_axil_rdata[15:0]'
"$warpline" wave "$traffic" --fpdu 1 -o "$out/fpdu.svg" 2>/dev/null

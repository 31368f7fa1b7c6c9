//! The device's ports, looked up once.

use warpline_verilate::{Model, Port, ports};

ports! {
    /// Ports of every device, by the names of the top module.
    pub(crate) struct Ports:
    aclk,
    aresetn,
    s_axis_segment_tdata,
    s_axis_segment_tkeep,
    s_axis_segment_tlast,
    s_axis_segment_tdest,
    s_axis_segment_tuser,
    s_axis_segment_tvalid,
    s_axis_segment_tready,
    m_axis_window_tdata,
    m_axis_window_tdest,
    m_axis_window_tvalid,
    m_axis_window_tready,
    m_axi_awaddr,
    m_axi_awlen,
    m_axi_awsize,
    m_axi_awburst,
    m_axi_awcache,
    m_axi_awprot,
    m_axi_awvalid,
    m_axi_awready,
    m_axi_wdata,
    m_axi_wstrb,
    m_axi_wlast,
    m_axi_wvalid,
    m_axi_wready,
    m_axi_bresp,
    m_axi_bvalid,
    m_axi_bready,
    m_axi_araddr,
    m_axi_arlen,
    m_axi_arsize,
    m_axi_arburst,
    m_axi_arcache,
    m_axi_arprot,
    m_axi_arvalid,
    m_axi_arready,
    m_axi_rdata,
    m_axi_rresp,
    m_axi_rlast,
    m_axi_rvalid,
    m_axi_rready,
    m_axis_msix_tdata,
    m_axis_msix_tvalid,
    m_axis_msix_tready,
}

ports! {
    /// Ports of a device with the transmit path.
    pub(crate) struct TransmitPorts:
    s_axis_send_tdata,
    s_axis_send_tdest,
    s_axis_send_tvalid,
    s_axis_send_tready,
    m_axis_transmit_tdata,
    m_axis_transmit_tkeep,
    m_axis_transmit_tlast,
    m_axis_transmit_tdest,
    m_axis_transmit_tuser,
    m_axis_transmit_tvalid,
    m_axis_transmit_tready,
    m_axis_status_tdata,
    m_axis_status_tdest,
    m_axis_status_tvalid,
    m_axis_status_tready,
}

ports! {
    /// Ports of an AXI4-Lite slave, by the names of its signals.
    pub(crate) struct LitePorts:
    awaddr,
    awvalid,
    awready,
    wdata,
    wstrb,
    wvalid,
    wready,
    bresp,
    bvalid,
    bready,
    araddr,
    arvalid,
    arready,
    rdata,
    rresp,
    rvalid,
    rready,
}

/// Sets a port of eight octets or more, the first octet in the lowest bits.
pub(crate) fn set_octets(model: &mut Model, port: Port, octets: &[u8]) {
    if let Ok(word) = <[u8; 8]>::try_from(octets) {
        model.set(port, u64::from_le_bytes(word));
        return;
    }
    let words = model.words_mut(port);
    for (word, octets) in words.iter_mut().zip(octets.chunks_exact(4)) {
        *word = octets
            .iter()
            .rev()
            .fold(0, |word, &o| word << 8 | u32::from(o));
    }
}

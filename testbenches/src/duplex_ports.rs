//! Ports of a device that sends, as the benches of the whole device drive them.

use warpline_verilate::ports;

ports! {
    /// Ports by their names.
    pub(crate) struct Ports:
    aclk, aresetn,
    s_axis_segment_tdata, s_axis_segment_tkeep, s_axis_segment_tlast, s_axis_segment_tdest, s_axis_segment_tuser,
    s_axis_segment_tvalid, s_axis_segment_tready,
    m_axis_window_tdata, m_axis_window_tdest, m_axis_window_tvalid, m_axis_window_tready,
    s_axil_awaddr, s_axil_awvalid, s_axil_awready, s_axil_wdata, s_axil_wstrb, s_axil_wvalid, s_axil_wready, s_axil_bvalid,
    s_axil_bready, s_axil_araddr, s_axil_arvalid, s_axil_arready, s_axil_rdata, s_axil_rvalid, s_axil_rready,
    m_axi_awaddr, m_axi_awlen, m_axi_awvalid, m_axi_awready, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid, m_axi_wready,
    m_axi_bvalid, m_axi_bready, m_axi_araddr, m_axi_arlen, m_axi_arvalid, m_axi_arready, m_axi_rdata, m_axi_rresp, m_axi_rlast,
    m_axi_rvalid, m_axi_rready, m_axis_msix_tready,
    s_axis_send_tdata, s_axis_send_tdest, s_axis_send_tvalid, s_axis_send_tready,
    m_axis_transmit_tdata, m_axis_transmit_tkeep, m_axis_transmit_tlast, m_axis_transmit_tdest, m_axis_transmit_tuser,
    m_axis_transmit_tvalid, m_axis_transmit_tready,
    m_axis_status_tdata, m_axis_status_tdest, m_axis_status_tvalid, m_axis_status_tready,
}

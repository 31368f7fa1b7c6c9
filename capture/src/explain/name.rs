//! Names of fields: one for programs, which stays as it is, and one for people, as the RFCs' figures have it.

/// The names of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Layer and field, for programs.
    pub id: &'static str,
    /// For people.
    pub label: &'static str,
}

macro_rules! names {
    ($($constant:ident $id:literal $label:literal)*) => {
        $(pub(super) const $constant: Name = Name { id: $id, label: $label };)*
        /// The names of all fields.
        pub const ALL: &[Name] = &[$($constant),*];
    };
}

/// An STag, its index, its key.
pub(super) type StagNames = [Name; 3];
pub(super) const STAG: StagNames = [DDP_STAG, DDP_STAG_INDEX, DDP_STAG_KEY];
pub(super) const SINK_STAG: StagNames =
    [RDMAP_SINK_STAG, RDMAP_SINK_STAG_INDEX, RDMAP_SINK_STAG_KEY];
pub(super) const SOURCE_STAG: StagNames = [
    RDMAP_SOURCE_STAG,
    RDMAP_SOURCE_STAG_INDEX,
    RDMAP_SOURCE_STAG_KEY,
];

names! {
    START_KEY "start.key" "key"
    START_FLAGS "start.flags" "flags"
    START_MARKERS "start.markers" "M"
    START_CRC "start.crc" "C"
    START_REJECTED "start.rejected" "R"
    START_NEGOTIATION "start.negotiation" "S"
    START_RESERVED "start.reserved" "Res"
    START_REVISION "start.revision" "Rev"
    START_PD_LENGTH "start.pd_length" "PD_Length"
    START_PEER_TO_PEER "start.peer_to_peer" "A"
    START_RTR_SEND "start.rtr_send" "B"
    START_IRD "start.ird" "IRD"
    START_RTR_WRITE "start.rtr_write" "C"
    START_RTR_READ "start.rtr_read" "D"
    START_ORD "start.ord" "ORD"
    START_PRIVATE_DATA "start.private_data" "private data"

    MARKER "mpa.marker" "marker"
    MARKER_RESERVED "mpa.marker.reserved" "RESERVED"
    MARKER_FPDUPTR "mpa.marker.fpduptr" "FPDUPTR"
    ULPDU_LENGTH "mpa.ulpdu_length" "ULPDU_Length"
    PAD "mpa.pad" "PAD"
    CRC "mpa.crc" "CRC"

    SCTP_TYPE "sctp.type" "Type"
    SCTP_FLAGS "sctp.flags" "flags"
    SCTP_UNORDERED "sctp.unordered" "U"
    SCTP_BEGINNING "sctp.beginning" "B"
    SCTP_ENDING "sctp.ending" "E"
    SCTP_LENGTH "sctp.length" "Length"
    SCTP_TSN "sctp.tsn" "TSN"
    SCTP_STREAM "sctp.stream" "Stream Id"
    SCTP_STREAM_SEQUENCE "sctp.stream_sequence" "SSN"
    SCTP_PPID "sctp.ppid" "PPID"
    SCTP_USER_DATA "sctp.user_data" "user data"
    SCTP_PADDING "sctp.padding" "padding"
    SCTP_DDP_SSN "sctp.ddp_ssn" "DDP-SSN"
    SCTP_FUNCTION "sctp.function" "Function Code"
    SCTP_PRIVATE_DATA "sctp.private_data" "private data"

    DDP_CONTROL "ddp.control" "DDP control"
    DDP_TAGGED "ddp.tagged" "T"
    DDP_LAST "ddp.last" "L"
    DDP_RESERVED "ddp.reserved" "Rsvd"
    DDP_VERSION "ddp.version" "DV"
    DDP_RSVD_ULP "ddp.rsvd_ulp" "RsvdULP"
    DDP_STAG "ddp.stag" "STag"
    DDP_STAG_INDEX "ddp.stag.index" "index"
    DDP_STAG_KEY "ddp.stag.key" "key"
    DDP_TO "ddp.to" "TO"
    DDP_QN "ddp.qn" "QN"
    DDP_MSN "ddp.msn" "MSN"
    DDP_MO "ddp.mo" "MO"
    DDP_PAYLOAD "ddp.payload" "payload"

    RDMAP_CONTROL "rdmap.control" "RDMAP control"
    RDMAP_VERSION "rdmap.version" "RV"
    RDMAP_RESERVED "rdmap.reserved" "Rsv"
    RDMAP_OPCODE "rdmap.opcode" "Opcode"
    RDMAP_INVALIDATE_STAG "rdmap.invalidate_stag" "Invalidate STag"
    RDMAP_SINK_STAG "rdmap.sink_stag" "Data Sink STag"
    RDMAP_SINK_STAG_INDEX "rdmap.sink_stag.index" "index"
    RDMAP_SINK_STAG_KEY "rdmap.sink_stag.key" "key"
    RDMAP_SINK_TO "rdmap.sink_to" "Data Sink TO"
    RDMAP_SIZE "rdmap.size" "Read Size"
    RDMAP_SOURCE_STAG "rdmap.source_stag" "Data Source STag"
    RDMAP_SOURCE_STAG_INDEX "rdmap.source_stag.index" "index"
    RDMAP_SOURCE_STAG_KEY "rdmap.source_stag.key" "key"
    RDMAP_SOURCE_TO "rdmap.source_to" "Data Source TO"
    RDMAP_LAYER_ETYPE "rdmap.terminate" "Term control"
    RDMAP_LAYER "rdmap.layer" "Layer"
    RDMAP_ERROR_TYPE "rdmap.error_type" "EType"
    RDMAP_ERROR_CODE "rdmap.error_code" "Error Code"
    RDMAP_HDR_CT "rdmap.header_control" "HdrCt"
    RDMAP_M "rdmap.m" "M"
    RDMAP_D "rdmap.d" "D"
    RDMAP_R "rdmap.r" "R"
    RDMAP_HDR_RESERVED "rdmap.header_reserved" "reserved"
    RDMAP_TERM_RESERVED "rdmap.terminate_reserved" "reserved"
    RDMAP_SEGMENT_LENGTH "rdmap.segment_length" "DDP Seg Length"
}

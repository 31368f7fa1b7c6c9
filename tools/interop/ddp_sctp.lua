-- DDP over SCTP (RFC 5043 §5.2) for tshark, which knows DDP and SCTP, and not what lies between: the DDP-SSN, and session control.
local segment = Proto("ddp_sctp", "DDP Segment Chunk")
local control = Proto("ddp_sctp_control", "DDP Stream Session Control")
local segment_ssn = ProtoField.uint16("ddp_sctp.ssn", "DDP-SSN")
local control_ssn = ProtoField.uint16("ddp_sctp_control.ssn", "DDP-SSN")
local functions = { "Initiate", "Accept", "Reject", "Terminate" }
local code = ProtoField.uint16("ddp_sctp_control.function", "Function Code", base.DEC, functions)
local private_data = ProtoField.bytes("ddp_sctp_control.private_data", "Private data")
segment.fields = { segment_ssn }
control.fields = { control_ssn, code, private_data }
local ddp = Dissector.get("iwarp_ddp_rdmap")

function segment.dissector(octets, packet, tree)
    tree:add(segment, octets(0, 2)):add(segment_ssn, octets(0, 2))
    ddp:call(octets(2):tvb(), packet, tree)
    return octets:len()
end

function control.dissector(octets, packet, tree)
    local part = tree:add(control, octets())
    part:add(control_ssn, octets(0, 2))
    part:add(code, octets(2, 2))
    if octets:len() > 4 then
        part:add(private_data, octets(4))
    end
    return octets:len()
end

local protocols = DissectorTable.get("sctp.ppi")
protocols:add(16, segment)
protocols:add(17, control)

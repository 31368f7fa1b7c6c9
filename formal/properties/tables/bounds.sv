// What passes the tagged checks lies inside of its region, octet for octet.
//
//   entry, STag, TO, n ──► 3 cycles ──► nothing fails  ⇒  entry valid, its STag, of the protection domain and stream, writable
//                                                         and for each octet k < n:  base ≤ TO + k < end,
//                                                         bus address + k = TO + k + shift
//
// With `stag_table.sv` (end = base + length, shift = address − base) that is: octet k goes to
// address + (TO + k − base), which lies in [address, address + length). Sums are taken without loss (66 bits), and the
// order of the comparisons in the block plays no part here. n ≥ 1 is the caller's (AMB-02); octet k is any.
//
// The block is a pipeline without loops: what it says depends on the inputs of three cycles ago alone, and so four steps
// of induction need no helpers.
module bounds_properties (
    input clock,
    input [7:0] stream,
    input [15:0] protection_domain,
    input [31:0] stag,
    input [31:0] offset_high,
    input [31:0] offset_low,
    input [31:0] last,
    input [253:0] entry,
    input fails_stag,
    input fails_association,
    input fails_access,
    input fails_read,
    input fails_offset,
    input fails_wrap,
    input fails_end,
    input [63:0] address
);
    localparam BITS = 254 + 64 + 32 + 32 + 16 + 8;
    reg [BITS-1:0] one = 0, two = 0, three = 0;
    reg [1:0] age = 0;
    always @(posedge clock) begin
        one <= {entry, offset_high, offset_low, last, stag, protection_domain, stream};
        two <= one;
        three <= two;
        if (age != 3) age <= age + 1;
    end
    wire [253:0] its;
    wire [63:0] offset;
    wire [15:0] domain;
    wire [31:0] n_less_one, name;
    wire [7:0] origin;
    assign {its, offset, n_less_one, name, domain, origin} = three;
    wire valid = its[0];
    wire [31:0] its_stag = its[32:1];
    wire [15:0] its_domain = its[48:33];
    wire [7:0] its_stream = its[56:49];
    wire scope = its[57], writable = its[58], empty = its[59], readable = its[253];
    wire [65:0] base = its[123:60], region_end = its[188:124];
    wire [63:0] shift = its[252:189];

    (* anyconst *) wire [31:0] k;
    wire [65:0] octet = {2'b0, offset} + {34'b0, k};
    wire passes = !(fails_stag | fails_association | fails_access | fails_offset | fails_wrap | fails_end);
    wire settled = age == 3;
    // what the table promises (stag_table.sv)
    always @* assume (its[188:124] <= 65'h1_0000_0000_0000_0000);

    always @* if (settled & passes & k <= n_less_one) begin
        region: assert (valid & its_stag == name & writable & !empty);
        owner: assert (its_domain == domain & (!scope | its_stream == origin));
        inside: assert (base <= octet & octet < region_end);
        where: assert (address + k == offset + k + shift);
    end

    // of memory that is read for its owner (local_access.sv), rights for the peer do not matter
    wire passes_locally = !(fails_stag | fails_association | fails_offset | fails_end);
    always @* if (settled & passes_locally & k <= n_less_one) begin
        local_owner: assert (valid & its_stag == name & its_domain == domain & (!scope | its_stream == origin));
        local_inside: assert (base <= octet & octet < region_end);
        local_where: assert (address + k == offset + k + shift);
    end
    // of memory that is read for the peer, the read right does, too
    always @* if (settled) begin
        read_right: assert (fails_read == !readable);
        without_read_right: cover (passes & fails_read);
    end

    // and nothing that is right is refused
    wire [65:0] behind = {2'b0, offset} + {34'b0, n_less_one} + 66'd1;
    wire right = valid & its_stag == name & writable & !empty & its_domain == domain & (!scope | its_stream == origin)
        & base <= offset & behind <= region_end;
    wire right_locally = valid & its_stag == name & its_domain == domain & (!scope | its_stream == origin)
        & base <= offset & behind <= region_end;
    always @* if (settled) begin
        nothing_refused: assert (!right | passes);
        nothing_refused_locally: assert (!right_locally | passes_locally);
    end

    always @* if (settled) begin
        to_the_very_end: cover (passes & n_less_one == 1459 & region_end == 66'h1_0000_0000_0000_0000 & behind == region_end);
        over_a_half: cover (passes & offset[31:0] == 32'hffff_ffff & n_less_one == 1 & scope);
        without_rights: cover (passes_locally & !writable);
        one_too_many: cover (fails_end & !fails_offset & behind == region_end + 1);
    end
endmodule

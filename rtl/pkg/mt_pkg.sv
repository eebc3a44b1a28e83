// SPDX-License-Identifier: BSD-3-Clause
// What travels on links, what tables have room for, and what goes wrong: the one place for widths that
// modules and C++ share. cmake/Constants.cmake makes a header of every `localparam int unsigned`.

// Bits of payload that a flit has: 128, 256 or 512. All that depends on it follows, lanes of reduction units,
// words of memory and AXI4 among it.
`ifndef MT_FLIT_BITS
`define MT_FLIT_BITS 128
`endif

package mt_pkg;

  // Payload of a flit; its bytes.
  localparam int unsigned DataW = `MT_FLIT_BITS;
  localparam int unsigned KeepW = DataW >> 3;
  // Bit-interleaved parity of a flit: any burst of up to 8 wrong bits is seen.
  localparam int unsigned ParityW = 8;
  // Bits of a flit that are used, and all of its lane.
  localparam int unsigned FlitBits = 2 + ParityW + DataW;
  localparam int unsigned LaneW = (FlitBits + 31) >> 5 << 5;
  // A hop of a route: output port of the router and the virtual channels that may be used there.
  localparam int unsigned HopPortW = 5;
  localparam int unsigned HopMaskW = 4;
  localparam int unsigned HopW = HopPortW + HopMaskW;
  // Hops in a header; longer routes have a flit of their own before it.
  localparam int unsigned ShortHops = 3;
  localparam int unsigned LongHops = 14;
  localparam int unsigned ShortRouteW = ShortHops * HopW;
  localparam int unsigned LongRouteW = LongHops * HopW;

  // Widths of header fields: limits of any interface that is built.
  localparam int unsigned PieceW = 14;
  localparam int unsigned CountW = 6;
  localparam int unsigned LenW = 16;
  localparam int unsigned StartW = 24;
  localparam int unsigned LanesW = 3 + (DataW >> 8);  // elements of 2 bytes in a flit: 2^LanesW
  localparam int unsigned SrcW = 8;
  localparam int unsigned GroupW = 5;
  // Byte addresses of a buffer; of them, that of a byte in a word.
  localparam int unsigned AddrW = StartW + 3;
  localparam int unsigned ByteW = LanesW + 1;
  // Bits of a header, from bit 0 of a flit up.
  localparam int unsigned HeaderW = 3 + GroupW + LanesW + SrcW + 2 * CountW + PieceW + 2 * LenW + StartW + ShortRouteW;

  // What an interface has unless its instance says otherwise. Fields of table entries, in the order of
  // the image, docs/nic-spec.md: an operation of 2 bits, then these; wait, turn and after have CountW
  // bits each, start has StartW; after the size comes the group, and the last bit is parity.
  localparam int unsigned StepW = 12;
  localparam int unsigned FlowW = 8;
  localparam int unsigned PieceOfFlowW = 4;
  localparam int unsigned RouteW = 8;
  localparam int unsigned SizeW = 24;
  // Networks, in simulation and as one module: flows of more pieces, but fewer pieces in all than the
  // two widths together could number.
  localparam int unsigned NetPieceOfFlowW = 8;
  localparam int unsigned NetPieceW = 12;
  // Entries of each port; steps that have lengths; routes.
  localparam int unsigned TableDepth = 1024;
  localparam int unsigned StepDepth = 1024;
  localparam int unsigned NumRoutes = 1 << RouteW;
  // Groups of entries, each with a doorbell.
  localparam int unsigned NumGroups = 1 << GroupW;
  // Ports, places of each for early worms, cycles of a reduction unit.
  localparam int unsigned NumPorts = 4;
  localparam int unsigned ParkSlots = 32;
  localparam int unsigned ReduceCycles = 2;
  // Words of memory that a port may ask for before it sends them; that it may add or copy before memory
  // has answered. More than memory takes cycles to answer: full rate.
  localparam int unsigned SendWords = 4;
  localparam int unsigned AddWords = 2;
  // Virtual channels, places of each, and the width of their credit counters.
  localparam int unsigned NumVc = 4;
  localparam int unsigned VcDepth = 512;
  localparam int unsigned CreditW = 10;
  // Links that lose: flits that are kept until they have arrived, and cycles without any progress until
  // a link is dead.
  localparam int unsigned ReplayDepth = 512;
  localparam int unsigned DeadCycles = 65536;

  // A flit: what a router moves in a cycle. Wires have a lane of whole words for it, so that lanes
  // begin with a word in simulation; the bits that are not used are 0 and cost nothing.
  typedef struct packed {
    logic [LaneW-FlitBits-1:0] unused;
    logic head;
    logic tail;
    logic [ParityW-1:0] parity;  // of data, head and tail, see mt_bip.svh
    logic [DataW-1:0] data;
  } flit_t;
  localparam int unsigned FlitW = LaneW;

  // The (last) header flit of a worm.
  typedef struct packed {
    logic is_route;              // 1: not a header but the route of a long way, LongHops hops from bit 0 up
    logic [GroupW-1:0] group;    // of its entry: taken in when the receiver's doorbell was rung
    logic gather;                // copy instead of add
    logic last;                  // the last worm of its message
    logic [LanesW-1:0] lanes;    // elements in the message's last flit, less one
    logic [SrcW-1:0] src;        // rank that sent it
    logic [CountW-1:0] turn;     // messages of the piece that are taken in before this one
    logic [CountW-1:0] after;    // messages of the piece that are sent before this one is taken in
    logic [PieceW-1:0] piece;    // flow and piece of the flow
    logic [LenW-1:0] flits;      // payload flits of this worm
    logic [LenW-1:0] offset;     // payload flits of the message before this worm
    logic [StartW-1:0] start;    // first element of the message in the buffer
    logic [ShortRouteW-1:0] route;
  } header_t;

  // Words that are not looked at: 0 in simulation, where that saves work, anything in hardware, where
  // it would cost a gate a bit, and in proofs, which are of what is synthesized.
`ifdef SYNTHESIS
  localparam logic AnyWord = 1'b1;
`elsif FORMAL
  localparam logic AnyWord = 1'b1;
`else
  localparam logic AnyWord = 1'b0;
`endif

  // Numbers of dtype_i and of the CSR.
  localparam logic [1:0] DtInt32 = 2'd0;
  localparam logic [1:0] DtFp32 = 2'd1;
  localparam logic [1:0] DtBf16 = 2'd2;
  localparam logic [1:0] DtFp16 = 2'd3;

  // Opcodes of table entries.
  localparam logic [1:0] OpNop = 2'd0;
  localparam logic [1:0] OpReduce = 2'd1;
  localparam logic [1:0] OpGather = 2'd2;

  // Errors: bits of the ERROR register.
  localparam int unsigned NumErrors = 14;
  localparam int unsigned ErrTableParity = 0;   // an entry with an odd number of ones
  localparam int unsigned ErrOpcode = 1;        // an entry with opcode 3
  localparam int unsigned ErrTableFull = 2;     // more entries, routes or steps than there is room
  localparam int unsigned ErrConfig = 3;        // tables written while a collective runs
  localparam int unsigned ErrCorrupt = 4;       // a flit with a wrong parity
  localparam int unsigned ErrLength = 5;        // a worm that is longer or shorter than it says
  localparam int unsigned ErrPiece = 6;         // a message for a piece that does not exist
  localparam int unsigned ErrDuplicate = 7;     // a message that was already taken in or begun
  localparam int unsigned ErrParked = 8;        // more early worms than slots
  localparam int unsigned ErrLate = 9;          // a message after the collective was done
  localparam int unsigned ErrCreditOver = 10;   // more credits than there are places
  localparam int unsigned ErrCreditStuck = 11;  // no credit came back for too long, or a link is dead
  localparam int unsigned ErrTimeout = 12;      // nothing came for too long
  localparam int unsigned ErrMemory = 13;       // memory answered with an error

endpackage

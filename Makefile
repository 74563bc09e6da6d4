# lasthop: build, test, demonstrate, measure.
#
#   make demo    a download behind an emulated UMTS link, and a campaign with its report, from a bare clone
#   make demo-virtual    the kernel whose clock jumps over idle time, and half an hour over GSM in seconds, twice the same
#   make test    everything that CI runs
#   make bench   ratios against other emulators, measured side by side in one run: rattan, and mahimahi and ns-3 if they are installed
#   make install-cc     the command, and the systemd unit that loads a congestion control at each start (lasthop-cc@NAME), below PREFIX
#   make install-lite   the C header and the manual page of TCP Lite, below PREFIX (/usr/local)
#   make soak    remote sockets while things fail, and an hour of connections that come and go
#   make install-resoa  the command, the preload library and the systemd unit of the server of remote sockets, below PREFIX
#   make fuzz    the fuzz targets of what comes from outside, FUZZ_SECONDS (default 30) each
#   make hostile attacks on a server of remote sockets, in namespaces: what was tried, what clients noticed, and whether one succeeded

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

BUILD_PACKAGES := build-essential clang libelf-dev zlib1g-dev pkg-config
RUN_PACKAGES   := iproute2 nftables
TEST_PACKAGES  := tshark iputils-ping curl python3 ethtool passt chromium
FUZZ_SECONDS   ?= 30

.PHONY: demo demo-virtual test bench soak fuzz hostile build install-lite install-cc install-resoa

build:
	@scripts/build/require-rust
	@scripts/build/require $(BUILD_PACKAGES) $(RUN_PACKAGES)
	cargo build --release --locked

demo: build
	@scripts/build/require curl python3 tshark
	@scripts/demo/real target/release/lasthop

demo-virtual: build
	@scripts/demo/virtual target/release/lasthop

test:
	@scripts/build/require-rust
	@scripts/build/require $(BUILD_PACKAGES) $(RUN_PACKAGES) $(TEST_PACKAGES)
	@scripts/check/test

bench: build
	@scripts/build/require iperf3 ethtool
	@scripts/bench/emulators target/release/lasthop
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

# What becomes of programs on remote sockets when something fails; connections made and closed for
# SOAK_SECONDS (default an hour), and what is left.
soak: build
	@scripts/build/require python3 nftables
	@SLOW=1 scripts/resoa/failures target/release/lasthop
	@scripts/resoa/soak target/release/lasthop

fuzz:
	@scripts/build/require-rust
	@scripts/build/require $(BUILD_PACKAGES)
	@scripts/check/fuzz $(FUZZ_SECONDS)

hostile: build
	@scripts/build/require python3 nftables iproute2
	@scripts/check/hostile target/release/lasthop

PREFIX ?= /usr/local

install-lite:
	install -D -m 644 crates/tcp-lite/include/tcp_lite.h $(DESTDIR)$(PREFIX)/include/tcp_lite.h
	install -D -m 644 docs/man/tcp_lite.7 $(DESTDIR)$(PREFIX)/share/man/man7/tcp_lite.7

# PREFIX/lib/systemd/system is one of systemd's places for /usr and /usr/local.
install-cc: build
	install -D -m 755 target/release/lasthop $(DESTDIR)$(PREFIX)/bin/lasthop
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local/bin|$(PREFIX)/bin|' packaging/systemd/lasthop-cc@.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/lasthop-cc@.service

install-resoa: build
	install -D -m 755 target/release/lasthop $(DESTDIR)$(PREFIX)/bin/lasthop
	install -D -m 755 target/release/libresoa_preload.so $(DESTDIR)$(PREFIX)/lib/lasthop/libresoa_preload.so
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local/bin|$(PREFIX)/bin|' packaging/systemd/lasthop-resoa.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/lasthop-resoa.service

# Every target is one intent; `make` alone builds.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ERRCHECK    := github.com/kisielk/errcheck@v1.30.0
GODOT       := github.com/tetafro/godot/cmd/godot@v1.5.6
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
FUZZTIME    ?= 10000x
# Whether the modules of the clients that ask as Envoy does are here, or can be downloaded.
ENVOY_CLIENTS := timeout 300 go list -deps -test . >/dev/null

# Only the race detector needs a C compiler.
export CGO_ENABLED := 0
race: export CGO_ENABLED := 1
# Where Debian has nginx and HAProxy, and a user's PATH does not lead.
export PATH := $(PATH):/usr/sbin:/sbin

build: ## the binary, in ./edgeguard
	go build -trimpath -o edgeguard ./cmd/edgeguard

install: build ## the binary, units, manual, completions and an example config, under DESTDIR and PREFIX (/usr/local)
	@scripts/install ./edgeguard

dist: ## a release in dist/: .deb, .rpm, archives, checksums, for ARCHS (this machine's; or "amd64 arm64")
	@NFPM=$(NFPM) scripts/dist

dist-test: ## builds twice and compares, then installs, upgrades and removes the packages, in a minute
	@scripts/dist-test

test: ## install what the tests need, then run them all
	@scripts/need redis-server nginx:nginx-light fail2ban-server:fail2ban apache2 caddy haproxy rsyslogd:rsyslog nft:nftables ipset iptables ip:iproute2 unshare:util-linux nsenter:util-linux python3:python3-minimal
	@scripts/gotest -p 3 ./...

bare: ## what the README says, on a minimal Debian with Go and make and nothing else
	@scripts/bare

test-box: ## README.md and docs/operations.md, followed literally in a booted Debian
	@scripts/need debootstrap /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring ip:iproute2 unshare:util-linux nsenter:util-linux git
	@NFPM=$(NFPM) OUT=$(CURDIR)/dist/box scripts/dist
	EDGEGUARD_BOX='$(CURDIR)/dist/box/*.deb' go test -count=1 -v -timeout 30m ./test/box

# Not the tests that only start programs, a hundred commands among them: each start is slow with the detector, and what they run is raced in the packages below. Nor what computes in one goroutine and measures.
# Nor tests that compute in one goroutine (fulltest.Only).
# Nor what has nothing to race: these packages, what they import and their tests start no goroutine, which TestOneGoroutine holds. Those that call them from several are raced.
ONE_GOROUTINE := aggregator/fleet aggregator/quarantine blocklist/imported crawlers detector/outage logline logline/formats logline/pattern logline/scan rules tuning
race: ## the tests under the race detector
	@scripts/need gcc /usr/include/stdint.h:libc6-dev
	@scripts/gotest -p 3 -race -timeout 20m $$(go list ./... | sed 's|^edgeguard|.|' | grep -v -x -e ./cmd/edgeguard -e './loadtest/\(algorithms/overredis\|fleet\|fleet/real\|gen\|limiter/redis\|report\|report/plot\|scenes\|tools\|traffic\|tuned\)' -e './test/\(bouncers\|box\|console\|differential\|haproxy\|haproxypeers\|recipes\|torture\)' | grep -v -x -F $(ONE_GOROUTINE:%=-e ./%))

lint: ## gofmt, go vet, staticcheck, unchecked errors, comments without a full stop
	@test -z "$$(gofmt -l .)" || { echo "not formatted (gofmt -w):"; gofmt -l .; exit 1; }
	go vet ./...
	go vet -C test/console/e2e ./...
	@cd test/envoy/clients && if $(ENVOY_CLIENTS); then go vet ./...; else echo "test/envoy/clients is not checked: its modules cannot be downloaded"; fi
	go run $(STATICCHECK) ./...
	@scripts/errcheck $(ERRCHECK)
	@found=$$(go run $(GODOT) .); test -z "$$found" || { echo "$$found"; exit 1; }

generate: ## deploy/ (Prometheus's rules, Grafana's dashboard), the tables of docs/configuration.md, the metrics of docs/api.md, what the API's fields say and packaging/THIRD_PARTY_NOTICES
	go generate ./...

console-test: ## the console's pages in a real browser, at every width and in every colour
	@scripts/need chromium redis-server nginx:nginx-light npm ip:iproute2 unshare:util-linux
	@cd test/console/e2e && npm ci --silent --ignore-scripts --no-audit --no-fund
	cd test/console/e2e && CONSOLE_FULL=yes go test -count=1 -v -timeout 40m .

console-test-short: ## the same at two widths, in some four minutes; skipped where Chromium does not start
	@scripts/need chromium redis-server nginx:nginx-light ip:iproute2 unshare:util-linux
	@cd test/console/e2e && timeout 60 npm ci --silent --ignore-scripts --no-audit --no-fund || echo "axe-core is not installed: npm is missing, or its registry cannot be reached"
	cd test/console/e2e && ../../../scripts/gotest -count=1 -v -timeout 20m .

console-vendor: ## the console's chart library, out of npm's package; no diff is left where it is as committed
	@scripts/console-vendor

envoy-test: ## listen.envoy asked by the clients of others: grpcurl, envoyproxy/ratelimit's own, gRPC's library
	@cd test/envoy/clients && if $(ENVOY_CLIENTS); then ../../../scripts/gotest -count=1 -v -timeout 10m .; else echo "the tests of test/envoy/clients are left out: its modules cannot be downloaded"; fi

fuzz: ## every fuzz target for FUZZTIME: inputs (10000x) or time (10m)
	@scripts/fuzz $(FUZZTIME)

instructions: ## instructions, mispredicted branches and cache misses of an operation, beside the committed table
	@scripts/need valgrind
	go run ./loadtest/instructions

instructions-check: ## the instructions are within 5 % of the table's; skipped where they cannot be counted
	@scripts/need valgrind || true
	go run ./loadtest/instructions -check

loadtest: ## ways to limit a rate, fleets and other programs on the same traffic, in some five minutes
	@scripts/need valgrind redis-server nginx:nginx-light haproxy fail2ban-server:fail2ban
	go run ./loadtest report

bench loadtest-full: ## every figure of docs/benchmarks.md and docs/figures.md beside its goal, in some half an hour
	@scripts/need valgrind redis-server nginx:nginx-light haproxy fail2ban-server:fail2ban mawk goaccess tcpdump nft:nftables ip:iproute2 unshare:util-linux
	go run ./loadtest report -full

mutants: ## 100 mistakes in the code that counts and decides, which the tests have found, are found still: some half an hour
	go test -count=1 -v -timeout 100m -tags mutants -run TestDrawn ./internal/mutanttest

torture: ## the fault tests at full length, some hours
	TORTURE=1 go test -count=1 -v -timeout 100m ./test/torture ./test/differential ./test/fleet ./test/haproxypeers ./aggregator
	TORTURE=1 go test -count=1 -v -timeout 30m -run TestFleet ./replay
	go test -count=1 -v -timeout 60m -tags mutants -run TestMutants ./aggregator

clean:
	rm -rf edgeguard dist

.PHONY: build install dist dist-test test test-box bare race lint generate console-test console-test-short console-vendor envoy-test fuzz instructions instructions-check loadtest bench loadtest-full mutants torture clean

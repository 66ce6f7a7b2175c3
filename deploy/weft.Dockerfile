# Images of Weft, from the packages that `make packages` has built: the context is their repository for apt. The targets are
# `controller`, `routeserver` and `agent`. BASE may name another image of Debian 12.
ARG BASE=debian:12-slim

FROM ${BASE} AS base
RUN apt-get update \
 && apt-get install -y --no-install-recommends systemd-standalone-sysusers \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --system --gid 10001 weft \
 && useradd --system --uid 10001 --gid weft --home-dir /var/lib/weft --create-home --shell /usr/sbin/nologin weft \
 && echo "deb [trusted=yes] file:/srv/weft bookworm main" >/etc/apt/sources.list.d/weft.list

# The controller and the `weft` command (`docker compose exec controller weft vcp list`), no root.
FROM base AS controller
RUN --mount=type=bind,target=/srv/weft \
    apt-get update && apt-get install -y --no-install-recommends weft-controller weft-cli \
 && rm -rf /var/lib/apt/lists/* /etc/apt/sources.list.d/weft.list
RUN install -d -o weft -g weft -m 0750 /run/weft
USER weft
WORKDIR /var/lib/weft
VOLUME /var/lib/weft
EXPOSE 8080 8443 8444
ENV PYTHONUNBUFFERED=1
ENTRYPOINT ["weft-controller"]

# The route server: one static binary, no root.
FROM base AS routeserver
RUN --mount=type=bind,target=/srv/weft \
    apt-get update && apt-get install -y --no-install-recommends weft-routeserver \
 && rm -rf /var/lib/apt/lists/* /etc/apt/sources.list.d/weft.list \
 && install -d -o weft -g weft -m 0700 /var/lib/weft-routeserver
USER weft
VOLUME /var/lib/weft-routeserver
EXPOSE 179 9179
ENTRYPOINT ["weft-routeserver"]

# A cloudlet's PE: the agent, gobgpd (VPLS), FRR (EVPN) and charon (IPsec). Each runs in a container of its own from this
# image, all in the host's network namespace; the agent configures the others.
FROM base AS agent
RUN --mount=type=bind,target=/srv/weft \
    apt-get update \
 && apt-get install -y --no-install-recommends weft-agent frr frr-pythontools \
    strongswan-charon strongswan-swanctl libcharon-extra-plugins libstrongswan-standard-plugins \
 && rm -rf /var/lib/apt/lists/* /etc/apt/sources.list.d/weft.list \
 && install -d -o frr -g frr /run/frr
# Machines want QEMU 10, which this Debian's backports have.
RUN /usr/lib/weft/bin/weft-qemu && rm -rf /var/lib/apt/lists/*
ENV PATH=/usr/lib/weft/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1
VOLUME /var/lib/weft-agent
ENTRYPOINT ["weft-agent"]
CMD ["run", "--config", "/etc/weft/agent.toml"]

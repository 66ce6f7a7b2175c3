# The route server: one static binary, no root.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY routeserver/go.mod routeserver/go.sum ./
RUN go mod download
COPY routeserver ./
RUN CGO_ENABLED=0 go build -trimpath -o /out/weft-routeserver ./cmd/weft-routeserver

FROM debian:12-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/weft-routeserver --create-home --shell /usr/sbin/nologin weft
COPY --from=build /out/weft-routeserver /usr/local/bin/
USER weft
VOLUME /var/lib/weft-routeserver
EXPOSE 179 9179
ENTRYPOINT ["weft-routeserver"]

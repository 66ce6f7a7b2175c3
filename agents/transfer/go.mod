module weft/agents/transfer

go 1.26.0

require (
	github.com/DataDog/zstd v1.5.7
	github.com/klauspost/compress v1.20.4
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	github.com/zeebo/blake3 v0.2.4
	github.com/zeebo/xxh3 v1.1.0
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.45.0
	golang.org/x/time v0.12.0
	google.golang.org/protobuf v1.36.11
	oras.land/oras-go/v2 v2.7.0
	weft/routeserver v0.0.0-00010101000000-000000000000
)

require github.com/klauspost/cpuid/v2 v2.2.10 // indirect

replace weft/routeserver => ../../routeserver

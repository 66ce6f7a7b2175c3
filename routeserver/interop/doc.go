// Package interop holds the tests of the route server's binary with other people's BGP speakers as PEs: gobgpd, FRR, BIRD
// and ExaBGP. Each daemon has a file that says what it can do, how it is driven, and what to know about it; the tests go
// over the daemons, families and roles. They need root, for network namespaces. A collector, pmacct's, listens to BMP.
package interop

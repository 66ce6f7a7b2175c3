// Package interop holds the tests of the route server's binary with third-party BGP speakers as PEs: gobgpd, FRR, BIRD
// and ExaBGP. Each daemon has a file with its abilities, its driver, and notes on its behaviour; the tests iterate over
// daemons, families and roles. They need root, for network namespaces. pmacct's collector receives BMP.
package interop

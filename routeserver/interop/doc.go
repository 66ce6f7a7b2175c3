// Package interop holds the tests of the route server's binary with other people's BGP speakers.
package interop

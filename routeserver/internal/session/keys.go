package session

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Keys are the keys with which neighbours must sign their TCP segments, by their address. They are never printed.
type Keys map[netip.Addr]Protection

// Protection is the key of one neighbour: a password for TCP-MD5 (RFC 2385), or keys for TCP-AO (RFC 5925).
type Protection struct {
	password secret
	chain    []aoKey // the neighbour is asked to use the first one
}

// aoKey is a master key tuple of TCP-AO. The neighbour has the two identifiers swapped.
type aoKey struct {
	send, receive uint8
	algorithm     string // the kernel's name
	secret        secret
}

type secret string

// String hides the secrets, also in %v of any value that holds them.
func (Protection) String() string { return "(hidden)" }

// GoString hides the secrets from %#v.
func (Protection) GoString() string { return "(hidden)" }

// maxSecret is TCP_MD5SIG_MAXKEYLEN and TCP_AO_MAXKEYLEN.
const maxSecret = 80

// algorithms are those that RFC 5926 requires, with their names in the kernel.
var algorithms = map[string]string{"hmac-sha-1-96": "hmac(sha1)", "aes-128-cmac-96": "cmac(aes128)"}

func (p Protection) equal(q Protection) bool {
	return p.password == q.password && slices.Equal(p.chain, q.chain)
}

// ReadKeys reads a password file. Its lines are
//
//	ADDRESS PASSWORD                          TCP-MD5
//	ADDRESS md5 PASSWORD                      the same
//	ADDRESS ao SENDID RECVID ALGORITHM KEY    TCP-AO; several lines make a chain
//
// with white space between the words. Empty lines and lines that begin with # are ignored. Only the owner may have
// access to the file. Errors name the line, and never repeat it.
func ReadKeys(file string) (Keys, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("the password file cannot be read: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the password file %s can be read by others than its owner (mode %#o); chmod 600 it", file, info.Mode().Perm())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the password file cannot be read: %w", err)
	}
	keys := Keys{}
	for i, line := range strings.Split(string(data), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if wrong := keys.add(words); wrong != "" {
			return nil, fmt.Errorf("%s:%d: %s", file, i+1, wrong)
		}
	}
	return keys, nil
}

// add adds the key in the words of a line, or returns what is wrong with them.
func (k Keys) add(words []string) (wrong string) {
	address, err := netip.ParseAddr(words[0])
	if err != nil || address.Zone() != "" {
		return "does not begin with an address"
	}
	address = address.Unmap()
	known, again := k[address]
	text := secret(words[len(words)-1])
	if len(text) > maxSecret {
		return fmt.Sprintf("the password or key is longer than %d bytes", maxSecret)
	}
	switch {
	case len(words) == 2, len(words) == 3 && words[1] == "md5":
		if again {
			return "the address is there twice, and TCP-MD5 has one password and goes with no other keys"
		}
		k[address] = Protection{password: text}
		return ""
	case len(words) != 6 || words[1] != "ao":
		return `is of none of the forms "address password", "address md5 password", "address ao sendid recvid algorithm key"`
	case known.password != "":
		return "the address is there twice, and TCP-MD5 has one password and goes with no other keys"
	}
	send, errSend := strconv.ParseUint(words[2], 10, 8)
	receive, errReceive := strconv.ParseUint(words[3], 10, 8)
	algorithm := algorithms[strings.ToLower(words[4])]
	switch {
	case errSend != nil || errReceive != nil:
		return "the two identifiers of a TCP-AO key are numbers from 0 to 255"
	case algorithm == "":
		return "the algorithm is neither hmac-sha-1-96 nor aes-128-cmac-96 (RFC 5926)"
	case slices.ContainsFunc(known.chain, func(o aoKey) bool { return o.send == uint8(send) || o.receive == uint8(receive) }):
		return "another key of this address has one of the two identifiers"
	}
	known.chain = append(known.chain, aoKey{uint8(send), uint8(receive), algorithm, text})
	k[address] = known
	return ""
}

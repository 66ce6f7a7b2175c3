// Package identity provides TLS with the certificate of the host, from the files that its agent keeps
// (docs/operate/identity.md). It reads them when a connection begins; open connections stay when the files change.
package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// The files, all PEM. The key is not encrypted; the chain leads from the certificate to the root.
const (
	key         = "key.pem"
	certificate = "certificate.pem"
	chain       = "chain.pem"
	authorities = "authorities.pem" // trusted ones; without this file, the chain's
	revoked     = "crl.pem"         // may be missing
)

// uri, followed by its name, is in each cloudlet's certificate and in no other one.
const uri = "weft://cloudlet/"

// Identity is a directory with those files. They may be missing at first: without them all connections fail.
type Identity struct {
	directory string

	mu     sync.Mutex
	stamps [3]stamp
	own    *tls.Certificate
}

// stamp distinguishes a file from its replacement.
type stamp struct {
	size    int64
	changed time.Time
}

// New returns the identity of a directory.
func New(directory string) *Identity { return &Identity{directory: directory} }

// Server returns the server's configuration: TLS 1.3, with the certificate at the time of the handshake.
func (i *Identity) Server() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.certificate() },
	}
}

// Dial connects to a server. The server's certificate must be for the host or address in the call, come from an
// authority that is trusted here, and not be revoked.
func (i *Identity) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	trusted, err := i.trusted()
	if err != nil {
		return nil, err
	}
	dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: trusted, ServerName: host, VerifyConnection: i.good}}
	return dialer.DialContext(ctx, network, address)
}

// Peer returns the configuration of either end of a connection between two cloudlets: TLS 1.3, this host's certificate,
// and one of the other end that an authority trusted here has issued to the cloudlet `name`, and that is not revoked.
func (i *Identity) Peer(name string) (*tls.Config, error) {
	trusted, err := i.trusted()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:           tls.VersionTLS13,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.certificate() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.certificate() },
		RootCAs:              trusted,
		ClientCAs:            trusted,
		ClientAuth:           tls.RequireAndVerifyClientCert,
		ServerName:           name, // each certificate has the cloudlet's name as a DNS name
		VerifyConnection: func(state tls.ConnectionState) error {
			shown := state.PeerCertificates[0]
			if err := shown.VerifyHostname(name); err != nil {
				return fmt.Errorf("its certificate is for %q, not for cloudlet %s", shown.Subject.CommonName, name)
			}
			return i.good(state)
		},
	}, nil
}

// Cloudlets returns the configuration of a server for all cloudlets of the region, and for nobody else: TLS 1.3, this
// host's certificate, and the client's, which an authority trusted here has issued to a cloudlet, and that is not revoked.
// All files are read at each handshake.
func (i *Identity) Cloudlets() *tls.Config {
	config := i.Server()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		trusted, err := i.trusted()
		if err != nil {
			return nil, err
		}
		met := i.Server()
		met.ClientCAs = trusted
		met.ClientAuth = tls.RequireAndVerifyClientCert
		met.SessionTicketsDisabled = true // a resumed session would outlive its authority
		met.VerifyConnection = func(state tls.ConnectionState) error {
			shown := state.PeerCertificates[0]
			if cloudlet(shown) == "" {
				return fmt.Errorf("its certificate (%s) is not one of a cloudlet", shown.Subject.CommonName)
			}
			return i.good(state)
		}
		return met, nil
	}
	return config
}

// cloudlet returns the name of the cloudlet that has a certificate; empty if it is somebody else's.
func cloudlet(certificate *x509.Certificate) string {
	if len(certificate.URIs) != 1 {
		return ""
	}
	name, found := strings.CutPrefix(certificate.URIs[0].String(), uri)
	if !found || certificate.VerifyHostname(name) != nil {
		return ""
	}
	return name
}

// certificate reads the certificate again when a file has changed. While the files do not match, as between two writes,
// it returns the previous certificate.
func (i *Identity) certificate() (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var stamps [3]stamp
	for n, name := range []string{certificate, chain, key} {
		if info, err := os.Stat(i.path(name)); err == nil {
			stamps[n] = stamp{info.Size(), info.ModTime()}
		}
	}
	if i.own != nil && stamps == i.stamps {
		return i.own, nil
	}
	own, err := i.read()
	switch {
	case err == nil:
		i.own, i.stamps = own, stamps
	case i.own == nil:
		return nil, err
	}
	return i.own, nil
}

func (i *Identity) read() (*tls.Certificate, error) {
	var parts [3][]byte
	for n, name := range []string{certificate, chain, key} {
		data, err := os.ReadFile(i.path(name))
		if err != nil {
			return nil, fmt.Errorf("this host has no certificate yet: %w", err)
		}
		parts[n] = data
	}
	own, err := tls.X509KeyPair(slices.Concat(parts[0], parts[1]), parts[2])
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s cannot be used: %w", i.directory, err)
	}
	return &own, nil
}

func (i *Identity) trusted() (*x509.CertPool, error) {
	data, err := os.ReadFile(i.path(authorities))
	if errors.Is(err, os.ErrNotExist) {
		data, err = os.ReadFile(i.path(chain))
	}
	if err != nil {
		return nil, fmt.Errorf("no authority is trusted yet: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("there is no certificate in %s", i.path(authorities))
	}
	return pool, nil
}

// good refuses a certificate that is on a revocation list. The agent has verified the lists; an old list is better than none.
func (i *Identity) good(state tls.ConnectionState) error {
	data, err := os.ReadFile(i.path(revoked))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	shown := state.PeerCertificates[0]
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		list, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return fmt.Errorf("%s: %w", i.path(revoked), err)
		}
		for _, entry := range list.RevokedCertificateEntries {
			if entry.SerialNumber.Cmp(shown.SerialNumber) == 0 {
				return fmt.Errorf("its certificate (%s) was revoked", shown.Subject.CommonName)
			}
		}
	}
	return nil
}

func (i *Identity) path(name string) string { return filepath.Join(i.directory, name) }

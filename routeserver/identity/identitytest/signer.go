// Package identitytest is an authority for tests that need identities.
package identitytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"weft/routeserver/durable"
)

// Signer is an authority: a root that signs certificates of cloudlets directly.
type Signer struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	Root *x509.Certificate
	last int64
}

// NewSigner returns an authority with a key of its own.
func NewSigner(t *testing.T) *Signer {
	t.Helper()
	s := &Signer{t: t, key: NewKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte{1},
	}
	s.Root = s.sign(template, template, s.key)
	return s
}

// NewKey returns a private key.
func NewKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (s *Signer) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	s.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// Certify writes the files of the cloudlet `name` with that address into a directory, and returns the certificate.
func (s *Signer) Certify(directory, name, address string) *x509.Certificate {
	s.t.Helper()
	return s.certify(directory, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.ParseIP(address)},
		URIs:        []*url.URL{{Scheme: "weft", Host: "cloudlet", Path: "/" + name}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// CertifyOther writes the files of a host that is not a cloudlet into a directory. Like a controller's, its certificate
// has a DNS name alone.
func (s *Signer) CertifyOther(directory, name string, uses ...x509.ExtKeyUsage) *x509.Certificate {
	s.t.Helper()
	return s.certify(directory, &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, ExtKeyUsage: uses})
}

func (s *Signer) certify(directory string, template *x509.Certificate) *x509.Certificate {
	s.t.Helper()
	own := NewKey(s.t)
	s.last++
	template.SerialNumber, template.NotAfter = big.NewInt(100+s.last), time.Now().Add(time.Hour)
	made := s.sign(template, s.Root, own)
	der, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"key.pem":         {Type: "PRIVATE KEY", Bytes: der},
		"chain.pem":       {Type: "CERTIFICATE", Bytes: s.Root.Raw},
		"certificate.pem": {Type: "CERTIFICATE", Bytes: made.Raw},
	} {
		Put(s.t, directory, name, block)
	}
	return made
}

// Revoke writes a revocation list with that certificate into a directory.
func (s *Signer) Revoke(directory string, gone *x509.Certificate) {
	s.t.Helper()
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), NextUpdate: time.Now().Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: gone.SerialNumber, RevocationTime: time.Now()}},
	}, s.Root, s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	Put(s.t, directory, "crl.pem", &pem.Block{Type: "X509 CRL", Bytes: der})
}

// Put replaces a file of an identity.
func Put(t *testing.T, directory, name string, block *pem.Block) {
	t.Helper()
	if err := durable.Replace(filepath.Join(directory, name), pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
}

package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// signer is an authority: a root that signs host certificates directly.
type signer struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	root *x509.Certificate
	last int64
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	s := &signer{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte{1},
	}
	s.root = s.sign(template, template, s.key)
	return s
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (s *signer) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
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

// certify writes the files of a host with that address into a directory, and returns the certificate.
func (s *signer) certify(directory, address string) *x509.Certificate {
	s.t.Helper()
	own := newKey(s.t)
	s.last++
	made := s.sign(&x509.Certificate{
		SerialNumber: big.NewInt(100 + s.last), Subject: pkix.Name{CommonName: "rs"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(address)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, s.root, own)
	der, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		key:         {Type: "PRIVATE KEY", Bytes: der},
		chain:       {Type: "CERTIFICATE", Bytes: s.root.Raw},
		certificate: {Type: "CERTIFICATE", Bytes: made.Raw},
	} {
		put(s.t, directory, name, block)
	}
	return made
}

func (s *signer) revoke(directory string, gone *x509.Certificate) {
	s.t.Helper()
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(1), NextUpdate: time.Now().Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: gone.SerialNumber, RevocationTime: time.Now()}},
	}, s.root, s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	put(s.t, directory, revoked, &pem.Block{Type: "X509 CRL", Bytes: der})
}

func put(t *testing.T, directory, name string, block *pem.Block) {
	t.Helper()
	fresh := filepath.Join(directory, name+".new")
	if err := os.WriteFile(fresh, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, filepath.Join(directory, name)); err != nil {
		t.Fatal(err)
	}
}

// serve accepts all connections with the identity of a directory, at the returned address.
func serve(t *testing.T, directory string) string {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.76.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := tls.NewListener(plain, New(directory).Server())
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_ = connection.(*tls.Conn).Handshake()
			}()
		}
	}()
	return listener.Addr().String()
}

// shown returns the serial number that a server shows to a client with the identity of that directory.
func shown(t *testing.T, directory, address string) (int64, error) {
	t.Helper()
	connection, err := New(directory).Dial(t.Context(), "tcp", address)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

func refused(t *testing.T, directory, address, text string) {
	t.Helper()
	if _, err := shown(t, directory, address); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, not %q", err, text)
	}
}

func TestEachConnectionHasTheNewestCertificate(t *testing.T) {
	region, one, other := newSigner(t), t.TempDir(), t.TempDir()
	address := serve(t, one)
	region.certify(other, "127.0.76.2")
	refused(t, other, address, "remote error") // the server has no certificate yet
	for range 2 {
		made := region.certify(one, "127.0.76.1")
		if serial, err := shown(t, other, address); err != nil || serial != made.SerialNumber.Int64() {
			t.Errorf("%d, %v; not %d", serial, err, made.SerialNumber)
		}
	}
}

func TestBetweenTwoWritesTheOneOfBeforeIsShown(t *testing.T) {
	region, one, other := newSigner(t), t.TempDir(), t.TempDir()
	address := serve(t, one)
	made := region.certify(one, "127.0.76.1")
	region.certify(other, "127.0.76.2")
	if _, err := shown(t, other, address); err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	put(t, one, key, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if serial, err := shown(t, other, address); err != nil || serial != made.SerialNumber.Int64() {
		t.Errorf("%d, %v", serial, err)
	}
}

func TestWhoIsNotBelieved(t *testing.T) {
	region, one, other := newSigner(t), t.TempDir(), t.TempDir()
	address := serve(t, one)
	refused(t, other, address, "no authority is trusted yet")
	region.certify(other, "127.0.76.2")
	region.certify(one, "127.0.76.3")
	refused(t, other, address, "127.0.76.1") // the certificate is for another address
	newSigner(t).certify(one, "127.0.76.1")
	refused(t, other, address, "unknown authority")
	gone := region.certify(one, "127.0.76.1")
	region.revoke(other, gone)
	refused(t, other, address, "its certificate (rs) was revoked")
	region.certify(one, "127.0.76.1")
	if _, err := shown(t, other, address); err != nil {
		t.Errorf("a new certificate: %v", err)
	}
	put(t, other, authorities, &pem.Block{Type: "CERTIFICATE", Bytes: newSigner(t).root.Raw})
	refused(t, other, address, "unknown authority") // the chain no longer counts
}

package identity

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"strings"
	"testing"

	"weft/routeserver/identity/identitytest"
)

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
	region, one, other := identitytest.NewSigner(t), t.TempDir(), t.TempDir()
	address := serve(t, one)
	region.Certify(other, "rs", "127.0.76.2")
	refused(t, other, address, "remote error") // the server has no certificate yet
	for range 2 {
		made := region.Certify(one, "rs", "127.0.76.1")
		if serial, err := shown(t, other, address); err != nil || serial != made.SerialNumber.Int64() {
			t.Errorf("%d, %v; not %d", serial, err, made.SerialNumber)
		}
	}
}

func TestBetweenTwoWritesTheOneOfBeforeIsShown(t *testing.T) {
	region, one, other := identitytest.NewSigner(t), t.TempDir(), t.TempDir()
	address := serve(t, one)
	made := region.Certify(one, "rs", "127.0.76.1")
	region.Certify(other, "rs", "127.0.76.2")
	if _, err := shown(t, other, address); err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(identitytest.NewKey(t))
	if err != nil {
		t.Fatal(err)
	}
	identitytest.Put(t, one, key, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if serial, err := shown(t, other, address); err != nil || serial != made.SerialNumber.Int64() {
		t.Errorf("%d, %v", serial, err)
	}
}

func TestWhoIsNotBelieved(t *testing.T) {
	region, one, other := identitytest.NewSigner(t), t.TempDir(), t.TempDir()
	address := serve(t, one)
	refused(t, other, address, "no authority is trusted yet")
	region.Certify(other, "rs", "127.0.76.2")
	region.Certify(one, "rs", "127.0.76.3")
	refused(t, other, address, "127.0.76.1") // the certificate is for another address
	identitytest.NewSigner(t).Certify(one, "rs", "127.0.76.1")
	refused(t, other, address, "unknown authority")
	gone := region.Certify(one, "rs", "127.0.76.1")
	region.Revoke(other, gone)
	refused(t, other, address, "its certificate (rs) was revoked")
	region.Certify(one, "rs", "127.0.76.1")
	if _, err := shown(t, other, address); err != nil {
		t.Errorf("a new certificate: %v", err)
	}
	identitytest.Put(t, other, authorities, &pem.Block{Type: "CERTIFICATE", Bytes: identitytest.NewSigner(t).Root.Raw})
	refused(t, other, address, "unknown authority") // the chain no longer counts
}

// meet makes the handshake between two cloudlets, and returns the client's error and the server's.
func meet(t *testing.T, client, server, expectedServer, expectedClient string) (called, answered error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	done := make(chan error, 1)
	go func() {
		config, err := New(server).Peer(expectedClient)
		if err == nil {
			err = tls.Server(far, config).Handshake()
		}
		_ = far.Close()
		done <- err
	}()
	config, err := New(client).Peer(expectedServer)
	if err == nil {
		connection := tls.Client(near, config)
		if err = connection.Handshake(); err == nil {
			_, err = connection.Read(make([]byte, 1)) // a server refuses after the client's handshake
			if err.Error() == "EOF" {
				err = nil
			}
		}
	}
	_ = near.Close()
	return err, <-done
}

func TestCloudletsKnowEachOther(t *testing.T) {
	region, one, other := identitytest.NewSigner(t), t.TempDir(), t.TempDir()
	region.Certify(one, "c1", "127.0.76.1")
	gone := region.Certify(other, "c2", "127.0.76.2")
	if called, answered := meet(t, one, other, "c2", "c1"); called != nil || answered != nil {
		t.Errorf("client %v, server %v", called, answered)
	}
	if called, _ := meet(t, one, other, "c3", "c1"); called == nil || !strings.Contains(called.Error(), "c3") {
		t.Errorf("another server: %v", called)
	}
	if _, answered := meet(t, one, other, "c2", "c3"); answered == nil || !strings.Contains(answered.Error(), `its certificate is for "c1", not for cloudlet c3`) {
		t.Errorf("another client: %v", answered)
	}
	region.Revoke(one, gone)
	if called, _ := meet(t, one, other, "c2", "c1"); called == nil || !strings.Contains(called.Error(), "was revoked") {
		t.Errorf("a revoked server: %v", called)
	}
	if _, answered := meet(t, other, one, "c1", "c2"); answered == nil || !strings.Contains(answered.Error(), "was revoked") {
		t.Errorf("a revoked client: %v", answered)
	}
	identitytest.NewSigner(t).Certify(other, "c2", "127.0.76.2")
	if _, answered := meet(t, other, one, "c1", "c2"); answered == nil {
		t.Error("a client with another authority's certificate")
	}
}

// admitted makes the handshake of a client with a server for all cloudlets, and returns the server's error.
func admitted(t *testing.T, client, server string) error {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	go func() {
		config, err := New(client).Peer("c1")
		if err == nil {
			_ = tls.Client(near, config).Handshake()
		}
		_, _ = near.Read(make([]byte, 1)) // the server's tickets or alert
		_ = near.Close()
	}()
	return tls.Server(far, New(server).Cloudlets()).Handshake()
}

func TestAServerForCloudletsAdmitsNobodyElse(t *testing.T) {
	region, one, other := identitytest.NewSigner(t), t.TempDir(), t.TempDir()
	region.Certify(one, "c1", "127.0.76.1")
	gone := region.Certify(other, "c2", "127.0.76.2")
	if err := admitted(t, other, one); err != nil {
		t.Errorf("a cloudlet: %v", err)
	}
	region.CertifyOther(other, "controller.weft.internal", x509.ExtKeyUsageServerAuth)
	if err := admitted(t, other, one); err == nil || !strings.Contains(err.Error(), "incompatible key usage") {
		t.Errorf("a controller: %v", err)
	}
	region.CertifyOther(other, "c2", x509.ExtKeyUsageClientAuth)
	if err := admitted(t, other, one); err == nil || !strings.Contains(err.Error(), "(c2) is not one of a cloudlet") {
		t.Errorf("a client with a cloudlet's DNS name: %v", err)
	}
	identitytest.NewSigner(t).Certify(other, "c2", "127.0.76.2")
	identitytest.Put(t, other, chain, &pem.Block{Type: "CERTIFICATE", Bytes: region.Root.Raw})
	if err := admitted(t, other, one); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("another authority: %v", err)
	}
	region.Certify(other, "c2", "127.0.76.2")
	region.Revoke(one, gone)
	if err := admitted(t, other, one); err != nil {
		t.Errorf("a new certificate: %v", err)
	}
	region.Revoke(one, region.Certify(other, "c2", "127.0.76.2"))
	if err := admitted(t, other, one); err == nil || !strings.Contains(err.Error(), "was revoked") {
		t.Errorf("a revoked certificate: %v", err)
	}
}

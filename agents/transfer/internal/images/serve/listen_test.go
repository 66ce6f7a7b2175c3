package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weft/routeserver/identity/identitytest"
)

func TestOnlyCloudletsOfTheRegionAreServed(t *testing.T) {
	g := newRig(t)
	g.gives("/v2/", http.StatusOK, nil)
	refused := func(name string) {
		t.Helper()
		if response, _, err := g.ask(http.MethodGet, "/v2/", ""); err == nil {
			t.Errorf("%s: %+v", name, response)
		}
	}
	g.region.CertifyOther(g.client, "controller.weft.internal", x509.ExtKeyUsageServerAuth)
	refused("a controller")
	g.region.CertifyOther(g.client, "c2", x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	refused("a host with a cloudlet's DNS name")
	stranger := t.TempDir()
	identitytest.NewSigner(t).Certify(stranger, "c2", "127.0.78.2")
	root, err := os.ReadFile(filepath.Join(g.server, "chain.pem"))
	if err == nil {
		err = os.WriteFile(filepath.Join(stranger, "chain.pem"), root, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.client = stranger
	refused("a cloudlet of another region")
	bare := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer bare.CloseIdleConnections()
	if response, err := (&http.Client{Transport: bare}).Get("https://" + g.address + "/v2/"); err == nil {
		t.Errorf("nobody: %+v", response)
	}
}

func TestARenewedIdentityIsShown(t *testing.T) {
	g := newRig(t)
	for range 2 {
		made := g.region.Certify(g.server, "c1", "127.0.78.1")
		response, _, err := g.ask(http.MethodGet, "/v2/", "")
		if err != nil || response.TLS.PeerCertificates[0].SerialNumber.Cmp(made.SerialNumber) != 0 {
			t.Errorf("%+v, %v", response, err)
		}
	}
	gone := g.region.Certify(g.client, "c2", "127.0.78.2")
	g.region.Revoke(g.server, gone)
	if response, _, err := g.ask(http.MethodGet, "/v2/", ""); err == nil {
		t.Errorf("a revoked certificate: %+v", response)
	}
}

func TestOneAddressHasEightConnections(t *testing.T) {
	g := newRig(t)
	for range mostOfOne {
		silent, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
	}
	one, err := net.Dial("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	_ = one.SetReadDeadline(time.Now().Add(5 * time.Second)) // the server hears silent ones for ten
	if _, err := one.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it is heard: %v", err)
	}
}

package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Controller is the name in the certificate of each controller, whatever its address is.
const Controller = "controller.weft.internal"

const connecting = 10 * time.Second

// transport returns the way to the controller: over a unix socket; over TLS, trusting the region's root alone if it is
// given; else as the machine is set up.
func transport(to *url.URL, rootFile string) (http.RoundTripper, error) {
	dialer := &net.Dialer{Timeout: connecting}
	made := &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: connecting, MaxIdleConnsPerHost: 16}
	switch {
	case to.Scheme == "unix":
		made.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", to.Path)
		}
	case to.Scheme == "https" && rootFile != "":
		roots, err := trusted(rootFile)
		if err != nil {
			return nil, err
		}
		made.TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: Controller, MinVersion: tls.VersionTLS13}
	case to.Scheme == "https":
		made.Proxy = http.ProxyFromEnvironment
	}
	return made, nil
}

// trusted returns the certificates in a file.
func trusted(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &WrongSetting{"root_file", "cannot read " + file + ": " + reason(err)}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, &WrongSetting{"root_file", file + " has no certificates in it (PEM)"}
	}
	return pool, nil
}

// reason returns why a file cannot be read, without its name.
func reason(err error) string {
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return wrong.Err.Error()
	}
	return err.Error()
}

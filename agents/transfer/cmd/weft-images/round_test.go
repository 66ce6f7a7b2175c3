package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/agents/transfer/internal/images/imagetest"
	"weft/agents/transfer/internal/images/layout"
	"weft/routeserver/identity/identitytest"
)

// does runs a command line, and fails the test unless its exit code is the expected one, and the errors one line with
// that text. It returns the output.
func does(t *testing.T, code int, text string, args ...string) string {
	t.Helper()
	var output, complaints bytes.Buffer
	found := run(t.Context(), args, &output, &complaints)
	lines := strings.Count(complaints.String(), "\n")
	if found != code || !strings.Contains(complaints.String(), text) || lines != min(code, 1) {
		t.Errorf("%q: exit code %d, %q; not %d, %q", args, found, complaints.String(), code, text)
	}
	return strings.TrimSpace(output.String())
}

// serves runs a store until the test's end, and returns its address.
func serves(t *testing.T, directory, identity, address string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--directory", directory, "--listen", address, "--identity", identity, "--bandwidth", "800000000"}, io.Discard, write)
		_ = write.Close()
	}()
	line := make([]byte, 200)
	n, err := read.Read(line)
	go func() { _, _ = io.Copy(io.Discard, read) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the store's exit code is %d", code)
		}
	})
	found, said := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "listening on ")
	if !said || err != nil {
		t.Fatalf("%q, %v", line[:n], err)
	}
	return found
}

func TestAnImageGoesToARegistryToACloudletAndToTheNext(t *testing.T) {
	var files []string
	for n, name := range layout.Files {
		files = append(files, filepath.Join(t.TempDir(), name))
		if err := os.WriteFile(files[n], imagetest.Bytes(uint64(n), 70_000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	packed := filepath.Join(t.TempDir(), "packed")
	digest := does(t, 0, "", append([]string{"pack", "--directory", packed}, files...)...)

	registry := imagetest.NewRegistry(t)
	registry.Password = "secret"
	credentials := filepath.Join(t.TempDir(), "config.json")
	host, _, _ := strings.Cut(registry.Repository(), "/")
	account, err := json.Marshal(map[string]any{"auths": map[string]any{host: map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte("weft:secret"))}}})
	if err == nil {
		err = os.WriteFile(credentials, account, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	does(t, failed, "basic credential not found", "push", "--directory", packed, "--registry", registry.Repository(), "--plain-http")
	pushed := does(t, 0, "", "push", "--directory", packed, "--registry", registry.Repository()+":13", "--plain-http", "--credentials", credentials)
	if pushed != registry.Repository()+"@"+digest || len(registry.Tagged("13")) == 0 {
		t.Errorf("%s, not %s", pushed, digest)
	}

	one, two, store, own := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	does(t, failed, "basic credential not found", "fetch", "--image", "web", "--digest", digest, "--directory", one, "--registry", registry.Repository(), "--plain-http")
	line := does(t, 0, "", "fetch", "--image", "web", "--digest", digest, "--directory", one, "--registry", registry.Repository(), "--plain-http", "--credentials", credentials)
	if !strings.HasSuffix(line, `{"bytes":280002,"total":280002,"fetched":{"registry":280002},"done":true}`) {
		t.Error(line)
	}
	region := identitytest.NewSigner(t)
	region.Certify(store, "c1", "127.0.79.1")
	region.Certify(own, "c2", "127.0.79.2")
	address := serves(t, one, store, "127.0.79.1:0")
	registry.Close()
	from := []string{"fetch", "--image", "web", "--digest", digest, "--directory", two, "--identity", own, "--multipath"}
	does(t, failed, `c3: Get "https://`, append(from, "--from", "c3="+address)...) // it is c1
	line = does(t, 0, "", append(from, "--registry", registry.Repository(), "--plain-http", "--from", "c1="+address, "--bandwidth", "800000000")...)
	if !strings.HasSuffix(line, `"fetched":{"c1":280002},"done":true}`) {
		t.Error(line)
	}
	for n, name := range layout.Files {
		if content, err := os.ReadFile(filepath.Join(two, "web", name)); err != nil || !bytes.Equal(content, imagetest.Bytes(uint64(n), 70_000)) {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
	}
}

func TestAContainersImageIsPushedAndFetched(t *testing.T) {
	image, registry := imagetest.Container(imagetest.Bytes(1, 1000), imagetest.Bytes(2, 2000)), imagetest.NewRegistry(t)
	folder, directory := filepath.Join(t.TempDir(), "layout"), t.TempDir()
	image.Write(t, folder)
	if pushed := does(t, 0, "", "push", "--directory", folder, "--registry", registry.Repository(), "--plain-http"); pushed != registry.Repository()+"@"+image.Digest.String() {
		t.Error(pushed)
	}
	does(t, 0, "", "fetch", "--image", "web", "--digest", image.Digest.String(), "--directory", directory, "--registry", registry.Repository(), "--plain-http")
	image.Check(t, filepath.Join(directory, "web"))
	other := imagetest.Container([]byte("newer"))
	again := []string{"fetch", "--image", "web", "--digest", other.Digest.String(), "--directory", directory, "--registry", registry.Repository(), "--plain-http"}
	does(t, refused, "--replace replaces it", again...)
	does(t, failed, "404", append(again, "--replace")...)
	image.Check(t, filepath.Join(directory, "web"))
}

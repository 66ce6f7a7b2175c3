package main

import (
	"strings"
	"testing"
)

const someDigest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

func TestEachCommandExplainsItself(t *testing.T) {
	for _, command := range []string{"fetch", "serve", "pack", "push"} {
		if text := does(t, 0, "", command, "--help"); !strings.HasPrefix(text, "weft-images "+command+": ") || !strings.Contains(text, "-directory") {
			t.Error(text)
		}
	}
	if text := does(t, 0, "", "--help"); !strings.Contains(text, "weft-images fetch --image NAME") {
		t.Error(text)
	}
	if text := does(t, 0, "", "--version"); text != "weft-images "+version {
		t.Error(text)
	}
}

func TestAWrongCommandLineHasAnExitCodeOfItsOwn(t *testing.T) {
	fetch := func(more ...string) []string {
		return append([]string{"fetch", "--image", "web", "--digest", someDigest, "--directory", t.TempDir()}, more...)
	}
	for text, args := range map[string][]string{
		"no command":                                {},
		`"bring" is not a command`:                  {"bring"},
		"--image is missing":                        {"fetch"},
		"no source":                                 fetch(),
		"not the name of an image":                  fetch("--image", "../web", "--registry", "host/web"),
		"not of the form sha256:HEX":                fetch("--digest", "sha256:00", "--registry", "host/web"),
		"--from needs --identity":                   fetch("--from", "c2=192.0.2.2:4800"),
		`"C2" is not a cloudlet's name`:             fetch("--from", "C2=192.0.2.2:4800"),
		`"192.0.2.2" is not of the form host:port`:  fetch("--from", "c2=192.0.2.2"),
		"not of the form HOST[:PORT]/REPOSITORY":    fetch("--registry", "host"),
		"has a tag or digest":                       fetch("--registry", "host/web:13"),
		"the credentials: stat ":                    fetch("--registry", "host/web", "--credentials", "/missing"),
		"not a number of bytes":                     fetch("--registry", "host/web", "--most", "-1"),
		"--bandwidth -1 is negative":                fetch("--registry", "host/web", "--bandwidth", "-1"),
		`unexpected argument "more"`:                fetch("--registry", "host/web", "more"),
		"provided but not defined":                  fetch("--fast"),
		"--directory is missing":                    {"serve", "--listen", "127.0.79.1:0"},
		"--identity is missing":                     {"serve", "--directory", "/", "--listen", "127.0.79.1:0"},
		`"127.0.79.1" is not of the form host:port`: {"serve", "--directory", "/", "--identity", "/", "--listen", "127.0.79.1"},
		"no file":               {"pack", "--directory", t.TempDir()},
		"--registry is missing": {"push", "--directory", "/"},
		`"host" is not of the form HOST[:PORT]/REPO`: {"push", "--directory", "/", "--registry", "host"},
	} {
		does(t, usage, text, args...)
	}
}

func TestOtherFailuresMayBeTriedAgain(t *testing.T) {
	does(t, failed, "no authority is trusted yet", "fetch", "--image", "web", "--digest", someDigest, "--directory", t.TempDir(), "--from", "c2=127.0.79.1:1", "--identity", t.TempDir())
	does(t, failed, "missing", "serve", "--directory", "/missing", "--listen", "127.0.79.1:0", "--identity", "/")
	does(t, failed, "index.json", "push", "--directory", t.TempDir(), "--registry", "host/web")
	does(t, failed, "has the files", "pack", "--directory", t.TempDir(), "/etc/passwd")
}

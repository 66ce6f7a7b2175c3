// Package api is the client of the controller's REST API. Only this package speaks HTTP.
package api

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Settings say where the controller is and who the caller is. The names are those of `weft`'s environment.
type Settings struct {
	URL, Token, TokenFile, RootFile string
}

// WrongSetting is a setting that cannot be used. Name is the provider's attribute.
type WrongSetting struct{ Name, Message string }

func (w *WrongSetting) Error() string { return w.Name + ": " + w.Message }

// Variables are the environment variables that stand for settings that are not given.
var Variables = map[string]string{
	"url": "WEFT_URL", "token": "WEFT_TOKEN", "token_file": "WEFT_TOKEN_FILE", "root_file": "WEFT_ROOT_FILE",
}

// Completed returns the settings with those of the environment in place of the missing ones. A given token is used
// before any that the environment names, and there a file before a token, as `weft` does.
func (s Settings) Completed(environment func(string) string) Settings {
	if s.URL == "" {
		s.URL = environment(Variables["url"])
	}
	if s.RootFile == "" {
		s.RootFile = environment(Variables["root_file"])
	}
	if s.Token == "" && s.TokenFile == "" {
		s.TokenFile = environment(Variables["token_file"])
		if s.TokenFile == "" {
			s.Token = environment(Variables["token"])
		}
	}
	return s
}

// address returns the parsed URL.
func (s Settings) address() (*url.URL, error) {
	if s.URL == "" {
		return nil, &WrongSetting{"url", "it is missing, and WEFT_URL is not set: give the controller's URL, such as " +
			"unix:///run/weft/controller.sock or https://192.0.2.1:8443"}
	}
	wrong := func(why string) error {
		return &WrongSetting{"url", fmt.Sprintf("%q is not a controller's URL: %s", s.URL, why)}
	}
	found, err := url.Parse(s.URL)
	if err != nil {
		return nil, wrong("it cannot be parsed")
	}
	switch {
	case found.Scheme != "unix" && found.Scheme != "http" && found.Scheme != "https":
		return nil, wrong("it begins with unix://, http:// or https://")
	case found.Scheme == "unix" && (found.Host != "" || found.Path == "" || found.Path == "/"):
		return nil, wrong("a socket's path is absolute, as in unix:///run/weft/controller.sock")
	case found.Scheme != "unix" && found.Hostname() == "":
		return nil, wrong("it has no host")
	case found.User != nil:
		return nil, &WrongSetting{"url", "it has a user in it: the setting `token` is the place for a secret"}
	case found.RawQuery != "" || found.Fragment != "":
		return nil, wrong("it has a query or a fragment")
	}
	return found, nil
}

// token returns the caller's token; empty without one.
func (s Settings) token() (string, error) {
	if s.Token != "" {
		return sendable("token", s.Token)
	}
	if s.TokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(s.TokenFile)
	if err != nil {
		return "", &WrongSetting{"token_file", "cannot read " + s.TokenFile + ": " + reason(err)}
	}
	return sendable("token_file", string(text))
}

// sendable returns a token in the form that a header allows. The error does not repeat the secret.
func sendable(name, text string) (string, error) {
	token := strings.TrimSpace(text)
	for _, each := range token {
		if each <= ' ' || each > '~' {
			return "", &WrongSetting{name, "this is not a token: a token is one word of ASCII characters"}
		}
	}
	if token == "" {
		return "", &WrongSetting{name, "this is not a token: it is empty"}
	}
	return token, nil
}

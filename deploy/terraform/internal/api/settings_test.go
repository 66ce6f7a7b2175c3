package api

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongSettingsAreNamed(t *testing.T) {
	folder := t.TempDir()
	empty, token := filepath.Join(folder, "empty"), filepath.Join(folder, "token")
	for file, text := range map[string]string{empty: "\n", token: "a-token\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct {
		settings   Settings
		name, said string
	}{
		{Settings{}, "url", "WEFT_URL is not set"},
		{Settings{URL: "192.0.2.1:8080"}, "url", "is not a controller's URL"},
		{Settings{URL: "ftp://controller"}, "url", "begins with unix://, http:// or https://"},
		{Settings{URL: "unix://run/weft.sock"}, "url", "a socket's path is absolute"},
		{Settings{URL: "unix://"}, "url", "a socket's path is absolute"},
		{Settings{URL: "https://:8443"}, "url", "it has no host"},
		{Settings{URL: "https://me:" + "secret" + "@controller"}, "url", "has a user in it"},
		{Settings{URL: "https://controller?token=secret"}, "url", "a query"},
		{Settings{URL: "http://c", Token: "two words"}, "token", "one word of ASCII"},
		{Settings{URL: "http://c", Token: "schlüssel"}, "token", "one word of ASCII"},
		{Settings{URL: "http://c", TokenFile: empty}, "token_file", "it is empty"},
		{Settings{URL: "http://c", TokenFile: filepath.Join(folder, "none")}, "token_file", "no such file"},
		{Settings{URL: "https://c", RootFile: token}, "root_file", "has no certificates in it"},
		{Settings{URL: "https://c", RootFile: filepath.Join(folder, "none")}, "root_file", "no such file"},
	} {
		_, err := Open(one.settings)
		wrong, ok := errors.AsType[*WrongSetting](err)
		if !ok || wrong.Name != one.name || !strings.Contains(wrong.Message, one.said) {
			t.Errorf("%+v: %v", one.settings, err)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") && one.name != "url" || strings.Contains(err.Error(), "me:")) {
			t.Errorf("it tells a secret: %v", err)
		}
	}
	for _, settings := range []Settings{
		{URL: "unix:///run/weft/controller.sock"}, {URL: "https://192.0.2.1:8443/"}, {URL: "http://c", TokenFile: token},
	} {
		if _, err := Open(settings); err != nil {
			t.Errorf("%+v: %v", settings, err)
		}
	}
}

func TestTheEnvironmentStandsIn(t *testing.T) {
	environment := map[string]string{
		"WEFT_URL": "http://e", "WEFT_TOKEN": "t", "WEFT_TOKEN_FILE": "f", "WEFT_ROOT_FILE": "r",
	}
	get := func(name string) string { return environment[name] }
	for _, one := range []struct{ given, wanted Settings }{
		{Settings{}, Settings{URL: "http://e", TokenFile: "f", RootFile: "r"}},
		{Settings{URL: "http://mine", Token: "m"}, Settings{URL: "http://mine", Token: "m", RootFile: "r"}},
		{Settings{TokenFile: "m", RootFile: "n"}, Settings{URL: "http://e", TokenFile: "m", RootFile: "n"}},
	} {
		if found := one.given.Completed(get); found != one.wanted {
			t.Errorf("%+v becomes %+v", one.given, found)
		}
	}
	delete(environment, "WEFT_TOKEN_FILE")
	if found := (Settings{}).Completed(get); found.Token != "t" {
		t.Errorf("%+v", found)
	}
}

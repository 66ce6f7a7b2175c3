package provider_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"weft/deploy/terraform/internal/provider"
)

// fake is a controller with prepared answers, by method and path. The last answer is repeated.
type fake struct {
	mutex   sync.Mutex
	answers map[string][]answer
	asked   []request
}

type answer struct {
	status int
	body   string
	header map[string]string
}

type request struct{ what, query, body, ifMatch string }

func (f *fake) ServeHTTP(to http.ResponseWriter, from *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	what := from.Method + " " + strings.TrimPrefix(from.URL.Path, "/api/v1/")
	body, _ := io.ReadAll(from.Body)
	f.asked = append(f.asked, request{what, from.URL.RawQuery, string(body), from.Header.Get("If-Match")})
	given := answer{404, `{"title":"Not Found","detail":"there is no ` + what + `"}`, nil}
	if left := f.answers[what]; len(left) > 0 {
		given = left[0]
		if len(left) > 1 {
			f.answers[what] = left[1:]
		}
	}
	to.Header().Set("Content-Type", "application/json")
	if given.status >= 300 {
		to.Header().Set("Content-Type", "application/problem+json")
	}
	for name, value := range given.header {
		to.Header().Set(name, value)
	}
	to.WriteHeader(given.status)
	_, _ = to.Write([]byte(given.body))
}

// last returns the last request of that method and path.
func (f *fake) last(t *testing.T, what string) request {
	t.Helper()
	for i := len(f.asked) - 1; i >= 0; i-- {
		if f.asked[i].what == what {
			return f.asked[i]
		}
	}
	t.Fatalf("nobody asked %s, but %v", what, f.asked)
	return request{}
}

// values are those of a resource's attributes; the others are null.
type values map[string]tftypes.Value

// core stands for Terraform: it speaks the plugin protocol with the provider, without a process between them.
type core struct {
	t       *testing.T
	server  tfprotov6.ProviderServer
	schemas map[string]*tfprotov6.Schema
	said    []*tfprotov6.Diagnostic
}

// object is a resource in the state.
type object struct {
	kind    string
	state   tftypes.Value
	private []byte
}

func begin(t *testing.T, controller http.Handler) *core {
	t.Helper()
	listening := httptest.NewServer(controller)
	t.Cleanup(listening.Close)
	made := &core{t: t, server: providerserver.NewProtocol6(provider.New("test")())()}
	found, err := made.server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	made.check(found.Diagnostics, err)
	made.schemas = found.ResourceSchemas
	settings := made.written(found.Provider, values{"url": text(listening.URL)})
	configured, err := made.server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: settings})
	made.check(configured.Diagnostics, err)
	if len(made.errors()) > 0 {
		t.Fatal(made.errors())
	}
	return made
}

func text(value string) tftypes.Value { return tftypes.NewValue(tftypes.String, value) }

func number(value int64) tftypes.Value { return tftypes.NewValue(tftypes.Number, value) }

func texts(kind tftypes.Type, each ...string) tftypes.Value {
	found := []tftypes.Value{}
	for _, one := range each {
		found = append(found, text(one))
	}
	return tftypes.NewValue(kind, found)
}

func (c *core) check(said []*tfprotov6.Diagnostic, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	c.said = said
}

// errors returns the errors of the last request: attribute, summary and detail of each in one line.
func (c *core) errors() []string {
	found := []string{}
	for _, one := range c.said {
		if one.Severity == tfprotov6.DiagnosticSeverityError {
			found = append(found, strings.ReplaceAll(one.Attribute.String()+" "+one.Summary+" "+one.Detail, "\n", " "))
		}
	}
	return found
}

// whole returns an object of a schema's type.
func whole(of *tfprotov6.Schema, given values) tftypes.Value {
	kind := of.ValueType().(tftypes.Object)
	full := map[string]tftypes.Value{}
	for name, each := range kind.AttributeTypes {
		full[name] = tftypes.NewValue(each, nil)
	}
	maps.Copy(full, given)
	return tftypes.NewValue(kind, full)
}

func (c *core) written(of *tfprotov6.Schema, given values) *tfprotov6.DynamicValue {
	return c.dynamic(whole(of, given))
}

func (c *core) dynamic(value tftypes.Value) *tfprotov6.DynamicValue {
	c.t.Helper()
	found, err := tfprotov6.NewDynamicValue(value.Type(), value)
	if err != nil {
		c.t.Fatal(err)
	}
	return &found
}

// absent returns an object that is not in the state.
func (c *core) absent(kind string) *object {
	return &object{kind: kind, state: tftypes.NewValue(c.schemas[kind].ValueType(), nil)}
}

// plan returns the answer to the plan of a configuration for an object.
func (c *core) plan(of *object, config values) *tfprotov6.PlanResourceChangeResponse {
	c.t.Helper()
	proposed := maps.Clone(config)
	if before := (map[string]tftypes.Value{}); !of.state.IsNull() && of.state.As(&before) == nil {
		for _, each := range c.schemas[of.kind].Block.Attributes {
			if _, given := config[each.Name]; !given && each.Computed {
				proposed[each.Name] = before[each.Name]
			}
		}
	}
	found, err := c.server.PlanResourceChange(context.Background(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: of.kind, PriorState: c.dynamic(of.state), ProposedNewState: c.written(c.schemas[of.kind], proposed),
		Config: c.written(c.schemas[of.kind], config), PriorPrivate: of.private,
	})
	c.check(found.Diagnostics, err)
	return found
}

// apply plans a configuration and applies the plan. The object is then as the provider says.
func (c *core) apply(of *object, config values) {
	c.t.Helper()
	planned := c.plan(of, config)
	if len(c.errors()) > 0 {
		return
	}
	c.carryOut(of, c.written(c.schemas[of.kind], config), planned.PlannedState, planned.PlannedPrivate)
}

// remove destroys an object.
func (c *core) remove(of *object) {
	c.t.Helper()
	nothing := c.dynamic(c.absent(of.kind).state)
	c.carryOut(of, nothing, nothing, of.private)
}

func (c *core) carryOut(of *object, config, planned *tfprotov6.DynamicValue, private []byte) {
	c.t.Helper()
	found, err := c.server.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: of.kind, PriorState: c.dynamic(of.state), PlannedState: planned, Config: config, PlannedPrivate: private,
	})
	c.check(found.Diagnostics, err)
	c.keep(of, found.NewState, found.Private)
}

// refresh reads an object anew.
func (c *core) refresh(of *object) {
	c.t.Helper()
	found, err := c.server.ReadResource(context.Background(), &tfprotov6.ReadResourceRequest{
		TypeName: of.kind, CurrentState: c.dynamic(of.state), Private: of.private,
	})
	c.check(found.Diagnostics, err)
	c.keep(of, found.NewState, found.Private)
}

func (c *core) keep(of *object, state *tfprotov6.DynamicValue, private []byte) {
	c.t.Helper()
	value, err := state.Unmarshal(c.schemas[of.kind].ValueType())
	if err != nil {
		c.t.Fatal(err)
	}
	of.state, of.private = value, private
}

// attribute returns a value of an object, as text.
func (o *object) attribute(t *testing.T, name string) string {
	t.Helper()
	found := map[string]tftypes.Value{}
	if err := o.state.As(&found); err != nil {
		t.Fatal(err)
	}
	return found[name].String()
}

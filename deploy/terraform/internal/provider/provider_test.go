package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const cloudlet = `{"name":"c1","pe":"vpls","vtep":"192.0.2.1","state":"invited","unmanaged":false,"approval":false,` +
	`"labels":{},"asn":null,"ttl_security":null,"latitude":null,"longitude":null`

var (
	tagged = map[string]string{"ETag": `"7-1"`}
	given  = values{"name": text("c1"), "pe": text("vpls"), "vtep": text("192.0.2.1")}
)

// with returns a configuration with another value.
func with(config values, name string, value tftypes.Value) values {
	found := values{name: value}
	for each, one := range config {
		if each != name {
			found[each] = one
		}
	}
	return found
}

// invited returns a core with a cloudlet in its state.
func invited(t *testing.T, controller *fake) (*core, *object) {
	t.Helper()
	controller.answers["POST cloudlets"] = []answer{{201, cloudlet + `,"token":"secret","token_expires_at":"2026"}`, tagged}}
	terraform := begin(t, controller)
	made := terraform.absent("weft_cloudlet")
	if terraform.apply(made, given); len(terraform.errors()) > 0 {
		t.Fatal(terraform.errors())
	}
	return terraform, made
}

func refused(status int, title, detail, errors string) answer {
	return answer{status, `{"title":"` + title + `","detail":"` + detail + `","errors":[` + errors + `]}`, nil}
}

func TestACloudletIsMade(t *testing.T) {
	controller := &fake{answers: map[string][]answer{}}
	_, made := invited(t, controller)
	body := controller.last(t, "POST cloudlets").body
	if !strings.Contains(body, `"vtep":"192.0.2.1"`) || strings.Contains(body, "latitude") {
		t.Error(body)
	}
	if found := made.attribute(t, "enrolment_token"); !strings.Contains(found, "secret") {
		t.Error(found)
	}
}

func TestALostTokenIsMadeAnew(t *testing.T) {
	controller := &fake{answers: map[string][]answer{
		"POST cloudlets":          {{201, cloudlet + `,"token":null,"token_expires_at":null}`, tagged}},
		"POST cloudlets/c1/token": {{200, cloudlet + `,"token":"another","token_expires_at":"2026"}`, tagged}},
	}}
	terraform := begin(t, controller)
	made := terraform.absent("weft_cloudlet")
	terraform.apply(made, given)
	if found := made.attribute(t, "enrolment_token"); !strings.Contains(found, "another") || len(terraform.errors()) > 0 {
		t.Error(found, terraform.errors())
	}
	if body := controller.last(t, "POST cloudlets/c1/token").body; body != `{"token_seconds":3600}` {
		t.Error(body)
	}
}

func TestAChangeIsThatOfThePlannedObject(t *testing.T) {
	controller := &fake{answers: map[string][]answer{}}
	terraform, made := invited(t, controller)
	moved := strings.Replace(cloudlet, "192.0.2.1", "192.0.2.9", 1) + "}"
	controller.answers["PATCH cloudlets/c1"] = []answer{{200, `{"in_force":false,"unreachable":["rs1"]}`, nil}}
	controller.answers["GET cloudlets/c1"] = []answer{{200, moved, map[string]string{"ETag": `"7-2"`}}}
	terraform.apply(made, with(given, "vtep", text("192.0.2.9")))
	if asked := controller.last(t, "PATCH cloudlets/c1"); asked.ifMatch != `"7-1"` || asked.body != `{"vtep":"192.0.2.9"}` {
		t.Error(asked)
	}
	if len(terraform.said) != 1 || !strings.Contains(terraform.said[0].Detail, "rs1") {
		t.Error("it is not said that the change is not in force yet")
	}
	if found := made.attribute(t, "enrolment_token"); !strings.Contains(found, "secret") {
		t.Error("the token is lost: ", found)
	}
	controller.answers["PATCH cloudlets/c1"] = []answer{refused(412, "Precondition Failed", "It was changed meanwhile", "")}
	terraform.apply(made, given)
	if said := terraform.errors(); controller.last(t, "PATCH cloudlets/c1").ifMatch != `"7-2"` || len(said) != 1 ||
		!strings.Contains(said[0], "Plan again") {
		t.Error(said)
	}
	controller.answers["DELETE cloudlets/c1"] = []answer{{200, "{}", nil}}
	if terraform.remove(made); controller.last(t, "DELETE cloudlets/c1").ifMatch != `"7-2"` || !made.state.IsNull() {
		t.Error(terraform.errors())
	}
}

func TestAPlanRehearsesAChange(t *testing.T) {
	controller := &fake{answers: map[string][]answer{}}
	terraform, made := invited(t, controller)
	controller.answers["PATCH cloudlets/c1"] = []answer{
		{200, `{"in_force":true,"interrupted":[{"kind":"cloudlet","name":"c1","what":"its tunnels"}]}`, nil},
		refused(409, "Conflict", "taken", `{"field":"vtep","message":"taken"}`),
	}
	planned := terraform.plan(made, with(given, "vtep", text("192.0.2.9")))
	asked := controller.last(t, "PATCH cloudlets/c1")
	if asked.query != "dry_run=true" || len(terraform.said) != 1 || !strings.Contains(terraform.said[0].Detail, "its tunnels") {
		t.Error(asked, terraform.said)
	}
	if len(planned.RequiresReplace) > 0 {
		t.Error(planned.RequiresReplace)
	}
	terraform.plan(made, with(given, "vtep", text("192.0.2.9")))
	if said := terraform.said; len(said) != 1 || said[0].Severity != tfprotov6.DiagnosticSeverityWarning ||
		!strings.Contains(said[0].Attribute.String(), "vtep") {
		t.Error(said)
	}
	planned = terraform.plan(made, with(with(given, "pe", text("evpn")), "vtep", text("192.0.2.9")))
	if len(planned.RequiresReplace) != 1 || len(terraform.said) > 0 {
		t.Error(planned.RequiresReplace, terraform.said)
	}
}

func TestOnlyAnObjectThatIsGoneLeavesTheState(t *testing.T) {
	for detail, gone := range map[string]bool{"there is no cloudlet 'c1'": true, "There is nothing here.": false} {
		controller := &fake{answers: map[string][]answer{}}
		terraform, made := invited(t, controller)
		controller.answers["GET cloudlets/c1"] = []answer{refused(404, "Not Found", detail, "")}
		terraform.refresh(made)
		if made.state.IsNull() != gone || (len(terraform.errors()) == 0) != gone {
			t.Error(detail, terraform.errors())
		}
	}
}

func TestWhatIsGoneCanBeRemoved(t *testing.T) {
	terraform, made := invited(t, &fake{answers: map[string][]answer{}})
	if terraform.remove(made); len(terraform.errors()) > 0 || !made.state.IsNull() {
		t.Error(terraform.errors())
	}
}

func TestARefusalIsAtItsAttribute(t *testing.T) {
	client := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"mac": tftypes.String, "client_id": tftypes.String}}
	vm := tftypes.NewValue(client, map[string]tftypes.Value{
		"mac": text("02:00:5e:00:00:02"), "client_id": tftypes.NewValue(tftypes.String, nil),
	})
	config := values{"name": text("m1"), "mac": text("02:00:5e:00:00:01"), "vm": vm}
	controller := &fake{answers: map[string][]answer{
		"POST devices": {refused(409, "Conflict", "known", `{"field":"vm.mac","message":"m2 has it"}`)},
	}}
	terraform := begin(t, controller)
	terraform.apply(terraform.absent("weft_device"), config)
	if said := terraform.errors(); len(said) != 1 || !strings.Contains(said[0], `AttributeName("vm").AttributeName("mac")`) ||
		!strings.HasSuffix(said[0], "Cannot add device m1: conflict m2 has it") {
		t.Error(said)
	}
}

func TestAPoolIsAsFarAsItCame(t *testing.T) {
	pool := `{"name":"blue","flavour":"vpls","description":"","managed_by_policy":false,"members":[]}`
	controller := &fake{answers: map[string][]answer{
		"POST vcps":              {{201, pool, tagged}},
		"POST vcps/blue/members": {{201, `{"in_force":true}`, nil}, refused(409, "Conflict", "c2-lan is not active", "")},
	}}
	terraform := begin(t, controller)
	made := terraform.absent("weft_vcp")
	set := tftypes.Set{ElementType: tftypes.String}
	terraform.apply(made, values{"name": text("blue"), "members": texts(set, "c1-lan", "c2-lan")})
	if said := terraform.errors(); len(said) != 1 || !strings.Contains(said[0], "let c2-lan join vcp blue") {
		t.Error(said)
	}
	if found := made.attribute(t, "members"); !strings.Contains(found, "c1-lan") || strings.Contains(found, "c2-lan") {
		t.Error(found)
	}
	gone := strings.Replace(pool, `"members":[]`, `"members":["c9-lan"]`, 1)
	controller.answers["GET vcps/blue"] = []answer{{200, gone, tagged}}
	controller.answers["POST vcps/blue/members"] = []answer{{201, `{"in_force":true}`, nil}}
	terraform.apply(made, values{"name": text("blue"), "members": texts(set, "c1-lan")})
	if body := controller.last(t, "POST vcps/blue/members").body; body != `{"endpoint":"c1-lan"}` {
		t.Error(body, terraform.errors()) // c1-lan was there in the state, and has left with its endpoint; c9-lan stays
	}
	controller.answers["DELETE vcps/blue/members/c1-lan"] = []answer{{200, "{}", nil}}
	controller.answers["DELETE vcps/blue"] = []answer{{200, "{}", nil}}
	terraform.remove(made)
	if controller.last(t, "DELETE vcps/blue/members/c1-lan"); !made.state.IsNull() {
		t.Error(terraform.errors())
	}
}

func TestAVMsOwnIdentityIsNoDifference(t *testing.T) {
	controller := &fake{answers: map[string][]answer{
		"POST devices": {{201, `{"name":"m1","mac":"02:00:5e:00:00:01","client_id":null,"vm":null}`, tagged}},
		"GET devices/m1": {
			{200, `{"name":"m1","mac":"02:00:5e:00:00:01","client_id":null,"vm":{"mac":null,"client_id":"00776562"}}`, tagged},
			{200, `{"name":"m1","mac":"02:00:5e:00:00:01","client_id":null,"vm":{"mac":null,"client_id":"0102"}}`, tagged},
		},
	}}
	terraform := begin(t, controller)
	made := terraform.absent("weft_device")
	terraform.apply(made, values{"name": text("m1"), "mac": text("0200.5E00.0001")})
	for _, wanted := range []bool{false, true} {
		terraform.refresh(made)
		if found := made.attribute(t, "vm"); strings.Contains(found, "0102") != wanted {
			t.Error(found)
		}
	}
	if found := made.attribute(t, "mac"); !strings.Contains(found, "0200.5E00.0001") {
		t.Error(found, "is another spelling")
	}
}

const plan = `{"planned":"12-0123456789ab","warnings":[],"unconsented":[],"disconnects":[],"leases":[],"tests":[],"plan":` +
	`{"create":["blue"],"join":[{"vcp":"blue","endpoint":"c1-lan"}]},"change":{}}`

func TestAPolicyIsAppliedAsPlanned(t *testing.T) {
	controller := &fake{answers: map[string][]answer{
		"POST policy/plan": {{200, plan, nil}},
		"GET policy":       {{200, `{"revision":null,"etag":"\"0-0\"","filename":null,"text":""}`, nil}},
		"POST policy/apply": {
			{409, `{"type":"/problems/plan-changed","title":"Conflict","detail":"Plan again."}`, nil},
			{200, `{"revision":3,"etag":"\"9-3\""}`, nil},
		},
	}}
	terraform := begin(t, controller)
	made, config := terraform.absent("weft_policy"), values{"text": text("apiVersion: weft/v1\n")}
	terraform.apply(made, config)
	if said := terraform.errors(); len(said) != 1 || !strings.Contains(said[0], "The region has changed since the plan") {
		t.Error(said)
	}
	terraform.apply(made, config)
	asked := controller.last(t, "POST policy/apply")
	if asked.ifMatch != `"0-0"` || asked.query != "filename=policy.yaml&planned=0-0123456789ab" ||
		asked.body != "apiVersion: weft/v1\n" {
		t.Error(asked)
	}
	found := made.attribute(t, "steps")
	if !strings.Contains(found, "+ VCP blue") || !strings.Contains(found, "+ c1-lan joins blue") {
		t.Error(found)
	}
	terraform.plan(made, config)
	if said := terraform.said; len(said) != 1 || !strings.Contains(said[0].Summary, "has drifted from the policy") ||
		!strings.Contains(said[0].Detail, "+ c1-lan joins blue") {
		t.Error(said)
	}
	controller.answers["POST policy/plan"] = []answer{{200, `{"planned":"13-ffffffffffff","plan":{},"change":{}}`, nil}}
	planned := terraform.plan(made, config)
	if after, err := planned.PlannedState.Unmarshal(made.state.Type()); err != nil || !after.Equal(made.state) {
		t.Error("a plan without steps changes something: ", after, err)
	}
	terraform.remove(made)
	if asked = controller.last(t, "POST policy/apply"); asked.ifMatch != `"9-3"` || !strings.Contains(asked.body, "vcps: {}") {
		t.Error(asked)
	}
}

func TestAPlanSaysWhyAPolicyWouldBeRefused(t *testing.T) {
	place := `{"file":"policy.yaml","line":1,"column":1,"field":"vcps","message":"m1 would be cut off"}`
	held := strings.NewReplacer(
		`"disconnects":[]`, `"disconnects":[{"at":`+place+`}]`, `"unconsented":[]`, `"unconsented":["c9-lan"]`,
		`"tests":[]`, `"tests":[{"outcome":"failed","said":`+place+`},{"outcome":"passed","said":`+place+`}]`,
	).Replace(plan)
	controller := &fake{answers: map[string][]answer{"POST policy/plan": {{200, held, nil}}}}
	terraform := begin(t, controller)
	config := values{"text": text("vcps: {}\n")}
	terraform.plan(terraform.absent("weft_policy"), config)
	said := strings.Join(terraform.errors(), "\n")
	for _, wanted := range []string{
		"allow_disconnect = true", "c9-lan", "count_consented = true", "policy.yaml:1:1: m1", "tests fail",
	} {
		if !strings.Contains(said, wanted) {
			t.Errorf("%q is not in %s", wanted, said)
		}
	}
	if len(terraform.errors()) != 3 {
		t.Error(said)
	}
	yes := tftypes.NewValue(tftypes.Bool, true)
	config = with(with(config, "allow_disconnect", yes), "hold_back", yes)
	if terraform.plan(terraform.absent("weft_policy"), config); len(terraform.errors()) != 1 {
		t.Error(terraform.errors())
	}
}

func TestAnotherPolicyHasToBeImported(t *testing.T) {
	controller := &fake{answers: map[string][]answer{
		"POST policy/plan": {{200, plan, nil}},
		"GET policy":       {{200, `{"revision":2,"etag":"\"8-2\"","filename":"theirs.yaml","text":"vcps: {}"}`, nil}},
	}}
	terraform := begin(t, controller)
	terraform.apply(terraform.absent("weft_policy"), values{"text": text("vcps: {}\n")})
	said := terraform.errors()
	if len(said) != 1 || !strings.Contains(said[0], "theirs.yaml") || !strings.Contains(said[0], "terraform import ADDRESS policy") {
		t.Error(said)
	}
}

func TestAnInventoryKeepsTheTokensThatItHasTold(t *testing.T) {
	steps := `{"planned":"1-0123456789ab","change":{},"plan":{"steps":[{"action":"change","section":"vms","name":"web",` +
		`"fields":[{"field":"memory","before":536870912,"after":1073741824},{"field":"options","before":{},"after":{"b":"2","a":"1"}}]}]}}`
	controller := &fake{answers: map[string][]answer{
		"POST inventory/plan": {{200, steps, nil}},
		"GET inventory":       {{200, `{"revision":null,"etag":"\"0-0\""}`, nil}},
		"POST inventory/apply": {
			{200, `{"revision":1,"etag":"\"9-1\"","tokens":{"c1":"one"}}`, nil},
			{200, `{"revision":2,"etag":"\"9-2\"","tokens":{"c2":"two"}}`, nil},
		},
	}}
	terraform := begin(t, controller)
	made := terraform.absent("weft_inventory")
	terraform.apply(made, values{"text": text("a"), "token_seconds": number(60)})
	terraform.apply(made, values{"text": text("b"), "token_seconds": number(60)})
	if found := made.attribute(t, "enrolment_tokens"); !strings.Contains(found, "one") || !strings.Contains(found, "two") {
		t.Error(found, terraform.errors())
	}
	wanted := "~ VM web: memory 536870912 → 1073741824, options none → a=1 b=2"
	if found := made.attribute(t, "steps"); !strings.Contains(found, wanted) {
		t.Error(found)
	}
	asked := controller.last(t, "POST inventory/apply")
	if parts := strings.Split(asked.query, "&"); asked.ifMatch != `"9-1"` || !slices.Contains(parts, "token_seconds=60") {
		t.Error(asked)
	}
}

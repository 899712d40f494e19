package check

import (
	"net/url"
	"testing"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// A number fits a filter in whatever form it is written.
func TestAFilterFitsANumberInAnyForm(t *testing.T) {
	t.Parallel()
	for status, breaks := range map[string]bool{"503": false, "503.0": false, "5.03e2": false, "504": true, `"504"`: true} {
		x := &Exchange{
			Operation: "listWorkflowDLQ", Query: url.Values{"code": {"503"}}, Status: 200,
			Body: Decode([]byte(`{"messages": [{"responseStatus": ` + status + `}]}`)),
		}
		found := false
		for _, b := range Breaches(x, target.Bindings{DLQ: map[string]string{"response_status": "code"}}) {
			found = found || b.Requirement == "REQ-DLQ-008"
		}
		if found != breaks {
			t.Errorf("%s breaks REQ-DLQ-008: got %v, want %v", status, found, breaks)
		}
	}
}

// Whatever a breach is of, the register has it: its basis decides the verdict.
func TestEveryRequirementOfABreachIsInTheRegister(t *testing.T) {
	t.Parallel()
	register, err := spec.LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	for operation := range operations {
		for _, body := range []string{`null`, `{}`, `{"messages":[{}],"events":[{"state":"CREATED","stepInfo":{}}],"result":{},"error":7}`} {
			for _, status := range []int{200, 201, 404} {
				for _, b := range Breaches(&Exchange{Operation: operation, Status: status, MediaType: "text/html", Body: Decode([]byte(body))}, target.Bindings{}) {
					if register.ByID(b.Requirement) == nil {
						t.Errorf("%s: %s is not in the register", operation, b.Requirement)
					}
				}
			}
		}
	}
}

// Package target reads the file that describes an implementation under test.
//
//	t, err := target.Load("target.yaml")
//
// The file says where the implementation is, how to authenticate, which profiles it
// claims, and what the interface document leaves open: names and forms (bindings),
// and actions without a documented operation (drivers). Every error names the file,
// the line and the key, and none contains a secret: a [Secret] always prints as ***.
//
// The package sends no requests: package conformance uses what it reads.
package target

import "time"

// Target is an implementation under test: where it is, how to authenticate, what it
// claims, and what the interface document leaves open. spec/target.schema.json
// describes its file.
type Target struct {
	APIVersion string `yaml:"apiVersion"`
	Spec       string `yaml:"spec"` // revision of the requirements

	Target struct {
		Name    string   `yaml:"name"`
		Version string   `yaml:"version"`
		Contact []string `yaml:"contact"`
		URLs    URLs     `yaml:"urls"`
		Auth    Auth     `yaml:"auth"`
	} `yaml:"target"`

	Profiles []string `yaml:"profiles"` // empty: all

	// Capabilities are the optional parts that the target has, by the name in the tag @cap-NAME
	// of the scenarios that need them: true, false or auto, which means the same as no entry.
	Capabilities map[string]string `yaml:"capabilities"`

	Bindings  Bindings          `yaml:"bindings"`
	Fixtures  Fixtures          `yaml:"fixtures"`
	Drivers   map[string]Driver `yaml:"drivers"` // account, cancel, clock, group, index, pause, plugin, reset, run, search
	Receiver  Receiver          `yaml:"receiver"`
	Timing    Timing            `yaml:"timing"`
	Limits    Limits            `yaml:"limits"`
	Isolation Isolation         `yaml:"isolation"`

	ExpectedFailures string `yaml:"expected_failures"` // file
	KnownFlaky       string `yaml:"known_flaky"`       // file
	Report           struct {
		Dir     string   `yaml:"dir"`
		Formats []string `yaml:"formats"`
	} `yaml:"report"`
}

// URLs are the four hosts of the interface document, and the store of the rate-limit
// plugin. An empty host is Base; without KV there is no store.
type URLs struct {
	Base   string `yaml:"base"`
	Region string `yaml:"region"`
	Dev    string `yaml:"dev"`
	Vector string `yaml:"vector"`
	KV     string `yaml:"kv"`
}

// Secret is a text that is never printed. In a file it is a text or {env: NAME}.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the secret in reports.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Auth are the credentials.
type Auth struct {
	Bearer       Secret `yaml:"bearer"`
	VectorBearer Secret `yaml:"vector_bearer"`
	KVBearer     Secret `yaml:"kv_bearer"`
	SigningKey   Secret `yaml:"signing_key"` // of deliveries, for an extension; empty: the suite reads it from the target
	Basic        struct {
		Username Secret `yaml:"username"`
		Password Secret `yaml:"password"`
	} `yaml:"basic"`
}

// Bindings are names and forms that the interface document leaves open. What needs a
// missing binding cannot be judged.
type Bindings struct {
	BrandPrefix string                       `yaml:"brand_prefix"` // header prefix of the target, such as Svc; a built-in dialect with this name applies in full
	Publish     map[string]string            `yaml:"publish"`      // method
	Stats       map[string]string            `yaml:"stats"`        // path, with {id}
	Headers     map[string]string            `yaml:"headers"`      // flow_key, failure_callback, retry_delay, label ...
	Delay       map[string]string            `yaml:"delay"`        // format, with {n} for seconds
	FlowValues  []string                     `yaml:"flow_values"`  // two different values of flow control that the target accepts
	Logs        map[string]string            `yaml:"logs"`         // filter -> query name
	DLQ         map[string]string            `yaml:"dlq"`          // filter -> query name
	Fields      map[string]map[string]string `yaml:"fields"`       // dlq, log, step -> described value -> property name
}

// Fixtures are existing data of a target that has no drivers to create them.
type Fixtures struct {
	URLGroup struct {
		Name                  string `yaml:"name"`
		EndpointsAreReceivers bool   `yaml:"endpoints_are_receivers"`
	} `yaml:"url_group"`
	DLQIDs      []string `yaml:"dlq_ids"`
	VectorIndex struct {
		MinVectors int `yaml:"min_vectors"`
	} `yaml:"vector_index"`
	StatsUserID              Secret   `yaml:"stats_user_id"`
	DisposableSearchIndexIDs []string `yaml:"disposable_search_index_ids"`
}

// Driver is an action that has no documented operation, such as pausing a key. Texts
// may contain placeholders {{name}}: see Placeholders and docs/conformance/target.md.
type Driver struct {
	Kind    string            `yaml:"kind"` // http, exec, manual, control (clock only), none
	Method  string            `yaml:"method"`
	URL     string            `yaml:"url"`
	Headers map[string]Secret `yaml:"headers"`
	Body    string            `yaml:"body"`
	Command []string          `yaml:"command"`
	Result  string            `yaml:"result"` // JSON pointer to the result in the response, such as an id
	Trigger *Driver           `yaml:"trigger"`
}

// Receiver says how the target reaches the suite.
type Receiver struct {
	Mode      string `yaml:"mode"`       // in-process, listen, advertised, relay
	Listen    string `yaml:"listen"`     // address
	PublicURL string `yaml:"public_url"` // URL that the target receives
	TLS       struct {
		Cert string `yaml:"cert"`
		Key  string `yaml:"key"`
	} `yaml:"tls"`
	Relay struct {
		URL   string `yaml:"url"`
		Token Secret `yaml:"token"`
	} `yaml:"relay"`
}

// Timing contains budgets. Scale multiplies these, but never lower bounds.
type Timing struct {
	Scale          float64       `yaml:"scale"`
	DeliveryBudget time.Duration `yaml:"delivery_budget"`
	SettleBudget   time.Duration `yaml:"settle_budget"`
	StatsBudget    time.Duration `yaml:"stats_budget"`
	RetryBudget    time.Duration `yaml:"retry_budget"`
	RequestTimeout time.Duration `yaml:"request_timeout"` // for the answer to one request
	ClockSkewMax   time.Duration `yaml:"clock_skew_max"`
	Poll           struct {
		First  time.Duration `yaml:"first"`
		Factor float64       `yaml:"factor"`
		Max    time.Duration `yaml:"max"`
	} `yaml:"poll"`
}

// Limits end a run that would cost too much. 0 means no limit, for Wall 30 minutes.
type Limits struct {
	MaxRequests   int           `yaml:"max_requests"`
	MaxMessages   int           `yaml:"max_messages"`
	MaxDLQEntries int           `yaml:"max_dlq_entries"`
	Wall          time.Duration `yaml:"wall"`
	RPS           float64       `yaml:"rps"`
}

// Isolation says how scenarios avoid affecting each other.
type Isolation struct {
	Prefix        string `yaml:"prefix"`         // prefix of every name that is created
	SharedAccount bool   `yaml:"shared_account"` // others use the account too
	Parallel      int    `yaml:"parallel"`
}

package target

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/yamlfile"
	"github.com/understudy-mock/understudy/spec"
)

// Load reads a target file. Every error names the file, the line and the key, and
// none contains a secret. Paths in the file are relative to it.
func Load(path string) (*Target, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("target file: %w", err)
	}
	t, err := parseTarget(path, text, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for _, file := range []*string{&t.ExpectedFailures, &t.KnownFlaky} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	return t, nil
}

// parseTarget parses a text and checks it against the schema, and then for rules that
// the schema cannot express.
func parseTarget(name string, text []byte, env func(string) (string, bool)) (*Target, error) {
	file, err := yamlfile.Parse(name, text)
	if err != nil {
		return nil, err
	}
	if file.Root == nil {
		return nil, file.Empty()
	}
	file.Show = shown
	schema, err := targetSchema()
	if err != nil {
		return nil, err
	}
	if err := file.Check(schema); err != nil {
		return nil, err
	}
	if err := secrets(file, file.Root, "", env); err != nil {
		return nil, err
	}
	var t Target
	if err := file.Decode(&t); err != nil {
		return nil, err
	}
	return &t, t.consistent(file)
}

// targetSchema is the schema of a target file.
var targetSchema = sync.OnceValues(func() (*yamlfile.Schema, error) {
	return yamlfile.NewSchema("target.schema.json", spec.TargetSchema, nil)
})

// shown is a value at a key in the form for an error, "" for a credential.
func shown(key string, node *yaml.Node) string {
	switch {
	case node.Kind != yaml.ScalarNode || strings.Contains(key, "auth"):
		return ""
	case node.ShortTag() == "!!str":
		return quotable(node.Value)
	}
	return yamlfile.Written(key, node)
}

// quotable is a value in the form for an error. Any value may contain a secret by
// mistake: of a URL only the host is shown, of a long text only the length.
func quotable(value string) string {
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		return strconv.Quote(u.Scheme + "://" + u.Host)
	}
	if n := utf8.RuneCountInString(value); n > mostQuoted || strings.Contains(value, "@") {
		return fmt.Sprintf("of %d characters", n)
	}
	return strconv.Quote(value)
}

// mostQuoted is the length of the longest value that an error quotes, in characters.
const mostQuoted = 24

// secrets replaces {env: NAME} by the value of the variable.
func secrets(file *yamlfile.File, node *yaml.Node, key string, env func(string) (string, bool)) error {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		variable := yamlfile.Child(value, "env")
		if variable == nil || len(value.Content) != 2 || variable.Kind != yaml.ScalarNode {
			if err := secrets(file, value, join(key, name.Value), env); err != nil {
				return err
			}
			continue
		}
		text, ok := env(variable.Value)
		if !ok || text == "" {
			return file.Fault(variable, join(key, name.Value), "environment variable "+variable.Value+": not set or empty")
		}
		*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: variable.Line}
	}
	return nil
}

// consistent refuses combinations that the schema allows but that make no sense.
func (t *Target) consistent(file *yamlfile.File) error {
	if register, err := spec.LoadRequirements(); err == nil && t.Spec != "" && t.Spec != register.Revision {
		return file.Fault(yamlfile.Child(file.Root, "spec"), "spec", fmt.Sprintf("invalid value %s: must be %s, the revision that this program judges by", quotable(t.Spec), register.Revision))
	}
	receiver := yamlfile.Child(file.Root, "receiver")
	needs := map[string]bool{
		"advertised": t.Receiver.PublicURL != "", "relay": t.Receiver.Relay.URL != "",
	}
	if ok, known := needs[t.Receiver.Mode]; known && !ok {
		key := map[string]string{"advertised": "public_url", "relay": "relay"}[t.Receiver.Mode]
		return file.Fault(receiver, "receiver."+key, "missing: must be set for mode "+t.Receiver.Mode)
	}
	if (t.Receiver.TLS.Cert == "") != (t.Receiver.TLS.Key == "") {
		return file.Fault(yamlfile.Child(receiver, "tls"), "receiver.tls", "one of cert and key is missing: must have both or neither")
	}
	drivers := yamlfile.Child(file.Root, "drivers")
	for _, name := range slices.Sorted(maps.Keys(t.Drivers)) {
		d := t.Drivers[name]
		where := yamlfile.Child(drivers, name)
		switch {
		case d.Kind == "control" && name != "clock":
			return file.Fault(where, "drivers."+name+".kind", `invalid value "control": must be one of http, exec, manual, none; control is for the clock only`)
		case name == "clock" && d.Kind != "control" && d.Kind != "none":
			return file.Fault(where, "drivers.clock.kind", fmt.Sprintf("invalid value %q: must be one of control, none", d.Kind))
		case d.Kind == "http" && d.URL == "" && d.Trigger == nil:
			return file.Fault(where, "drivers."+name+".url", "missing: must be set for kind http")
		case name == "run" && d.Kind == "http" && d.Trigger == nil:
			return file.Fault(where, "drivers.run.trigger", "missing: must be the request that starts a run of {{workflow}}")
		case name == "run" && d.Trigger != nil && d.Trigger.Result == "" && !d.Trigger.names("runId"):
			return file.Fault(yamlfile.Child(where, "trigger"), "drivers.run.trigger", "the id of the run is unknown: must send {{runId}}, or have result, the JSON pointer of the id in the response")
		}
	}
	return t.checkPlaceholders(file, drivers)
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

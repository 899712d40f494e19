package target

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/yamlfile"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Masked returns the target file for reports, with defaults and without secrets and empty values.
func (t *Target) Masked() string {
	var root yaml.Node
	if err := root.Encode(t); err != nil { // cannot happen with texts, numbers and durations
		return "# " + err.Error()
	}
	a := t.Target.Auth
	hidden := []string{string(a.Bearer), string(a.VectorBearer), string(a.KVBearer), string(a.Basic.Password), string(t.Receiver.Relay.Token)}
	prune(&root, hidden, 0)
	var b strings.Builder
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return "# " + err.Error()
	}
	return b.String()
}

// prune removes empty values, and masks secrets anywhere in the file. It reports
// whether anything is left.
func prune(node *yaml.Node, hidden []string, depth int) bool {
	if depth > 1 || node.Kind == yaml.SequenceNode {
		node.Style |= yaml.FlowStyle // one line each, so that a report stays short
	}
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Tag == "!!str" {
			for _, secret := range hidden {
				if len(secret) >= minSecret {
					node.Value = strings.ReplaceAll(node.Value, secret, mask.Hidden)
				}
			}
			node.Value = mask.Text(node.Value)
		}
		return node.Value != "" && node.Value != "0" && node.Value != "0s" && node.Value != "false" && node.Tag != "!!null"
	case yaml.MappingNode:
		kept := node.Content[:0]
		for i := 0; i+1 < len(node.Content); i += 2 {
			if prune(node.Content[i+1], hidden, depth+1) {
				kept = append(kept, node.Content[i], node.Content[i+1])
			}
		}
		node.Content = kept
	case yaml.SequenceNode:
		for _, item := range node.Content {
			prune(item, hidden, depth+1)
		}
	}
	return len(node.Content) > 0
}

// inPlaceholders matches header values that only refer to a secret.
var inPlaceholders = regexp.MustCompile(`^(Bearer |Basic )?\{\{\w+\}\}$`)

// MarshalYAML masks the headers of a driver except for those that are not credentials.
func (d Driver) MarshalYAML() (any, error) {
	type plain Driver // without this method
	var node yaml.Node
	if err := node.Encode(plain(d)); err != nil {
		return nil, err
	}
	if headers := yamlfile.Child(&node, "headers"); headers != nil {
		for i := 0; i+1 < len(headers.Content); i += 2 {
			name := headers.Content[i].Value
			if v := string(d.Headers[name]); !mask.Secret(name) || inPlaceholders.MatchString(v) {
				headers.Content[i+1].Value = v
			}
		}
	}
	return &node, nil
}

// minSecret is the length of the shortest secret that is searched for in other values.
const minSecret = 4

// Sections returns the names that are bound, by section, such as flow_key in headers.
func (b Bindings) Sections() map[string]map[string]string {
	all := map[string]map[string]string{"publish": b.Publish, "stats": b.Stats, "headers": b.Headers, "delay": b.Delay, "logs": b.Logs, "dlq": b.DLQ}
	for section, names := range b.Fields {
		all["fields."+section] = names
	}
	return all
}

// ByName returns the bindings by section and name, such as headers.flow_key.
func (b Bindings) ByName() map[string]string {
	out := map[string]string{}
	if b.BrandPrefix != "" {
		out["brand_prefix"] = b.BrandPrefix
	}
	for section, values := range b.Sections() {
		for name, v := range values {
			out[section+"."+name] = v
		}
	}
	return out
}

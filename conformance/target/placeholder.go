package target

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/internal/yamlfile"
)

// driverPlaceholders are the placeholders of each driver besides the common ones: the
// arguments of a call. Sorted by driver.
var driverPlaceholders = map[string][]string{
	"account":     {"name", "password"},
	"cancel":      {"runId"},
	"clock":       nil,
	"group":       {"endpoints", "name"},
	"index":       nil,
	"pause":       {"key"},
	"plugin":      {"config", "upstream"},
	"reset":       nil,
	"run":         {"body", "headers", "runId", "workflow"},
	"search":      {"name"},
	"search_look": {"id"},
	"vectors":     {"namespace", "vectors"},
}

// atRun are the common placeholders whose values are known when the run begins.
var atRun = []string{"account", "receiver", "run"}

// fillers are the keys of the target file that set the common placeholders.
var fillers = map[string]string{
	"base": "target.urls.base", "basic": "target.auth.basic", "dev": "target.urls.dev", "kv": "target.urls.kv", "password": "target.auth.basic",
	"region": "target.urls.region", "token": "target.auth.bearer", "username": "target.auth.basic", "vector": "target.urls.vector", "vectorToken": "target.auth.vector_bearer",
}

var placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// Placeholders returns the values of the common placeholders in the texts of drivers
// that come from the URLs and credentials of a target.
func Placeholders(u URLs, a Auth) map[string]string {
	u = u.Filled()
	out := map[string]string{
		"base": u.Base, "region": u.Region, "dev": u.Dev, "vector": u.Vector, "kv": u.KV, "token": string(a.Bearer),
		"vectorToken": string(a.VectorBearer), "username": string(a.Basic.Username), "password": string(a.Basic.Password),
	}
	if pair := out["username"] + ":" + out["password"]; pair != ":" {
		out["basic"] = base64.StdEncoding.EncodeToString([]byte(pair))
	}
	return out
}

// Expand replaces the placeholders in a text of a driver. One that is unknown or has
// no value is an error, because an empty text could address something else.
func Expand(text string, values map[string]string) (string, error) {
	var missing []string
	out := placeholder.ReplaceAllStringFunc(text, func(match string) string {
		name := placeholder.FindStringSubmatch(match)[1]
		if values[name] == "" {
			missing = append(missing, name)
		}
		return values[name]
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("placeholder {{%s}} has no value", missing[0])
	}
	return out, nil
}

// names reports whether a text of the driver contains a placeholder.
func (d *Driver) names(name string) bool {
	texts := append([]string{d.URL, d.Body}, d.Command...)
	for _, v := range d.Headers {
		texts = append(texts, string(v))
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(placeholder.FindAllStringSubmatch(text, -1), func(match []string) bool { return match[1] == name })
	})
}

// checkPlaceholders refuses placeholders without a value. Errors contain the line.
func (t *Target) checkPlaceholders(file *yamlfile.File, drivers *yaml.Node) error {
	common := Placeholders(t.Target.URLs, t.Target.Auth)
	for i := 0; drivers != nil && i+1 < len(drivers.Content); i += 2 {
		driver := drivers.Content[i].Value
		own := slices.Concat(driverPlaceholders[driver], atRun)
		err := eachText(drivers.Content[i+1], "drivers."+driver, func(node *yaml.Node, key string) error {
			for _, match := range placeholder.FindAllStringSubmatch(node.Value, -1) {
				name := match[1]
				_, known := common[name]
				switch {
				case slices.Contains(own, name) || common[name] != "":
				case known || fillers[name] != "":
					return file.Fault(node, key, fmt.Sprintf("placeholder {{%s}} has no value: %s must be set", name, cmp.Or(fillers[name], "it")))
				default:
					return file.Fault(node, key, fmt.Sprintf("unknown placeholder {{%s}}%s", name, hint(name, slices.Sorted(maps.Keys(common)), own)))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hint suggests a similar placeholder and lists all known ones.
func hint(name string, common, own []string) string {
	all := slices.Concat(common, own)
	slices.Sort(all)
	text := ": must be one of " + strings.Join(all, ", ")
	if near, distance := similar.Nearest(name, all); distance < 3 {
		text += fmt.Sprintf("; did you mean {{%s}}?", near)
	}
	return text
}

// eachText visits every text of a YAML tree with its key.
func eachText(node *yaml.Node, key string, visit func(node *yaml.Node, key string) error) error {
	switch node.Kind {
	case yaml.ScalarNode:
		return visit(node, key)
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if err := eachText(node.Content[i+1], key+"."+node.Content[i].Value, visit); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			if err := eachText(item, fmt.Sprintf("%s[%d]", key, i), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

package command

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/internal/yamlfile"
	"github.com/understudy-mock/understudy/spec/mask"
)

// settings is the file given with --config: flag names and values.
type settings struct {
	path   string
	file   *yamlfile.File
	values map[string]yaml.Node
	used   map[string]bool // flags whose value comes from the file
}

// configFile removes --config FILE from the arguments and reads the file. The default is
// UNDERSTUDY_CONFIG.
func configFile(args []string) ([]string, *settings, error) {
	s := &settings{path: os.Getenv("UNDERSTUDY_CONFIG"), used: map[string]bool{}}
	if len(args) > 0 && args[0] == "explore" { // its file is not one of flags
		return args, &settings{used: s.used}, nil
	}
	var rest, given []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if v, ok := strings.CutPrefix(args[i], "--config="); ok {
			given = append(given, v)
		} else if args[i] == "--config" && i+1 < len(args) {
			i++
			given = append(given, args[i])
		} else {
			rest = append(rest, args[i])
		}
	}
	if len(given) > 1 {
		return nil, nil, Usage("--config: given more than once: must be given once")
	}
	if len(given) == 1 {
		s.path = given[0]
	}
	if s.path == "" {
		return rest, s, nil
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return nil, nil, Usage("config: %w", err)
	}
	if s.file, err = yamlfile.Parse(s.path, text); err == nil && s.file.Root != nil {
		err = s.read()
	}
	if err != nil {
		return nil, nil, Usage("config %w", err)
	}
	return rest, s, nil
}

// read takes the values of the keys.
func (s *settings) read() error {
	if root := s.file.Root; root.Kind != yaml.MappingNode {
		return s.file.Fault(root, "", "invalid value "+yamlfile.Written("", root)+": must be flags and their values, such as clock: manual")
	}
	return s.file.Decode(&s.values)
}

// Validate is part of kong.Resolver.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve returns the value of a flag, nil when the environment has one. Values are texts as
// on the command line: the parser of the flag reads them.
func (s *settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	node, ok := s.values[flag.Name]
	if !ok || slices.ContainsFunc(flag.Envs, func(name string) bool { _, ok := os.LookupEnv(name); return ok }) {
		return nil, nil //nolint:nilnil // kong's way to say that there is none
	}
	value := target(&node)
	s.used[flag.Name] = true
	if value.ShortTag() == "!!null" {
		return nil, s.fault(flag.Name, "missing value: must be "+formOf(flag))
	}
	switch kind := flag.Target.Kind(); {
	case kind == reflect.Map && value.Kind == yaml.MappingNode:
		texts := map[string]any{}
		for i := 0; i+1 < len(value.Content); i += 2 {
			texts[value.Content[i].Value] = target(value.Content[i+1]).Value
		}
		if !slices.ContainsFunc(value.Content, notText) {
			return texts, nil
		}
	case kind == reflect.Slice && value.Kind == yaml.SequenceNode:
		texts := make([]any, len(value.Content))
		for i, item := range value.Content {
			texts[i] = target(item).Value
		}
		if !slices.ContainsFunc(value.Content, notText) {
			return texts, nil
		}
	case kind != reflect.Map && !notText(value):
		return value.Value, nil
	}
	given := "invalid value " + yamlfile.Written("", value) + ": "
	if mask.Secret(flag.Name) || flag.Name == "account" {
		given = "" // it has a credential
	}
	return nil, s.fault(flag.Name, given+"must be "+formOf(flag))
}

// target is the node that an alias refers to, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// notText reports whether a value is none of text, number, true and false.
func notText(node *yaml.Node) bool {
	node = target(node)
	return node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null"
}

// formOf is the form of a flag's value in a settings file.
func formOf(flag *kong.Flag) string {
	switch flag.Target.Kind() {
	case reflect.Map:
		return "a mapping of strings to strings"
	case reflect.Slice:
		return "a string or a list of strings"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Uint64, reflect.Float64:
		return "a number"
	}
	return "a string"
}

// fault is an error at a key of the file. In a list, it is at the element that the text quotes.
func (s *settings) fault(key, text string) error {
	node := s.values[key]
	at := &node
	for _, item := range node.Content {
		if node.Kind == yaml.SequenceNode && item.Kind == yaml.ScalarNode && strings.Contains(text, strconv.Quote(item.Value)) {
			at = item
			break
		}
	}
	return Usage("config %w", s.file.Fault(at, key, text))
}

// flagError matches an error about a flag, such as `--clock: invalid value ...`.
var flagError = regexp.MustCompile(`^--([a-z][a-z0-9-]*): `)

// placed puts the file and the line into an error about a flag whose value comes from the file.
func (s *settings) placed(err error) error {
	if err == nil {
		return nil
	}
	m := flagError.FindStringSubmatch(err.Error())
	if m == nil || !s.used[m[1]] {
		return err
	}
	code := ExitFailed
	if coded, ok := errors.AsType[*Failure](err); ok {
		code = coded.Code
	}
	return Fail(code, s.fault(m[1], strings.TrimPrefix(err.Error(), m[0])))
}

// unknown refuses keys that are not flags of the command.
func (s *settings) unknown(parsed *kong.Context) error {
	var known []string
	for _, flag := range parsed.Flags() {
		if IsSetting(flag.Name) {
			known = append(known, flag.Name)
		}
	}
	command, _, _ := strings.Cut(parsed.Command(), " <")
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if !slices.Contains(known, key) {
			return s.fault(key, fmt.Sprintf("unknown key: must be a flag of `understudy %s`%s", command, similar.DidYouMean(key, known)))
		}
	}
	return nil
}

// IsSetting reports whether a flag may be a key of a settings file.
func IsSetting(flag string) bool {
	return !slices.Contains([]string{"config", "help", "version"}, flag)
}

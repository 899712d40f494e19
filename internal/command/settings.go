package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"gopkg.in/yaml.v3"
)

// settings is the file given with --config: flag names and values.
type settings struct {
	file   string
	values map[string]any
}

// configFile takes --config FILE out of the arguments and reads it.
func configFile(args []string) ([]string, *settings, error) {
	s := &settings{file: os.Getenv("UNDERSTUDY_CONFIG")}
	var rest []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if v, ok := strings.CutPrefix(args[i], "--config="); ok {
			s.file = v
		} else if args[i] == "--config" && i+1 < len(args) {
			i++
			s.file = args[i]
		} else {
			rest = append(rest, args[i])
		}
	}
	if s.file == "" {
		return rest, s, nil
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, nil, Usage("config: %w", err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&s.values); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, Usage("config %s: %w", s.file, err)
	}
	return rest, s, nil
}

// Validate is part of kong.Resolver.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve gives kong the value of a flag, unless the environment has one. Lists
// and maps hold texts, as on the command line.
func (s *settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	v, ok := s.values[flag.Name]
	if !ok || slices.ContainsFunc(flag.Envs, func(name string) bool { _, ok := os.LookupEnv(name); return ok }) {
		return nil, nil //nolint:nilnil // kong's way to say that there is none
	}
	switch v := v.(type) {
	case []any:
		parts := make([]any, len(v))
		for i, one := range v {
			parts[i] = fmt.Sprint(one)
		}
		return parts, nil
	case map[string]any:
		parts := make(map[string]any, len(v))
		for name, one := range v {
			parts[name] = fmt.Sprint(one)
		}
		return parts, nil
	default:
		return fmt.Sprint(v), nil
	}
}

// unknown refuses keys that are no flags of the command.
func (s *settings) unknown(parsed *kong.Context) error {
	known := map[string]bool{}
	for _, flag := range parsed.Flags() {
		known[flag.Name] = true
	}
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if !known[key] || slices.Contains([]string{"config", "help", "version"}, key) {
			return fmt.Errorf("config %s: unknown key %q; accepted are the flags of `understudy %s`", s.file, key, parsed.Command())
		}
	}
	return nil
}

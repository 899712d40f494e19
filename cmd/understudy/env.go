package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver"
)

// EnvCmd prints the environment that clients of a running stand-in need:
//
//	eval "$(understudy env)"
type EnvCmd struct {
	remote `embed:""`

	All    bool   `env:"-" help:"Also print what only few clients need: ids, management, regions, and neutral names."`
	Dotenv bool   `xor:"format" env:"-" help:"Print NAME=VALUE lines, for a .env file."`
	JSON   bool   `name:"json" xor:"format" env:"-" help:"Print one JSON object, as -o json does."`
	Output string `short:"o" default:"auto" enum:"auto,json" env:"-" help:"Format: auto (the lines for a shell or a file) or json."`
}

// Run prints the variables.
func (c *EnvCmd) Run(e *env) error {
	vars, err := c.environment(e)
	if err != nil {
		return err
	}
	if !c.All {
		vars = credentials(vars)
	}
	if c.JSON || c.Output == "json" {
		return e.printJSON(byName(vars))
	}
	var b strings.Builder
	for _, v := range vars {
		if c.Dotenv {
			fmt.Fprintf(&b, "%s=%s\n", v.Name, dotenvValue(v.Value))
		} else {
			fmt.Fprintf(&b, "export %s=%s\n", v.Name, clip.Shell(v.Value))
		}
	}
	_, err = fmt.Fprint(e.out, b.String())
	return err
}

// byName has the values of variables.
func byName(vars []mockserver.EnvVar) map[string]string {
	out := map[string]string{}
	for _, v := range vars {
		out[v.Name] = v.Value
	}
	return out
}

// environment asks the server for the variables. It replaces the server's URL by --url, which
// may be a mapped port, unless the server advertises a URL.
func (c *EnvCmd) environment(e *env) ([]mockserver.EnvVar, error) {
	var account struct {
		URL        string
		Advertised bool
		Env        []mockserver.EnvVar
	}
	if err := c.describe(e, &account); err != nil {
		return nil, err
	}
	if account.Advertised {
		return account.Env, nil
	}
	own := c.URL.base()
	for i, v := range account.Env {
		if rest, ok := strings.CutPrefix(v.Value, account.URL); ok && (rest == "" || rest[0] == '/') {
			account.Env[i].Value = own + rest
		}
	}
	return account.Env, nil
}

// dotenvValue is a value for a .env file: unquoted if all readers of them agree on it.
func dotenvValue(text string) string {
	if clip.Shell(text) == text {
		return text
	}
	return strconv.Quote(text)
}

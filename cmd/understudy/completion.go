package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
)

// CompletionCmd prints the completion script for a shell:
//
//	source <(understudy completion bash)
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// bashScript asks the program that was typed for the words, so that ids are those of the running server.
const bashScript = `_understudy() {
  local IFS=$'\n' words=("${COMP_WORDS[@]:1:$COMP_CWORD}")
  COMPREPLY=($("${COMP_WORDS[0]/#\~/$HOME}" complete -- "${words[@]}" 2>/dev/null | cut -f1))
}
complete -o default -F _understudy understudy
`

// completionScripts are the scripts by shell. zsh reads the script for bash.
var completionScripts = map[string]string{
	"bash": bashScript,
	"zsh":  "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\nautoload -U +X bashcompinit && bashcompinit\n" + bashScript,
	"fish": "complete -c understudy -f -a '(set -l words (commandline -opc) (commandline -ct); $words[1] complete -- $words[2..] 2>/dev/null)'\n",
}

// Run prints the script.
func (c *CompletionCmd) Run(e *env) error {
	_, err := fmt.Fprint(e.out, completionScripts[c.Shell])
	return err
}

// CompleteCmd prints what may follow the words of a command line, of which the last one is
// incomplete: a word per line, with its meaning after a tab.
type CompleteCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words after the name of the program, behind --."`
}

// completionLimit is how long completion waits for a server.
const completionLimit = time.Second

// Run prints the words.
func (c *CompleteCmd) Run(e *env, all *cli, k *kong.Kong) error {
	words := withoutDashes(c.Words)
	if len(words) == 0 {
		words = []string{""}
	}
	typed, last := words[:len(words)-1], words[len(words)-1]
	for _, line := range candidates(e, &all.Ctl, k.Model.Node, typed, last) {
		if strings.HasPrefix(line, last) {
			if _, err := fmt.Fprintln(e.out, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutDashes are the words behind --, or all.
func withoutDashes(words []string) []string {
	if len(words) > 0 && words[0] == "--" {
		return words[1:]
	}
	return words
}

// candidates are the words that may follow typed ones: values of a flag, flags, commands and ids.
func candidates(e *env, c *CtlCmd, node *kong.Node, typed []string, last string) (list []string) {
	var waits *kong.Flag // a flag before its value
	arguments := 0
	for _, word := range typed {
		next, rest := command.Find(node, []string{word})
		name, value, given := strings.Cut(word, "=")
		switch {
		case waits != nil:
			setServer(&c.remote, waits.Name, word)
			waits = nil
		case strings.HasPrefix(word, "-"):
			if flag := flagNamed(node, name); flag != nil && given {
				setServer(&c.remote, flag.Name, value)
			} else if flag != nil && !flag.IsBool() {
				waits = flag
			}
		case len(rest) == 0 && arguments == 0:
			node = next
		default:
			arguments++
		}
	}
	if waits != nil {
		return append(valuesOf(waits.Value), idsAt(e, c, waits.Tag)...)
	}
	if strings.HasPrefix(last, "-") {
		for _, flags := range node.AllFlags(true) {
			for _, f := range flags {
				list = append(list, "--"+f.Name+"\t"+f.Help)
			}
		}
		return list
	}
	for _, child := range visibleCommands(node) {
		if arguments == 0 {
			list = append(list, child.Name+"\t"+child.Help)
		}
	}
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	if arguments < len(node.Positional) {
		arg := node.Positional[arguments]
		list = append(append(list, valuesOf(arg)...), idsAt(e, c, arg.Tag)...)
	}
	return append(list, idsAt(e, c, node.Tag)...)
}

// valuesOf are the values of a flag or an argument that has a list of them.
func valuesOf(v *kong.Value) []string {
	return slices.DeleteFunc(v.EnumSlice(), func(value string) bool { return value == "" })
}

// idsAt are the words for a flag, an argument or a command: ids from the running server, and others.
func idsAt(e *env, c *CtlCmd, tag *kong.Tag) []string {
	if !tag.Has("ids") {
		return nil
	}
	ctx, cancel := context.WithTimeout(e.ctx, completionLimit)
	defer cancel()
	return c.idsOf(&env{ctx: ctx, out: e.out, err: io.Discard}, tag.Get("ids"))
}

// setServer takes the value of a flag that says which server to ask.
func setServer(c *remote, flag, value string) {
	switch flag {
	case "url":
		_ = c.URL.UnmarshalText([]byte(value)) // an invalid one is reported by the command
	case "control-token":
		c.Token = value
	case "account":
		c.Account = value
	case "ca-file":
		c.CAFile = value
	}
}

// flagNamed is a flag of a command, or of the commands above it.
func flagNamed(node *kong.Node, name string) *kong.Flag {
	for _, flags := range node.AllFlags(false) {
		for _, f := range flags {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) || slices.Contains(f.Aliases, strings.TrimPrefix(name, "--")) {
				return f
			}
		}
	}
	return nil
}

// visibleCommands are the commands that are not hidden.
func visibleCommands(node *kong.Node) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(node.Children), func(child *kong.Node) bool { return child.Hidden })
}

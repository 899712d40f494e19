package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// CompletionCmd prints the completion script for a shell:
//
//	source <(understudy completion bash)
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script. zsh reads the script for bash.
func (c *CompletionCmd) Run(e *env, k *kong.Kong) error {
	var b strings.Builder
	switch c.Shell {
	case "fish":
		fishCompletion(&b, k.Model.Node, nil)
	case "zsh":
		b.WriteString("(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\nautoload -U +X bashcompinit && bashcompinit\n")
		fallthrough
	default:
		b.WriteString("_understudy() {\n  local before=\"${COMP_WORDS[*]:1:$((COMP_CWORD-1))}\" words=''\n  case \"$before \" in\n")
		bashCompletion(&b, k.Model.Node, nil)
		b.WriteString("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o default -F _understudy understudy\n")
	}
	_, err := fmt.Fprint(e.out, b.String())
	return err
}

// bashCompletion writes a case for each command, longer paths first, because the first match
// applies.
func bashCompletion(b *strings.Builder, node *kong.Node, path []string) {
	for _, child := range visibleCommands(node) {
		bashCompletion(b, child, append(path, child.Name))
	}
	fmt.Fprintf(b, "    %s*) words='%s' ;;\n", strings.Join(append(path, ""), `\ `), strings.Join(completionWords(node), " "))
}

// visibleCommands are the commands that are not hidden.
func visibleCommands(node *kong.Node) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(node.Children), func(child *kong.Node) bool { return child.Hidden })
}

// completionWords are the commands and flags that may follow a command.
func completionWords(node *kong.Node) []string {
	var list []string
	for _, child := range visibleCommands(node) {
		list = append(list, child.Name)
	}
	for _, flags := range node.AllFlags(true) {
		for _, f := range flags {
			list = append(list, "--"+f.Name)
		}
	}
	return list
}

func fishCompletion(b *strings.Builder, node *kong.Node, path []string) {
	condition := "__fish_use_subcommand"
	if len(path) > 0 {
		condition = "__fish_seen_subcommand_from " + path[len(path)-1]
	}
	for _, child := range visibleCommands(node) {
		fmt.Fprintf(b, "complete -c understudy -f -n '%s' -a %s -d '%s'\n", condition, child.Name, strings.ReplaceAll(child.Help, "'", ""))
		fishCompletion(b, child, append(path, child.Name))
	}
	for _, f := range node.Flags {
		fmt.Fprintf(b, "complete -c understudy -n '%s' -l %s -d '%s'\n", condition, f.Name, strings.ReplaceAll(f.Help, "'", ""))
	}
}

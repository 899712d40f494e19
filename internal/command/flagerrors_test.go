package command

import (
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestFlagErrors runs command lines with one mistake each.
func TestFlagErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"serve --seed x", `--seed: invalid value "x": must be an integer of 0 or more`},
		{"serve --parallel 1.5", `--parallel: invalid value "1.5": must be an integer`},
		{"serve --parallel -3", `--parallel: missing value before "-3": a value that starts with - must be written as --parallel="-3"`},
		{"serve --price x", `--price: invalid value "x": must be a number`},
		{"serve --lag soon", `--lag: invalid value "soon": must be a duration such as 500ms, 30s or 1h30m`},
		{"serve --rewrite x", `--rewrite: invalid value "x": must be two values with = between them`},
		{"serve --strict=perhaps", `--strict: invalid value "perhaps": must be true or false`},
		{"serve --clock slow", `--clock: invalid value "slow": must be one of real, manual`},
		{"serve --name a --name b", `--name: given more than once: must be given once`},
		{"serve --name a --name=a", `--name: given more than once: must be given once`},
		{"serve --strict --no-strict", `--strict: given more than once: must be given once`},
		{"serve --rewrite a=b --rewrite a=c", `--rewrite: a name is given more than once: each name must have one value`},
		{"serve --config a --config b", `--config: given more than once: must be given once`},
		{"serve --config=a --config b", `--config: given more than once: must be given once`},
		{"serve --name", `--name: missing value`},
		{"serve --kv-url redis://x", `unknown flag --kv-url; removed: the key-value store is always in the process; a REST proxy, such as serverless-redis-http, serves the same interface for a Redis server`},
		{"serve extra", "unexpected argument extra; `understudy serve --help` lists the flags"},
		{"ctl noun x", "unknown command x; `understudy ctl noun --help` lists the commands"},
		{"ctl noun logs", "unknown command logs; use `understudy ctl tail`"},
		{"serve --rewrite", `--rewrite: missing value`},
		{"serve --stubs", `--stubs: missing value`},
		{"relay", `--relay-token: missing: must have a value`},
		{"serv", `unknown command serv, did you mean "serve"?`},
		{"ctl mesages", `unknown command mesages, did you mean "messages"?`},
		{"ctl advance", "missing argument <by>, such as `understudy ctl advance 24h`"},
		{"ctl logs", "unknown command logs; use `understudy ctl tail`"},
		{"serve --strictest", `unknown flag --strictest, did you mean "--strict"?`},
		{"serve --prices", `unknown flag --prices, did you mean "--price"?`},
		{"serve --parallelism 3", `unknown flag --parallelism, did you mean "--parallel"?`},
		{"serve --all", "unknown flag --all; `understudy serve --help` lists the flags"},
		{"serve --port 3", "unknown flag --port; use --addr 127.0.0.1:PORT"},
		{"ctl advance -5m", `unknown flag -5: an argument that starts with - must come after --`},
		{"ctl advance --quickly", "unknown flag --quickly; `understudy ctl advance --help` lists the flags"},
		{"ctl help", "unknown command help; `understudy ctl --help` lists the commands"},
		{"help", "unknown command help; `understudy --help` lists the commands"},
		{"ctl fault x", `on: invalid value "x": must be one of api, delivery`},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var model struct {
				Serve struct {
					Seed     uint64
					Parallel int
					Price    float64
					Lag      time.Duration
					Rewrite  map[string]string
					Strict   bool   `negatable:""`
					Clock    string `enum:"real, manual" default:"real"`
					Name     string
					Stubs    []string
				} `cmd:""`
				Relay struct {
					RelayToken string `required:""`
				} `cmd:""`
				Ctl struct {
					Noun struct {
						Verb struct{} `cmd:""`
					} `cmd:"" aliases:"nouns"`
					Messages struct{} `cmd:""`
					Advance  struct {
						By string `arg:""`
					} `cmd:"" example:"understudy ctl advance 24h"`
					Fault struct {
						On string `arg:"" optional:"" enum:"api,delivery," default:""`
					} `cmd:""`
				} `cmd:""`
			}
			var out, errs strings.Builder
			code := (&Program{Name: "understudy", CLI: &model}).Run(strings.Fields(c.args), &out, &errs)
			expect.Equal(t, "exit code", code, ExitUsage)
			expect.Equal(t, "error", errs.String(), "understudy: "+c.want+"\n")
		})
	}
}

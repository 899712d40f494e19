package main

import (
	"os/exec"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// recipe is how a program of a page is started, for a language without a test of its own.
type recipe struct {
	ready []string // command that succeeds if the language and the packages of the program are installed
	start string
	port  string
}

// recipes are the programs with the mark "run by TestClientPagesRecipes", by their language.
// Each publishes to itself, and verifies the signature of the delivery.
var recipes = map[string]recipe{
	"php":  {[]string{"php", "-r", "curl_version();"}, "php -S 127.0.0.1:3004 shop.php", "3004"},
	"ruby": {[]string{"ruby", "-e", `require "jwt"; require "sinatra/base"`}, "ruby shop.rb", "3003"},
}

// TestClientPagesRecipes runs the programs of pages in languages that few machines have.
func TestClientPagesRecipes(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	build(t)
	found := 0
	for _, page := range pageFiles(t) {
		for _, b := range pageBlocks(t, page) {
			if b.mark != "run by TestClientPagesRecipes" {
				continue
			}
			found++
			t.Run(b.language, func(t *testing.T) {
				t.Parallel()
				r := recipes[b.language]
				if out, err := exec.CommandContext(t.Context(), r.ready[0], r.ready[1:]...).CombinedOutput(); err != nil {
					programs.SkipHere(t, "the recipe in "+b.language+" is NOT tested: "+err.Error()+" "+string(out))
				}
				b.mark = ""
				at := "http://127.0.0.1:" + r.port
				runPage(t, page, []pageBlock{
					{language: "sh", text: "understudy serve\n"},
					b,
					{language: "sh", text: `eval "$(understudy env)"
` + r.start + ` >program.log 2>&1 &
curl -sS --retry 60 --retry-connrefused --retry-delay 1 -X POST ` + at + `/orders -d '{}'
curl -sS http://127.0.0.1:8080/_understudy/await -d '{"on":"deliveries","url":"` + at + `/ship","status":200}'
curl -sS -o unsigned -w '%{http_code}' -X POST ` + at + `/ship -H 'Upstash-Signature: a.b.c' -d '{}'
kill $!
`},
					{language: "text", text: "..." + `"count":1` + "...\n...401...\n"},
				})
			})
		}
	}
	expect.Equal(t, "recipes in the pages", found, len(recipes))
}

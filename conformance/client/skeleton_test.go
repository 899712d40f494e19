package client_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// acme is a library for the first adapter.
const acme = `
export const version = "1";
export class AcmeError extends Error {}
export class Receiver {}
export class Client {
  constructor({ baseUrl, token }) { Object.assign(this, { baseUrl, token }); }
  async publish({ url, body, headers }) {
    const r = await fetch(this.baseUrl + "/v2/publish/" + url, { method: "POST", body, headers: { Authorization: "Bearer " + this.token, ...headers } });
    if (!r.ok) throw new AcmeError(r.status);
    return r.json();
  }
}
`

func TestTheFirstAdapterWorksWithALibrary(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the first adapter is NOT tried", "node")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"adapter.mjs": string(client.Skeleton), "node_modules/acme/index.mjs": acme,
		"node_modules/acme/package.json": `{"name": "acme", "version": "1.0.0", "exports": "./index.mjs"}`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	session, err := client.Start(t.Context(), client.Config{Command: "node " + filepath.Join(dir, "adapter.mjs"), CallTimeout: effort.Wait(client.DefaultCallTimeout), Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(t.Context())
	cases, err := client.Cases()
	if err != nil {
		t.Fatal(err)
	}
	bearer := cases[slices.IndexFunc(cases, func(c client.Case) bool { return c.ID == "connection/bearer:publish" })]
	result := session.Run(t.Context(), &bearer)
	expect.Equal(t, "verdict: "+result.Detail, result.Verdict, report.Pass)
}

//go:build browser

package ui_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestReadingJSON reads a JSON body: it can be folded, searched and copied, and base64 in it
// is decoded.
func TestReadingJSON(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	held := base64.StdEncoding.EncodeToString([]byte(`{"paid":true,"note":"<script>window.owned=1</script>"}`))
	body := fmt.Sprintf(`{"order":7,"big":12345678901234567890,"lines":[{"sku":"a<b>\"c\"","n":1.50},{"sku":"d","n":2}],"deep":{"a":{"b":{"c":{"d":"hidden treasure"}}}},"none":null,"empty":[],"eventData":%q,"word":"password"}`, held)
	id := u.Publish("https://app.test/json", []byte(body))
	text := u.Publish("https://app.test/base64", []byte(held))
	deep := u.Publish("https://app.test/deep", []byte(strings.Repeat(`{"a":`, 60)+"1"+strings.Repeat("}", 60)))
	u.Settle()
	b := look(t, u, "ui/messages/"+id)
	content := `[...document.querySelectorAll(".content.json")].at(-1)`
	b.see(`"order": 7,`)
	b.see(`"paid": true`)
	b.unharmed("JSON with markup")
	t.Run("the copy is the body", func(t *testing.T) {
		var got, want any
		copied := ask[string](b, `bodyText(`+content+`)`)
		if err := json.Unmarshal([]byte(copied), &got); err != nil {
			t.Fatalf("%v: %s", err, copied)
		}
		_ = json.Unmarshal([]byte(body), &want)
		if !reflect.DeepEqual(got, want) || !strings.Contains(copied, "12345678901234567890") {
			t.Errorf("got %s, want %s", copied, body)
		}
		if !strings.Contains(copied, "\n  \"lines\": [\n    {\n      \"sku\"") {
			t.Errorf("got %s, want two spaces for each level", copied)
		}
	})
	t.Run("words are not decoded", func(t *testing.T) {
		if got := ask[int](b, content+`.querySelectorAll(".decoded").length`); got != 1 {
			t.Errorf("decoded texts: got %d, want 1", got)
		}
	})
	t.Run("find unfolds the lines that it finds", func(t *testing.T) {
		open := `[...` + content + `.querySelectorAll(".s")].find((s) => s.textContent.includes("treasure")).checkVisibility()`
		if ask[bool](b, open) {
			t.Error("the fourth level is open at first")
		}
		b.do("find", evaluate(`{ const f = [...document.querySelectorAll("[data-find]")].at(-1); f.value = 'Hidden Treasure'; f.dispatchEvent(new Event("input", {bubbles: true})); }`))
		b.holds("it is open", open)
		b.see("1 found")
		b.do("find a key and its value", evaluate(`{ const f = [...document.querySelectorAll("[data-find]")].at(-1); f.value = '"n": 2'; f.dispatchEvent(new Event("input", {bubbles: true})); }`))
		b.see("1 found")
	})
	t.Run("the whole body can be folded", func(t *testing.T) {
		b.do("fold", evaluate(`[...document.querySelectorAll("[data-fold]")].at(-1).click()`))
		b.holds("it is folded", content+`.innerText.trim() === "{"`)
	})
	t.Run("60 levels are folded too", func(t *testing.T) {
		b.visit("ui/messages/" + deep)
		b.holds("it has lines to fold", content+`.querySelectorAll("details").length === 60`)
	})
	t.Run("a body that is base64", func(t *testing.T) {
		b.visit("ui/messages/" + text)
		b.see("decoded from base64")
		b.see(`"paid": true`)
	})
}

// TestReadingInParts reads bodies that are too large for one page.
func TestReadingInParts(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{MaxBody: 16 << 20})
	u.Script(mockserver.Stub{URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "200", Body: strings.Repeat("answer ", 20_000)}}})
	var long strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&long, "%06d é\n", i)
	}
	large := u.Publish("https://app.test/large", []byte(long.String()))
	binary := u.Publish("https://app.test/binary", []byte(strings.Repeat("\x00\xff\x10\x80", 5000)))
	u.Settle()
	t.Run("no page has the whole body", func(t *testing.T) {
		for _, path := range []string{"ui/messages/" + large, "ui/body/messages/" + large, "ui/body/messages/" + large + "?part=5", "ui/body/messages/" + large + "?place=response-1"} {
			page := request(t, u, http.MethodGet, "/_understudy/"+path, "")
			if n := len(page); n > 200<<10 {
				t.Errorf("%s: got %d KiB, want at most 200", path, n>>10)
			}
		}
	})
	t.Run("the parts add up to the whole body", func(t *testing.T) {
		var got strings.Builder
		for part, more := 1, true; more; part++ {
			page := read(t, u, fmt.Sprintf("ui/body/messages/%s?part=%d", large, part))
			got.WriteString(page.at("view").first("pre", "content").FirstChild.Data)
			more = strings.Contains(page.at("view").text(), "Next part")
		}
		if got.String() != long.String() {
			t.Errorf("got %d bytes, want the %d that were published", got.Len(), long.Len())
		}
	})
	t.Run("a part of a binary body has its offsets", func(t *testing.T) {
		text := read(t, u, "ui/body/messages/"+binary+"?part=2").at("view").text()
		if !strings.Contains(text, "00002000 00 ff 10 80") {
			t.Errorf("got %.300s, want it to begin at 00002000", text)
		}
	})
	t.Run("the message links to the parts", func(t *testing.T) {
		b := look(t, u, "ui/messages/"+large)
		b.do("open", chromedp.Click(`(//section[@class="sent"]//a[normalize-space()="read all of it in parts"])[1]`, chromedp.NodeVisible))
		b.see("part 1 of ")
		b.click("Next part")
		b.see("part 2 of ")
	})
	t.Run("bodies of requests are read in parts", func(t *testing.T) {
		request(t, u, http.MethodPost, "/v2/publish/https://app.test/again", long.String())
		link := ""
		for _, a := range read(t, u, "ui/requests").all("a", "") {
			if a.text() == "read all of it in parts" && link == "" {
				link = strings.TrimPrefix(a.is("href"), "/_understudy/")
			}
		}
		var got strings.Builder
		for part, more := 1, true; more; part++ {
			page := read(t, u, fmt.Sprintf("%s&part=%d", link, part)).at("view")
			got.WriteString(page.first("pre", "content").FirstChild.Data)
			more = strings.Contains(page.text(), "Next part")
		}
		if got.String() != long.String() {
			t.Errorf("got %d bytes, want the %d that were published", got.Len(), long.Len())
		}
	})
	for path, want := range map[string]string{"requests/999?place=request": "not found; the journal keeps the latest requests only", "requests/x?place=request": "not found", "messages/" + large + "?place=request-9": "not found; the journal keeps the latest attempts only", "nothing/x": "must be", "messages/none": "not found"} {
		t.Run(path, func(t *testing.T) {
			if page := request(t, u, http.MethodGet, "/_understudy/ui/body/"+path, ""); !strings.Contains(page, want) {
				t.Errorf("got %.200s, want %q", page, want)
			}
		})
	}
}

// TestReadingLargeJSON folds JSON that is too large for one page: each large object or array is
// a link to its members.
func TestReadingLargeJSON(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	items := make([]string, 1230)
	for i := range items {
		items[i] = fmt.Sprintf(`{"sku":"sku-%d","n":[1,2,3],"a<b>":%d}`, i, i)
	}
	body := ` {"order":7,"lines":[` + strings.Join(items, ",") + `],"note":"` + strings.Repeat("long ", 1000) + `","deep":` + strings.Repeat(`{"x":`, 60) + `"treasure"` + strings.Repeat("}", 60) + `,"text":"` + strings.Repeat("é", 9000) + `"}`
	id := u.Publish("https://app.test/json", []byte(body))
	u.Settle()
	b := look(t, u, "ui/messages/"+id)
	b.do("open", chromedp.Click(`(//section[@class="sent"]//a[normalize-space()="read all of it in parts"])[1]`, chromedp.NodeVisible))
	b.see(`Body, as folded JSON`)
	b.see(`"order": 7,`)
	b.see("5 members")
	b.click("[ … ]")
	b.see("Members 1 to 100 of 1 230")
	b.see(`"sku": "sku-99"`)
	b.click("Next members")
	b.see(`"sku": "sku-100"`)
	b.visit("ui/body/messages/" + id + "?at=1&part=13")
	b.see("Members 1 201 to 1 230 of 1 230")
	b.see(`"sku": "sku-1229"`)
	b.click("all of it")
	b.see("5 members")
	place := ""
	for range 60 {
		if strings.Contains(read(t, u, "ui/body/messages/"+id+"?at="+place).at("view").text(), "treasure") {
			break
		}
		place = strings.TrimPrefix(place+"."+map[bool]string{true: "3", false: "0"}[place == ""], ".")
	}
	expect.Contains(t, "the deepest member", read(t, u, "ui/body/messages/"+id+"?at="+place).at("view").text(), `"treasure"`)
	for _, at := range []string{"9", "x", "0", "1.1230", "-1"} {
		expect.Contains(t, "a place that does not exist", request(t, u, http.MethodGet, "/_understudy/ui/body/messages/"+id+"?at="+at, ""), "must be the place of an object or array in the body")
	}
	b.click("Show the body as text")
	b.see("Body, part 1 of 2")
	b.click("Show the body as folded JSON")
	b.see("5 members")
}

// TestTimesInTheLocalZone switches the zone of all times, and back.
func TestTimesInTheLocalZone(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 23, 30, 0, 0, time.UTC)})
	u.Stub("*", 200)
	u.Publish("https://app.test/one", nil, "Svc-Delay: 2h")
	u.Settle()
	b := look(t, u, "")
	b.do("be in Berlin", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
		return err
	}))
	b.visit("")
	server := read(t, u, "").at("view")
	b.holds("the clock is in UTC", `/^2 Mar (2026 )?23:30:00$/.test(document.querySelector("#top time").innerText)`)
	for _, at := range server.all("time", "") {
		plain := strings.Fields(at.text())[0]
		b.holds("the script writes times in UTC as the server does: "+plain, `document.querySelector("#view").innerText.includes(`+quote(plain)+`)`)
	}
	b.click("UTC: show local time")
	b.holds("the clock is in the zone", `/^3 Mar (2026 )?00:30:00$/.test(document.querySelector("#top time").innerText)`)
	b.see("02:30:00.000") // of the next timer
	b.visit("ui/messages")
	b.holds("the clock is in the zone", `/^3 Mar (2026 )?00:30:00$/.test(document.querySelector("#top time").innerText)`)
	b.visit("ui/statistics?period=1h")
	b.see("3 Mar 00:")
	b.click("Europe/Berlin: show UTC")
	b.see("2 Mar 23:")
	b.holds("the clock is in UTC", `/^2 Mar (2026 )?23:30:00$/.test(document.querySelector("#top time").innerText)`)
	b.do("forget the zone", evaluate(`localStorage.clear()`))
}

// TestTimesInSentences switches the zone of times within sentences of the server.
func TestTimesInSentences(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 23, 30, 0, 0, time.UTC)})
	u.Stub("https://down.test/*", 500)
	failed := u.Publish("https://down.test/x", []byte("2026-03-02T23:30:00Z"), "Svc-Retries: 0")
	held := u.Publish("https://down.test/y", nil, "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=1", "Svc-Delay: 1h")
	u.Settle()
	press(t, u, "flow.pause", "key", "k")
	b := look(t, u, "ui/messages/"+failed)
	b.do("be in Tokyo", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"})
		return err
	}))
	b.visit("ui/messages/" + failed)
	b.see("ended 2 Mar 2026 23:30:00 UTC")
	b.click("UTC: show local time")
	b.see("ended 3 Mar 2026 08:30:00 Asia/Tokyo")
	b.see("2026-03-02T23:30:00Z") // bodies are not converted
	for path, want := range map[string]string{
		"ui/messages/" + held: `flow-control key "k" is paused since 3 Mar 2026 08:30:00 Asia/Tokyo`,
		"ui/dlq":              "down.test/x",
		"ui/messages":         "Asia/Tokyo",
	} {
		b.visit(path)
		b.see(want)
		b.holds("no time of "+path+" is in UTC", `!/\d{4}-\d\d-\d\dT\d\d:\d\d|\d\d UTC/.test(document.querySelector("#live").innerText)`)
	}
	b.do("forget the zone", evaluate(`localStorage.clear()`))
}

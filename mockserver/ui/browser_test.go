//go:build browser

package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/inspector"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
)

// patience is the maximum real time of one step on the page.
const patience = time.Minute

// browser is one headless browser for all tests; each test has its own tab.
var browser struct {
	sync.Once
	context.Context
	stop []context.CancelFunc
	why  string
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range browser.stop {
		stop()
	}
	os.Exit(code)
}

func startBrowser() {
	path := ""
	for _, name := range []string{"chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		browser.why = "chromium is not installed: the page is NOT tested in a browser"
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	browser.stop = append(browser.stop, stop)
	browser.Context, stop = chromedp.NewContext(ctx) //nolint:fatcontext // once
	browser.stop = append([]context.CancelFunc{stop}, browser.stop...)
	if err := chromedp.Do(browser.Context); err != nil {
		browser.why = "chromium does not start: " + err.Error()
	}
}

// tab is a tab of the browser. Errors in its console fail the test, including violations
// of the content security policy.
type tab struct {
	t     testing.TB
	ctx   context.Context
	url   string
	rests bool // the page pauses after each update, as for users; in other tests it does not

	crashed   context.Context // ends when the tab crashes
	crash     context.CancelFunc
	listening sync.WaitGroup
	mu        sync.Mutex
	faults    []string
}

// look opens a view in a new tab.
func look(t testing.TB, u *mockserver.TestServer, path string) *tab {
	t.Helper()
	effort.Long(t, "needs chromium")
	browser.Do(startBrowser)
	if browser.why != "" {
		programs.SkipLoud(t, browser.why)
	}
	ctx, closeTab := chromedp.NewContext(browser.Context)
	b := &tab{t: t, ctx: ctx, url: u.URL()}
	b.crashed, b.crash = context.WithCancel(ctx)
	t.Cleanup(func() {
		closeTab() // ends the listeners
		b.listening.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, fault := range b.faults {
			t.Errorf("error in the console: %s", fault)
		}
	})
	if err := chromedp.Do(ctx, chromedp.Func(b.listen)); err != nil { // the tab lives as long as this context
		t.Fatalf("open a tab: %v", err)
	}
	b.size(1280, 900)
	b.visit(path)
	return b
}

// listen collects the messages of the console until the tab is closed.
func (b *tab) listen(_ context.Context, target *chromedp.Target) error {
	thrown := cdp.Events(b.ctx, target, runtime.ExceptionThrown)
	logged := cdp.Events(b.ctx, target, cdplog.EntryAdded)
	crashed := cdp.Events(b.ctx, target, inspector.TargetCrashed)
	b.listening.Go(func() {
		for range crashed {
			b.crash()
			return
		}
	})
	b.listening.Go(func() {
		for event, err := range thrown {
			if err != nil {
				return
			}
			b.fault(event.ExceptionDetails.Text + " " + event.ExceptionDetails.URL)
		}
	})
	b.listening.Go(func() {
		for event, err := range logged {
			if err != nil {
				return
			}
			if event.Entry.Level == "error" && !strings.Contains(event.Entry.Text, "status of 4") && !strings.Contains(event.Entry.Text, "net::ERR_") {
				b.fault(event.Entry.Text + " " + event.Entry.URL)
			}
		}
	})
	if _, err := cdp.Call(b.ctx, target, inspector.Enable, cdp.Empty{}); err != nil {
		return err
	}
	_, err := cdp.Call(b.ctx, target, cdplog.Enable, cdp.Empty{})
	return err
}

func (b *tab) fault(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, text)
}

// do runs actions; what describes them in failures.
func (b *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, effort.Wait(patience))
	defer cancel()
	stopWatching := context.AfterFunc(b.crashed, cancel) // a tab that has crashed answers nothing
	defer stopWatching()
	err := chromedp.Do(ctx, actions...)
	for err != nil && (strings.Contains(err.Error(), "Could not find node") || strings.Contains(err.Error(), "Cannot find context") || strings.Contains(err.Error(), "target navigated")) { // an update or a link has just replaced the page
		err = chromedp.Do(ctx, actions...)
	}
	switch {
	case err != nil && b.crashed.Err() != nil:
		b.t.Fatalf("%s: the tab has crashed", what)
	case err != nil:
		b.t.Fatalf("%s: %v; the page shows:\n%.3000s", what, err, b.shown())
	}
}

// shown is the text of the page, or the error if the tab does not respond.
func (b *tab) shown() string {
	ctx, cancel := context.WithTimeout(b.ctx, effort.Wait(patience))
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	if err != nil {
		return "nothing: " + err.Error()
	}
	return text
}

// ask evaluates an expression.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, effort.Wait(patience))
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return value
}

// visit opens a view, and waits until its scripts have run, which is after the first paint.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do("open "+path, chromedp.Navigate(b.url+"/_understudy/"+path), chromedp.WaitReady(chromedp.CSS("#view")))
	b.holds("the scripts have run", `typeof follower === "object"`)
	if !b.rests {
		b.do("follow at once", evaluate(`follower.restFactor = 0; follower.rested = 0`))
	}
}

// settled waits until no response is pending, so that the next click does not hit an element
// that is replaced.
func (b *tab) settled() {
	b.t.Helper()
	b.holds("nothing is in progress", `typeof follower === "object" && !follower.busy && !follower.leaving()`)
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.do("size", chromedp.EmulateViewport(width, height))
}

// theme chooses a theme, without transitions between the two.
func (b *tab) theme(name string) {
	b.t.Helper()
	b.do("theme "+name, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
		return err
	}))
}

// named is the XPath of the buttons, links and summaries with a text or a label.
func named(text string) string {
	quoted := strconv.Quote(text)
	return fmt.Sprintf(`(//button | //a | //summary)[normalize-space()=%[1]s or @aria-label=%[1]s]`, quoted)
}

// click clicks the first button, link or heading of that name, with the mouse.
func (b *tab) click(text string) {
	b.t.Helper()
	b.settled()
	b.do("click "+text, chromedp.Click(named(text)+"[1]", chromedp.NodeVisible))
}

// openClock opens the menu of the clock.
func (b *tab) openClock() {
	b.t.Helper()
	b.settled()
	b.do("open the clock", chromedp.Click(chromedp.CSS(".clock summary"), chromedp.NodeVisible))
}

// clickIn clicks inside the element with a selector.
func (b *tab) clickIn(selector, text string) {
	b.t.Helper()
	b.settled()
	b.do("click "+text+" in "+selector, chromedp.Click(fmt.Sprintf(`//*[@id=%q]//button[normalize-space()=%q]`, selector, text), chromedp.NodeVisible))
}

// clickRow opens the first row of a list.
func (b *tab) clickRow() {
	b.t.Helper()
	b.settled()
	b.do("open the first row", chromedp.Click(chromedp.CSS("[data-rows] [data-open]"), chromedp.NodeVisible))
}

// fill types into the first visible field with a label.
func (b *tab) fill(label, value string) {
	b.t.Helper()
	found := ask[bool](b, `(() => {
		const labels = [...document.querySelectorAll("label")].filter((l) => l.textContent.trim().startsWith(`+quote(label)+`));
		const field = labels.map((l) => l.querySelector("input, textarea")).find((f) => f && f.checkVisibility());
		field?.focus();
		field?.select();
		return !!field;
	})()`)
	if !found {
		b.t.Fatalf("no visible field has the label %s", label)
	}
	b.do("type into "+label, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: value})
		return err
	}))
}

// keys presses keys.
func (b *tab) keys(text string) {
	b.t.Helper()
	b.do("press "+text, chromedp.KeyEvent(text))
}

// see waits until the page shows a text, or has shown it as the message after a button, which
// disappears after seconds.
func (b *tab) see(text string) {
	b.t.Helper()
	b.holds("see "+text, fmt.Sprintf(`(document.body.innerText + " " + document.querySelector("#said")?.textContent).replace(/\s+/g, " ").includes(%s)`, quote(text)))
}

// state waits until the page shows a state.
func (b *tab) state(name string) {
	b.t.Helper()
	b.holds("state "+name, `[...document.querySelectorAll("#view .state")].some((s) => s.title === `+quote(name)+`)`)
}

// lands waits until a view is shown whose title starts with a text.
func (b *tab) lands(title string) {
	b.t.Helper()
	b.holds("land on "+title, "document.title.startsWith("+quote(title)+")")
}

// holds waits until an expression is true.
func (b *tab) holds(what, expression string) {
	b.t.Helper()
	b.do(what, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(effort.Wait(patience))))
}

func quote(text string) string {
	b, _ := json.Marshal(text) // a string always encodes
	return string(b)
}

// shoot takes a picture and saves it in the folder of the variable SHOTS, if it is set.
func (b *tab) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, effort.Wait(patience))
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil || len(picture) < 1000 {
		b.t.Errorf("the picture %s has %d bytes: %v", name, len(picture), err)
	}
	file := filepath.Join(dir, name+".png")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// evaluate runs a script and ignores its result.
func evaluate(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](script)
}

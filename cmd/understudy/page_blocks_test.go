package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// The code of README.md and the pages of docs runs as a reader types it: each page in order, in an
// empty folder and a new shell, in a separate network namespace in which port 8080 is free.
//
//   - A block of sh is typed into the first terminal. If its last line starts a server,
//     that line runs in a separate terminal; a second stand-in stops the first one.
//   - A block of another language whose first line is a comment with the name of a file is
//     written to that file.
//   - A block of text after a block of sh is the output of the commands: each of its lines
//     must occur; `...` matches any text. The exit code may then have any value.
//
// A comment before a block marks an exception: `<!-- run by NAME -->` with the name of
// another test, or `<!-- not run: REASON -->`. TestPageMarks counts them. The stand-in is
// stopped before a block with `<!-- after Ctrl-C -->`.

// pageBlock is a block of code in a page.
type pageBlock struct {
	language, text, mark string
	line                 int
	stops                bool // whether the stand-in is stopped before the block
}

var (
	fencedBlock  = regexp.MustCompile("(?m)^(?:<!-- (run by \\w+|not run: [^\n]*|after Ctrl-C) -->\n)?```(\\w*)\n((?s:.*?))^```$")
	fileOfBlock  = regexp.MustCompile(`^(?:# yaml-language-server[^\n]*\n|<\?php )?(?://|#|<!--) ([\w./-]+\.\w+|\.env)(?: -->)?(?:[,:;(].*| .*)?\n`)
	startsServer = regexp.MustCompile(`^(?:make run|(?:bin/)?understudy (?:serve|proxy|replay \S+ .*--serve|ratelimit serve)|go run \./conformance/testdata/partial|node .*(?:app|server)\.m?js|(?:python3 -m )?(?:uvicorn|flask) )[^&|]*$`)
)

func pageBlocks(t *testing.T, page string) (list []pageBlock) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	expect.NoError(t, err)
	examples := readFiles(t, "../../examples/first/*order*.*")
	for _, m := range fencedBlock.FindAllSubmatchIndex(text, -1) {
		b := pageBlock{language: string(text[m[4]:m[5]]), text: string(text[m[6]:m[7]]), line: 1 + strings.Count(string(text[:m[6]]), "\n")}
		switch {
		case m[2] >= 0 && string(text[m[2]:m[3]]) == "after Ctrl-C":
			b.stops = true
		case m[2] >= 0:
			b.mark = string(text[m[2]:m[3]])
		case b.language != "sh" && slices.ContainsFunc(examples, func(file string) bool { return strings.Contains(file, b.text) }):
			b.mark = "run by TestClientReadme" // with the file that contains it
		}
		list = append(list, b)
	}
	return list
}

// readFiles returns the texts of files.
func readFiles(t *testing.T, pattern string) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	expect.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// pageFiles lists the pages, the README first.
func pageFiles(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := fs.Glob(os.DirFS("../.."), pattern)
		expect.NoError(t, err)
		pages = append(pages, found...)
	}
	return pages
}

// runnable are the languages whose blocks run, or have a mark with the reason.
var runnable = []string{"sh", "go", "js", "ts", "python"}

// TestPages runs the code of the pages that need no package registry.
func TestPages(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	for _, page := range pageFiles(t) {
		if blocks := pageBlocks(t, page); !usesClients(blocks) {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				runPage(t, page, blocks)
			})
		}
	}
}

// usesClients reports whether a page has code in JavaScript or Python that runs in order.
func usesClients(blocks []pageBlock) bool {
	return slices.ContainsFunc(blocks, func(b pageBlock) bool {
		return b.mark == "" && slices.Contains([]string{"js", "ts", "python"}, b.language)
	})
}

func needNamespaces(t *testing.T) {
	t.Helper()
	programs.Need(t, "the commands of README and docs are NOT run", "unshare", "ip", "bash", "curl")
	if out, err := exec.Command("unshare", "-rnp", "--fork", "--kill-child", "--mount-proc", "bash", "-c", "ip link set lo up && curl --version").CombinedOutput(); err != nil {
		skipLoud(t, fmt.Sprintf("no network namespaces here: the commands of README and docs are NOT run: %v: %s", err, out))
	}
}

// pageSession is a page as a bash script.
type pageSession struct {
	dir    string // of the script and of the output of its commands
	script strings.Builder
}

// prologue prepares the shell of a page.
const prologue = `set -eu
ip link set lo up
command -v sqlite3 >/dev/null || sqlite3() { # the program for the database is not everywhere, its library is
	python3 -c 'import sqlite3, sys; [print(*row, sep="|") for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2])]' "$@"
}
standin=
stop() {
	if test -n "$standin"; then kill "$standin"; wait "$standin" || true; fi
	standin=
}
begin() { # SCRIPT OUTPUT: a server in a terminal of its own; one stand-in at a time
	if grep -q serve "$1"; then stop; fi
	bash -eu -c "$(cat "$1")" >"$2" 2>&1 &
	if grep -q serve "$1"; then standin=$!; fi
	until grep -qE 'https?://' "$2"; do kill -0 $! 2>/dev/null || { cat "$2"; exit 1; }; sleep 0.1; done
}
`

// runPage runs the blocks of a page and compares what they print.
func runPage(t *testing.T, page string, blocks []pageBlock, tools ...string) {
	t.Helper()
	s := &pageSession{dir: t.TempDir()}
	s.script.WriteString(prologue)
	count := 0
	for i, b := range blocks {
		if b.mark != "" {
			continue
		}
		if b.stops {
			s.script.WriteString("stop\n")
		}
		file := fileOfBlock.FindStringSubmatch(b.text)
		switch {
		case b.language == "sh":
			s.commands(i, b.text, i+1 < len(blocks) && blocks[i+1].language == "text")
			count++
		case file != nil && b.language != "text":
			s.put(i, file[1], b.text)
		case b.language == "go" || slices.Contains(runnable, b.language):
			t.Errorf("%s:%d: a block of %s that is neither run nor marked", page, b.line, b.language)
		}
	}
	if count == 0 {
		return
	}
	if out, err := s.run(t, tools); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", page, err, out, s.last(blocks))
	}
	for i, b := range blocks[:len(blocks)-1] {
		if next := blocks[i+1]; b.mark == "" && b.language == "sh" && next.language == "text" && next.mark == "" {
			got, _ := os.ReadFile(s.name(i, "out"))
			expectLines(t, fmt.Sprintf("%s:%d", page, next.line), string(got), next.text)
		}
	}
}

func (s *pageSession) name(i int, kind string) string {
	return filepath.Join(s.dir, fmt.Sprintf("block-%d.%s", i, kind))
}

// commands adds a block of sh.
func (s *pageSession) commands(i int, text string, mayFail bool) {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	server := ""
	if last := len(lines) - 1; !mayFail && startsServer.MatchString(lines[last]) {
		server, lines = lines[last], lines[:last]
	}
	_ = os.WriteFile(s.name(i, "sh"), []byte(strings.Join(lines, "")+"\n"), 0o600)
	if mayFail {
		s.script.WriteString("set +e\n")
	}
	fmt.Fprintf(&s.script, "echo %[1]d >'%[2]s/at'; . '%[3]s' >'%[4]s' 2>&1 </dev/null\nset -e\n", i, s.dir, s.name(i, "sh"), s.name(i, "out"))
	if server != "" {
		_ = os.WriteFile(s.name(i, "server"), []byte(server), 0o600)
		fmt.Fprintf(&s.script, "begin '%s' '%s'\n", s.name(i, "server"), s.name(i, "out"))
	}
}

// put adds a block that the reader saves as a file.
func (s *pageSession) put(i int, file, text string) {
	_ = os.WriteFile(s.name(i, "file"), []byte(text), 0o600)
	fmt.Fprintf(&s.script, "mkdir -p \"$(dirname '%[1]s')\"; cp '%[2]s' '%[1]s'\n", file, s.name(i, "file"))
}

// last is the output of the last block that was started.
func (s *pageSession) last(blocks []pageBlock) string {
	at, _ := os.ReadFile(filepath.Join(s.dir, "at"))
	var i int
	if _, err := fmt.Sscan(string(at), &i); err != nil {
		return "no block was begun"
	}
	out, _ := os.ReadFile(s.name(i, "out"))
	return fmt.Sprintf("line %d:\n%s\nprinted:\n%s", blocks[i].line, blocks[i].text, out)
}

// run runs the script in an empty folder. `git clone` of the project clones this checkout.
func (s *pageSession) run(t *testing.T, tools []string) (string, error) {
	t.Helper()
	root, err := filepath.Abs("../..")
	expect.NoError(t, err)
	home, file := t.TempDir(), filepath.Join(s.dir, "script")
	git := fmt.Sprintf("[url %q]\n\tinsteadOf = https://github.com/understudy-mock/understudy\n[safe]\n\tdirectory = *\n", "file://"+root)
	for name, text := range map[string]string{file: s.script.String(), filepath.Join(home, ".gitconfig"): git} {
		expect.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	c := exec.CommandContext(t.Context(), "unshare", "-rnp", "--fork", "--kill-child", "--mount-proc", "bash", file)
	c.Dir = filepath.Join(home, "work")
	expect.NoError(t, os.Mkdir(c.Dir, 0o700))
	c.Env = append([]string{"HOME=" + home, "GOPROXY=off", "GOFLAGS=-mod=mod", "GOSUMDB=off", "GOTOOLCHAIN=local"}, tools...)
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		expect.NoError(t, err)
		c.Env = append(c.Env, name+"="+strings.TrimSpace(string(value)))
	}
	for _, tool := range tools { // node looks for packages in the parent folders
		if node, ok := strings.CutPrefix(tool, "NODE_PACKAGES="); ok {
			expect.NoError(t, os.Symlink(node, filepath.Join(home, "node_modules")))
		}
	}
	c.Env = append(c.Env, "PATH="+filepath.Dir(build(t))+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	return string(out), err
}

// expectLines fails for each line that was not printed. The columns of a table may be wider.
func expectLines(t *testing.T, where, got, want string) {
	t.Helper()
	for line := range strings.Lines(want) {
		parts := strings.Split(regexp.QuoteMeta(strings.TrimSpace(line)), `\.\.\.`)
		line = regexp.MustCompile(`  +`).ReplaceAllString(strings.Join(parts, ".*"), "  +")
		if !regexp.MustCompile(line).MatchString(got) {
			t.Errorf("%s: %q is not printed:\n%s", where, line, got)
		}
	}
}

// TestPageMarks counts the blocks that do not run in the order of their page.
func TestPageMarks(t *testing.T) {
	t.Parallel()
	run, elsewhere, not := 0, map[string]int{}, map[string]int{}
	for _, page := range pageFiles(t) {
		for _, b := range pageBlocks(t, page) {
			name, isTest := strings.CutPrefix(b.mark, "run by ")
			switch {
			case isTest:
				elsewhere[name]++
			case b.mark != "":
				not[strings.TrimPrefix(b.mark, "not run: ")]++
			case slices.Contains(runnable, b.language):
				run++
			}
		}
	}
	sources, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "grep", "--untracked", "-ho", `^func Test[A-Za-z0-9_]*`, "--", "*_test.go").Output()
	if err != nil {
		t.Skipf("git: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(elsewhere)) {
		if !slices.Contains(strings.Fields(string(sources)), name) {
			t.Errorf("a page has a block that is run by %s, which does not exist", name)
		}
	}
	t.Logf("%d blocks run in the order of their page; %v run by other tests; %v not run", run, elsewhere, not)
	for reason, n := range not {
		if notRun[reason] != n {
			t.Errorf("%d blocks are not run since %q, want %d: the table notRun has the reasons", n, reason, notRun[reason])
		}
	}
}

// notRun is the number of blocks that are not run, by reason. The numbers should only fall.
var notRun = map[string]int{
	"needs a Kubernetes cluster":                           2,
	"needs a container engine":                             4,
	"needs a published release":                            2,
	"needs a project of yours":                             1,
	"needs an application of yours":                        5,
	"needs a collector of traces":                          1,
	"needs a client of yours":                              2,
	"needs data of yours":                                  4,
	"needs a repository that is not in a package registry": 9,
}

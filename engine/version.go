package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// journalRules is the version of what commands do to the state: with other rules, a replay of a
// journal would give another state. Raise it with every such change. A command may follow the
// rules of its record (Account.settings), down to oldestRules: the journal stays readable.
const (
	journalRules = 3
	oldestRules  = 2
)

// readable refuses a journal with unknown rules.
func (c *begin) readable() error {
	if c.Rules >= oldestRules && c.Rules <= journalRules {
		return nil
	}
	return refusal.Of(ErrInvalid, "journal", "", fmt.Sprintf("written with rules %d; this version has rules %d: %s", c.Rules, journalRules, c.upgrade()))
}

// upgrade explains how to move a journal to another version of the program.
func (c *begin) upgrade() string {
	_, version, _ := strings.Cut(c.Program, " ")
	return fmt.Sprintf("replay it with version %s; to upgrade a server, start that version on the same data and stop it cleanly", cmp.Or(version, "(unknown)"))
}

// library is third-party code or data that commands use: a replay gives the
// same state only with the same version of it.
type library int

const (
	cronLibrary library = iota
	zoneData
)

// version returns the version of a library that the records were written with
// ("" if unknown), and the version in this program.
func (c *begin) version(of library) (theirs, own string) {
	if of == cronLibrary {
		return c.Cron, moduleVersion(cronModule)
	}
	return c.Zones, zoneVersion()
}

// rely notes that the state depends on a library, through an expression, such
// as a cron expression, of the object with this id. A record that another
// version of the library has computed cannot be replayed.
func (a *Account) rely(on library, what, id, expression string) {
	if !a.replaying || a.unlike != nil {
		return
	}
	theirs, own := a.settings.version(on)
	if theirs == own || unknownVersion(theirs) || unknownVersion(own) {
		return
	}
	if on == zoneData {
		theirs, own = "other time-zone data", "its own"
	}
	a.unlike = refusal.Of(ErrInvalid, what, id, fmt.Sprintf("%s was computed with %s; this version has %s: %s", expression, theirs, own, a.settings.upgrade()))
}

// nextTime is when a schedule is due after now.
func (a *Account) nextTime(id string, line state.CronLine) (time.Time, error) {
	a.rely(cronLibrary, "schedule", id, line.Expression())
	if line.Zone != time.UTC {
		a.rely(zoneData, "schedule", id, "CRON_TZ="+line.Zone.String()+" "+line.Expression())
	}
	return line.Next(a.state.Now)
}

// savedSettings are the current settings, for a snapshot that is followed by records.
func (a *Account) savedSettings() json.RawMessage {
	if a.cfg.Journal == nil {
		return nil
	}
	c := a.settings
	c.CurrentKey, c.NextKey = a.cfg.CurrentKey, a.cfg.NextKey
	return kindsByType[reflect.TypeFor[begin]()].encode(&c)
}

// resumeSettings applies the settings of a snapshot.
func (a *Account) resumeSettings(text json.RawMessage) error {
	if len(text) == 0 {
		return nil
	}
	var c begin
	if err := kindsByType[reflect.TypeFor[begin]()].decode(text, &c); err != nil {
		return refusal.Of(ErrInvalid, "snapshot is damaged", "", "settings: "+err.Error())
	}
	a.configure(c)
	a.cfg.CurrentKey, a.cfg.NextKey = c.CurrentKey, c.NextKey
	return nil
}

// The modules whose versions a journal depends on.
const (
	cronModule    = "github.com/adhocore/gronx"
	programModule = "github.com/understudy-mock/understudy"
)

// noVersion replaces the version of a module in programs that do not know it, such as test binaries.
const noVersion = "(devel)"

// moduleVersion is a module and its version in this program.
func moduleVersion(path string) string { return path + " " + cmp.Or(moduleVersions()[path], noVersion) }

func unknownVersion(module string) bool {
	return module == "" || strings.HasSuffix(module, " "+noVersion)
}

var moduleVersions = sync.OnceValue(func() map[string]string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			versions[m.Path] = m.Version
		}
	}
	return versions
})

// zoneVersion is a fingerprint of the time-zone data: the offsets of zones
// whose rules change often, for each quarter from 1970 to 2040.
var zoneVersion = sync.OnceValue(func() string {
	h := fnv.New64a()
	for name := range strings.FieldsSeq("Africa/Cairo Africa/Casablanca America/Mexico_City America/New_York America/Sao_Paulo Asia/Amman Asia/Gaza Asia/Tehran Europe/Berlin Europe/Istanbul Europe/Moscow Pacific/Apia") {
		zone, err := time.LoadLocation(name)
		if err != nil {
			continue
		}
		for at := time.Unix(0, 0).In(zone); at.Year() < 2040; at = at.AddDate(0, 3, 0) {
			_, offset := at.Zone()
			_, _ = fmt.Fprintln(h, name, at.Unix(), offset) // never fails
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
})

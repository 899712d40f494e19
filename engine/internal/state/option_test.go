package state

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fullOptions returns options with every field set.
func fullOptions(t *testing.T, n int) Options {
	t.Helper()
	var o Options
	for f := range reflect.TypeFor[Options]().Fields() {
		reflect.ValueOf(&o).Elem().FieldByIndex(f.Index).Set(filled(t, f.Type, n))
	}
	return o
}

// differing returns the fields in which two options differ.
func differing(x, y Options) (fields []string) {
	for f := range reflect.TypeFor[Options]().Fields() {
		if !reflect.DeepEqual(reflect.ValueOf(x).FieldByIndex(f.Index).Interface(), reflect.ValueOf(y).FieldByIndex(f.Index).Interface()) {
			fields = append(fields, f.Name)
		}
	}
	return fields
}

func TestTheTableOfOptions(t *testing.T) {
	t.Parallel()
	t.Run("has every field once", func(t *testing.T) {
		t.Parallel()
		var want, got []string
		for f := range reflect.TypeFor[Options]().Fields() {
			want = append(want, f.Name)
		}
		for _, row := range optionTable {
			got = append(got, strings.Fields(row.fields)...)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fields of Options (-), rows of optionTable (+):\n%s", diff)
		}
	})
	t.Run("is sorted", func(t *testing.T) {
		t.Parallel()
		if !slices.IsSortedFunc(optionTable, func(x, y option) int { return strings.Compare(x.fields, y.fields) }) {
			t.Error("optionTable is not sorted")
		}
	})
	for _, row := range optionTable {
		t.Run(row.fields+" changes its own fields and no other", func(t *testing.T) {
			t.Parallel()
			full := fullOptions(t, 1)
			cleared, merged := full, Options{}
			row.clear(&cleared)
			row.merge(&merged, &full)
			for what, got := range map[string][]string{"clear": differing(cleared, full), "merge": differing(merged, Options{})} {
				if slices.Sort(got); strings.Join(got, " ") != row.fields {
					t.Errorf("%s changes %v", what, got)
				}
			}
		})
	}
}

// TestFollowersInheritByTheTable checks each field of a follower against the table.
func TestFollowersInheritByTheTable(t *testing.T) {
	t.Parallel()
	mine, theirs := fullOptions(t, 1), fullOptions(t, 2)
	mine.HeaderForward, mine.DedupContent, theirs.HeaderForward, theirs.DedupContent = true, true, true, true
	for f := range followerCount {
		unset, set := Options{}.Following(f, &theirs), mine.Following(f, &theirs)
		for _, row := range optionTable {
			var keptUnset, keptSet Options // options of a follower that sets nothing, and of one that sets its own
			row.merge(&keptUnset, &unset)
			row.merge(&keptSet, &set)
			var fromMine, fromTheirs, wantUnset, wantSet Options
			row.merge(&fromMine, &mine)
			row.merge(&fromTheirs, &theirs)
			switch row.follows[f] {
			case ownValue:
				wantSet = fromMine
			case inheritedValue:
				wantUnset, wantSet = fromTheirs, fromMine
				row.merge(&wantSet, &theirs)
			case imposedValue:
				wantUnset, wantSet = fromTheirs, fromTheirs
			case noValue:
			}
			if d := differing(keptUnset, wantUnset); d != nil {
				t.Errorf("follower %d that sets nothing: %v is wrong", f, d)
			}
			if d := differing(keptSet, wantSet); d != nil {
				t.Errorf("follower %d with its own: %v is wrong", f, d)
			}
		}
	}
}

// TestOptionsThatMayBeLargeAreCounted checks that the memory of an account includes each list,
// header and object of options.
func TestOptionsThatMayBeLargeAreCounted(t *testing.T) {
	t.Parallel()
	small := map[string]string{
		"Flow":       "a key of at most 256 bytes",
		"Redact":     "names of headers",
		"Retries":    "a number",
		"RetryDelay": "a formula of at most 512 characters",
		"Workflow":   "its header is counted, its first field is not",
	}
	for f := range reflect.TypeFor[Options]().Fields() {
		var o Options
		reflect.ValueOf(&o).Elem().FieldByIndex(f.Index).Set(filled(t, f.Type, 2))
		large := slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.Pointer}, f.Type.Kind()) && small[f.Name] == ""
		if got := o.Size() > 0; got != large {
			t.Errorf("options with %s have bytes besides their fields: got %v, want %v", f.Name, got, large)
		}
	}
}

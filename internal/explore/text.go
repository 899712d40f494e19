package explore

import (
	"fmt"
	"strings"
)

// Text describes a finding in a few lines.
func (f *Finding) Text() string {
	var b strings.Builder
	for i, breach := range f.Breaches {
		if i == 3 {
			fmt.Fprintf(&b, "      and %s\n", counted(len(f.Breaches)-i, "further difference", "further differences"))
			break
		}
		fmt.Fprintf(&b, "%s  %s\n", map[bool]string{true: "FAIL", false: "    "}[i == 0], breach.Text)
	}
	for _, c := range f.Plan {
		fmt.Fprintf(&b, "      %s at %s\n      %s\n", c.Fault, c.Point, kindOf(c.Fault).Why)
	}
	if f.Others > 0 {
		fmt.Fprintf(&b, "      %s the same\n", counted(f.Others, "further plan shows", "further plans show"))
	}
	fmt.Fprintf(&b, "      case %s, seen in %d of %d tries\n", f.ID, f.Seen, f.Tried)
	return b.String()
}

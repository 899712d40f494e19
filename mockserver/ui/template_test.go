package ui

import "testing"

func TestEveryViewHasItsTemplates(t *testing.T) {
	t.Parallel()
	for _, v := range allViews {
		if pageTemplates().Lookup(v.name) == nil {
			t.Errorf("view %s has no template", v.name)
		}
		if v.one != nil && v.load != nil && pageTemplates().Lookup(v.name+".one") == nil {
			t.Errorf("view %s has no template for one entry", v.name)
		}
	}
}

package vector_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/vector"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	const city = `{"city":"Istanbul","people":15.5,"capital":false,"geo":{"continent":"Asia","at":[41,28]},"tags":["sea","rail"],"path":"a/b"}`
	for text, want := range map[string]bool{
		"":                                  true,
		"city = 'Istanbul'":                 true,
		`city = "Istanbul"`:                 true,
		"city != 'Ankara'":                  true,
		"city = 'istanbul'":                 false,
		"people > 15":                       true,
		"people >= 15.5 and people <= 15.5": true,
		"people < -1":                       false,
		"people = '15.5'":                   false,
		"capital = false":                   true,
		"geo.continent = 'Asia'":            true,
		"geo.at[0] = 41":                    true,
		"geo.at[#-1] = 28":                  true,
		"geo.at[2] = 28":                    false,
		"city GLOB 'Ist?n*l'":               true,
		"city NOT GLOB 'A*'":                true,
		"city GLOB '[A-H]*'":                false,
		"path GLOB 'a*'":                    true,
		"city IN ('Ankara', 'Istanbul')":    true,
		"city NOT IN ('Ankara','Izmir')":    true,
		"people IN (1, 15.5)":               true,
		"tags CONTAINS 'sea'":               true,
		"tags NOT CONTAINS 'air'":           true,
		"city CONTAINS 'Ist'":               false,
		"HAS FIELD geo.continent":           true,
		"HAS NOT FIELD mayor":               true,
		"HAS FIELD mayor":                   false,
		"mayor != 'x'":                      false, // a missing field
		"mayor NOT IN ('x')":                false,
		"people > 100 OR people > 1 AND city = 'Istanbul'":   true,
		"(people > 100 OR people > 1) AND city = 'Istanbul'": true,
		"city = 'Istanbul' OR people > 1 AND capital = true": true,
		"(city = 'Istanbul' OR people > 1) AND capital=true": false,
	} {
		filter, err := vector.ParseFilter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := filter.Holds([]byte(city)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	filter, err := vector.ParseFilter("people != 3")
	if err != nil || filter.Holds(nil) {
		t.Errorf("a vector without metadata fulfils a filter: %v", err)
	}
}

func TestInvalidFilters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		" ", "city", "city =", "= 1", "city = Istanbul", "city ~ 1", "city = 'open", "(city = 1", "city = 1)", "city IN 1", "city IN (1", "city IN (1 2)",
		"city NOT = 1", "HAS city", "city = 1 AND", "city = 1 city = 2", "NOT city = 1", "1 = city", "city = 1; drop", strings.Repeat("(", 1<<20),
	} {
		if _, err := vector.ParseFilter(text); !errors.Is(err, refusal.Invalid) || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("people >= 15 AND (geo.at[#-1] = 28 OR tags NOT CONTAINS 'x')")
	f.Add("HAS NOT FIELD a OR b GLOB '[' OR c IN (1, 'x', true)")
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := vector.ParseFilter(text)
		if err == nil {
			filter.Holds([]byte(`{"a":[1,{"b":null}],"b":"x","c":true,"people":3}`))
		} else if !errors.Is(err, refusal.Invalid) {
			t.Error(err)
		}
	})
}

package codec_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// Origin is embedded by its pointer.
type Origin struct {
	Role     string `saved:",after=id"`
	CallerIP string
	URL      string
}

type message struct {
	ID string
	*Origin
	URL     string
	Due     int64  `saved:",ms"`
	DLQID   string `saved:"dlqId"`
	Retries *int
	Options struct{ Labels []string }
	Counted int `saved:"no"`
	hidden  int
}

func document(t *testing.T, m *message, shift time.Duration) string {
	t.Helper()
	var text bytes.Buffer
	c := codec.NewWriter(&text)
	c.Shift(shift)
	c.Document(func(c *codec.Codec) { codec.Members(c, m) })
	expect.NoError(t, c.Close())
	return text.String()
}

func read(text string) (m message, err error) {
	c := codec.NewReader(strings.NewReader(text))
	c.Document(func(c *codec.Codec) { codec.Members(c, &m) })
	return m, c.Close()
}

func TestADocumentFollowsFromTheType(t *testing.T) {
	t.Parallel()
	all := message{ID: "a", Origin: &Origin{"step", "10.0.0.1", "shadowed"}, URL: "u", Due: 5, DLQID: "d", Retries: new(0), Counted: 3, hidden: 4}
	t.Run("names, order and omissions follow from fields and tags", func(t *testing.T) {
		t.Parallel()
		want := `{"id":"a","role":"step","callerIp":"10.0.0.1","url":"u","due":5,"dlqId":"d","retries":0}`
		if got := document(t, &all, 0); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("a shift moves numbers that are times", func(t *testing.T) {
		t.Parallel()
		if got := document(t, &message{Origin: &Origin{}, Due: 5}, 2*time.Millisecond); got != `{"due":7}` {
			t.Errorf("got %s, want a time of 7", got)
		}
	})
	t.Run("a struct with empty values only is left out", func(t *testing.T) {
		t.Parallel()
		m := message{}
		m.Options.Labels = []string{}
		if got := document(t, &m, 0); got != `{}` {
			t.Errorf("got %s, want no members", got)
		}
	})
	t.Run("members may come in any order", func(t *testing.T) {
		t.Parallel()
		m, err := read(`{"options":{"labels":["x"]},"callerIp":"1","id":"a"}`)
		if err != nil || m.ID != "a" || m.CallerIP != "1" || len(m.Options.Labels) != 1 {
			t.Errorf("got %+v, %v", m, err)
		}
	})
	t.Run("a pointer to an embedded struct is never nil", func(t *testing.T) {
		t.Parallel()
		if m, err := read(`{}`); err != nil || m.Origin == nil {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}

func TestADamagedDocumentNamesThePlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"id":"a","id":"b"}`:           `member "id": repeated`,
		`{"counted":1}`:                 `unknown or repeated member "counted"`,
		`{"options":{"labels":["",1]}}`: `options.labels[1]: unexpected '1' at byte 26`,
		`{"due":x}`:                     `due: unexpected 'x' at byte 8`,
		`{"due":1.5}`:                   `due: number 1.5: must be a whole number of this size`,
	} {
		if _, err := read(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestARecord(t *testing.T) {
	t.Parallel()
	type command struct {
		At    time.Time
		Names []string
		Of    map[string]string
		Left  int `journal:"-"`
	}
	form := codec.RecordOf(reflect.TypeFor[command]())
	t.Run("an empty list is not nil", func(t *testing.T) {
		t.Parallel()
		want := command{Names: []string{}, Of: map[string]string{"\xff": "x"}}
		var got command
		if err := form.Decode(form.Encode(&want), &got); err != nil || !cmp.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})
	t.Run("a precise time of an earlier version is read", func(t *testing.T) {
		t.Parallel()
		var got command
		if err := form.Decode([]byte(`{"At":[1800000000,1]}`), &got); err != nil || !got.At.Equal(time.Unix(1800000000, 1)) {
			t.Errorf("got %v, %v", got.At, err)
		}
	})
}

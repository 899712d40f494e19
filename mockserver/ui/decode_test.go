package ui

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"
)

// gzipOf is gzip data with a text.
func gzipOf(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer always accepts
	_ = w.Close()
	return b.String()
}

func TestDecode(t *testing.T) {
	t.Parallel()
	base := base64.StdEncoding.EncodeToString
	long := strings.Repeat("é", mostUnzipped)
	for name, c := range map[string]struct{ text, plain, from string }{
		"base64":                          {base([]byte("order 7, Jörg >>>?")), "order 7, Jörg >>>?", "base64"},
		"base64 of the other alphabet":    {base64.URLEncoding.EncodeToString([]byte("order 7 >>>?")), "order 7 >>>?", "base64"},
		"base64 without padding":          {base64.RawStdEncoding.EncodeToString([]byte("order 77")), "order 77", "base64"},
		"base64 with wrong padding":       {"b3JkZXIgNw=", "", ""},
		"base64 with a line end":          {"b3JkZXIg\nNw==", "", ""},
		"base64 of bytes":                 {base([]byte("order 7\x00\x01")), "", ""},
		"base64 of text that is cut off":  {base([]byte("order 7 \xc3")), "", ""},
		"a word that is base64 by chance": {"password", "", ""},
		"a short word":                    {"b3JkZX", "", ""},
		"base64 of gzip":                  {base([]byte(gzipOf("order 7"))), "order 7", "base64 of gzip"},
		"base64 of gzip that is cut off":  {base([]byte(gzipOf("order 7" + strings.Repeat(" or more", 99) + " end")[:40])), "order 7 or more", "base64 of gzip"},
		"base64 of gzip of bytes":         {base([]byte(gzipOf("order \x00\x01"))), "", ""},
		"base64 of much gzip":             {base([]byte(gzipOf(long))), long[:mostUnzipped], "base64 of gzip"},
		"base64 of gzip cut in a letter":  {base([]byte(gzipOf("a" + long))), "a" + long[:mostUnzipped-2], "base64 of gzip"},
		"base64 of what starts as gzip":   {base([]byte("\x1f\x8b\x08 order")), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, from := decode(c.text)
			if from != c.from || !strings.HasPrefix(plain, c.plain) || c.from != "base64 of gzip" && plain != c.plain {
				t.Errorf("got %.80q from %q, want %.80q from %q", plain, from, c.plain, c.from)
			}
		})
	}
}

package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"
)

// staticBundles are the files that a page loads, and their source files. Before its first
// paint, a page waits only for one style sheet, and for theme.js if the user has settings
// that affect the look.
var staticBundles = map[string][]string{
	"htmx.min.js": {"htmx.min.js"},
	"icon.svg":    {"icon.svg"},
	"page.css":    {"app.css", "story.css", "history.css"},
	"page.js":     {"prefs.js", "reading.js", "app.js", "story.js", "history.js"},
	"theme.js":    {"theme.js"},
}

// staticFile is the content of a file, and its version, a hash.
type staticFile struct {
	text    []byte
	version string
}

// staticFiles returns the files by name. The first call bundles them.
var staticFiles = sync.OnceValue(func() map[string]staticFile {
	files := map[string]staticFile{}
	for name, parts := range staticBundles {
		var text bytes.Buffer
		for _, part := range parts {
			body, err := embeddedFiles.ReadFile("static/" + part)
			if err != nil {
				panic(err) // only for a missing file, which a test would find
			}
			text.Write(body)
			text.WriteByte('\n')
		}
		const enough = 6 // bytes
		sum := sha256.Sum256(text.Bytes())
		files[name] = staticFile{text.Bytes(), hex.EncodeToString(sum[:enough])}
	}
	return files
})

// staticAddress is the address of a file with its version: browsers cache it permanently.
func staticAddress(name string) (string, error) {
	file, ok := staticFiles()[name]
	if !ok {
		return "", fmt.Errorf("file %s: not found", name)
	}
	return controlRoot + "ui/static/" + name + "?v=" + file.version, nil
}

// iconDrawing is the icon as inline SVG: for an SVG image, a browser creates another document
// before the first paint.
func iconDrawing() template.HTML {
	drawing := strings.Replace(string(staticFiles()["icon.svg"].text), "<svg ", `<svg aria-hidden="true" `, 1)
	return template.HTML(drawing) //nolint:gosec // a file of this package
}

// serveStatic serves a file. Browsers may cache it permanently if the query has its version.
func serveStatic(w http.ResponseWriter, r *http.Request, name string) {
	file, ok := staticFiles()[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	keep := "no-cache"
	if strings.TrimPrefix(r.URL.RawQuery, "v=") == file.version {
		keep = "public, max-age=31536000, immutable"
	}
	w.Header().Set("Cache-Control", keep)
	w.Header().Set("ETag", `"`+file.version+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(file.text))
}

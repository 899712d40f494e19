package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"regexp"
	"slices"
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
	fontFile:      {fontFile},
	"page.css":    {"tokens.css", "app.css", "run.css", "message.css", "history.css"},
	"page.js":     {"prefs.js", "reading.js", "app.js", "palette.js", "run.js", "history.js"},
	"theme.js":    {"theme.js"},
}

// staticFile is the content of a file, compressed if that makes it smaller, and its
// version, a hash.
type staticFile struct {
	text, zipped []byte
	version      string
}

// staticFiles returns the files by name. The first call bundles them.
var staticFiles = sync.OnceValue(func() map[string]staticFile {
	files := map[string]staticFile{}
	for _, name := range slices.Sorted(maps.Keys(staticBundles)) { // the font before the style sheet
		var text []byte
		for _, part := range staticBundles[name] {
			body, err := embeddedFiles.ReadFile("static/" + part)
			if err != nil {
				panic(err) // only for a missing file, which a test would find
			}
			text = append(text, body...)
		}
		if name == "page.css" {
			text = bytes.ReplaceAll(text, []byte(fontFile), []byte(fontFile+"?v="+files[fontFile].version))
		}
		const enough = 6 // bytes
		sum := sha256.Sum256(text)
		file := staticFile{text: text, version: hex.EncodeToString(sum[:enough])}
		if zipped := zip(text, gzip.BestCompression); len(zipped) < len(text)*9/10 {
			file.zipped = zipped
		}
		files[name] = file
	}
	return files
})

// fontFile is the font of all texts except code.
const fontFile = "inter.woff2"

func zip(text []byte, level int) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, level) // only constants, which are valid levels
	_, _ = z.Write(text)                   // memory accepts all of it
	_ = z.Close()
	return b.Bytes()
}

// takesZipped reports whether a client accepts gzip, and says that the answer depends on it.
func takesZipped(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Add("Vary", "Accept-Encoding")
	return acceptsGzip.MatchString(strings.Join(r.Header.Values("Accept-Encoding"), ","))
}

// acceptsGzip matches gzip in a header Accept-Encoding, except with the weight 0.
var acceptsGzip = regexp.MustCompile(`(?i)(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?:1|0?\.0*[1-9])[0-9.]*\s*)?(?:,|$)`)

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
	text, tag := file.text, file.version
	if takesZipped(w, r) && file.zipped != nil {
		text, tag = file.zipped, file.version+"-gzip"
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// license is what a module says about its use.
type license struct {
	kinds []string // names of SPDX
	text  string
}

// kinds are the licences that a dependency may have, with a phrase of each. A dependency with
// another licence needs a decision, and fails the build of a release. Sorted.
var kinds = []struct {
	name   string
	phrase *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License,?\s+Version 2\.0`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms(?s:.*)and the following disclaimer`)},
	{"BSD-3-Clause", regexp.MustCompile(`(?i)may\s+be\s+used\s+to\s+endorse\s+or\s+promote`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge`)},
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? [Vv]ersion 2\.0`)},
}

// licenseFile matches the names of files with a licence, or with what a licence requires to
// pass on.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)`)

// linked are the modules in a program, the standard library first.
func linked(info *debug.BuildInfo) []debug.Module {
	list := []debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, *m)
	}
	return list
}

// notice reads the licences of all modules in the programs, and writes them to OUT/NOTICE,
// which every package contains. It names those of all platforms, so that it is the same
// whichever are built.
func (o *options) notice() error {
	modules, folders, err := o.modules()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("Understudy is licensed under the Apache License 2.0; see LICENSE. Its programs contain the following software.\n")
	o.licenses = map[string]license{}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		l, err := readLicense(folders[path])
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		o.licenses[path] = l
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n\n%s", strings.Repeat("=", 80), path, modules[path], strings.Join(l.kinds, ", "), l.text)
	}
	return os.WriteFile(filepath.Join(o.out, "NOTICE"), b.Bytes(), 0o644)
}

// modules are the versions of the modules in the programs, and the folders of their sources.
func (o *options) modules() (versions, folders map[string]string, err error) {
	versions, folders = map[string]string{}, map[string]string{}
	for _, p := range platforms {
		args := []string{"list", "-deps", "-f", "{{if .Standard}}std - {{.Root}}{{else if not .Module.Main}}{{.Module.Path}} {{.Module.Version}} {{.Module.Dir}}{{end}}"}
		text, err := o.goCommand(p, args...)
		if err != nil {
			return nil, nil, err
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.SplitN(strings.TrimSpace(line), " ", 3); len(words) == 3 {
				versions[words[0]], folders[words[0]] = words[1], words[2]
			}
		}
	}
	versions["std"] = strings.TrimPrefix(runtime.Version(), "go")
	return versions, folders, nil
}

// readLicense reads the licence files of a folder.
func readLicense(folder string) (license, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return license{}, err
	}
	var text strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenseFile.MatchString(e.Name()) {
			continue
		}
		one, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return license{}, err
		}
		text.Write(bytes.TrimSpace(one))
		text.WriteString("\n")
	}
	l := license{text: text.String()}
	for _, k := range kinds {
		if k.phrase.MatchString(l.text) {
			l.kinds = append(l.kinds, k.name)
		}
	}
	if slices.Contains(l.kinds, "BSD-3-Clause") { // it has all of BSD-2-Clause
		l.kinds = slices.DeleteFunc(l.kinds, func(k string) bool { return k == "BSD-2-Clause" })
	}
	if len(l.kinds) == 0 {
		return license{}, fmt.Errorf("no known licence in %s", folder)
	}
	return l, nil
}

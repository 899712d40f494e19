package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestLicenses(t *testing.T) {
	t.Parallel()
	const bsd = "Redistribution and use in source and binary forms, with or without modification, are permitted:\n* the above notice, this list of conditions and the following disclaimer.\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"MIT":           {map[string]string{"LICENSE": "Permission is hereby granted, free of charge, to any person"}, "MIT"},
		"Apache":        {map[string]string{"LICENSE.txt": "Apache License\n   Version 2.0, January 2004"}, "Apache-2.0"},
		"two clauses":   {map[string]string{"license": bsd}, "BSD-2-Clause"},
		"three":         {map[string]string{"COPYING": bsd + "Neither the name may be\nused to endorse or promote products"}, "BSD-3-Clause"},
		"several":       {map[string]string{"LICENSE": bsd, "LICENSE-3RD": "Permission is hereby granted, free of charge"}, "BSD-2-Clause MIT"},
		"Mozilla":       {map[string]string{"LICENSE": "Mozilla Public License, version 2.0"}, "MPL-2.0"},
		"unknown":       {map[string]string{"LICENSE": "GNU GENERAL PUBLIC LICENSE"}, ""},
		"none":          {map[string]string{"README.md": "Permission is hereby granted, free of charge"}, ""},
		"with a notice": {map[string]string{"LICENSE": "Apache License\nVersion 2.0", "NOTICE": "Copyright somebody"}, "Apache-2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for file, text := range c.files {
				expect.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600))
			}
			l, err := readLicense(folder)
			expect.Equal(t, "the licences", strings.Join(l.kinds, " "), c.want)
			expect.Equal(t, "a refusal", err != nil, c.want == "")
			for file, text := range c.files {
				expect.Equal(t, "the text of "+file, strings.Contains(l.text, text), c.want != "")
			}
		})
	}
}

// Package program explores an application that is a program: its configuration file, its
// process, and the reports of a search.
//
//	file, err := program.ReadFile("explore.yaml")
//	app := &program.Process{File: file, Command: []string{"npm", "start"}, ...}
//	result, err := explore.Run(ctx, explore.Config{Keys: file.Keys}, service, app)
//	err = program.Reports["html"](w, result)
package program

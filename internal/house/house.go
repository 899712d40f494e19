// Package house checks rules for the source of this repository: imports, locks, where
// goroutines start, what may read the clock, and what comments and pages refer to. `make test`
// runs it: the package has only tests. Kept tools check what is not particular to this
// repository: golangci-lint comments and spelling, remark links between pages.
//
// A rule is a function over the source tree. Next to it are files that break it:
// TestHouseRules checks that they are reported. To add a rule, write a file like clocks_test.go
// and add the rule to allRules. A convention without a rule is a matter of taste, which
// reviews ignore.
package house

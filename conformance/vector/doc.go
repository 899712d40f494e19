// Package vector is the steps about vector indexes. They share nothing with those of
// messages and workflows but the harness: an index is filled by a driver, and what is
// judged is the information about it.
package vector

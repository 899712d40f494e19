// Package vector contains the steps about vector indexes. They share only the harness
// with the steps about messages and workflows: a driver fills an index, and the steps
// check the information about it.
package vector

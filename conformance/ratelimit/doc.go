// Package ratelimit is the steps about the rate-limit plugin: a host application
// that carries it, the application behind it, and the storage, which is read along.
//
// Windows of a limit pass in real time, whatever drivers the target has: the plugin
// reads the clock of its own host.
package ratelimit

// Package ratelimit contains the steps about the rate-limit plugin: a host
// application with the plugin, the application behind it, and the storage, whose
// requests the suite records.
//
// Windows of a limit always pass in real time, because the plugin uses the clock of its host. A
// scenario whose requests were too slow for its windows repeats itself with longer ones.
package ratelimit

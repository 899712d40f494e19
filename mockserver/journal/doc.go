// Package journal keeps what went over the wire: the requests to the interface
// and the deliveries of an account, each with its answer, for tests to look at.
//
//	var deliveries journal.Deliveries
//	deliveries.Add(journal.Delivery{URL: "https://app.test/hook"})
//	latest, dropped := deliveries.List(10, func(d *journal.Delivery) bool { return true })
//
//	Add ──► entries, whole ──► List, Since ──► copies without credentials
//	              │
//	              └─ Forget: the oldest bodies, then the oldest entries
//
// Each journal is bounded in entries by Limit, and in bytes by whoever calls
// Forget. It keeps nothing on disk, and shows no credential: those are hidden
// when an entry is read, since most entries are never looked at.
package journal

// Package traffic records the requests to the interface and the deliveries of an
// account, each with its answer, so that tests can inspect them.
//
//	var deliveries traffic.Deliveries
//	deliveries.Add(&traffic.Delivery{URL: "https://app.test/hook"})
//	latest, dropped := deliveries.List(10, traffic.Filter{Status: 503})
//
//	Add ──► records: bytes in chunks ──► List, Since ──► entries without credentials
//	              │
//	              └─ Forget: the oldest bodies, then the oldest entries
//
// An entry is kept as a record, which is one sequence of bytes without pointers: the
// garbage collector does not look at it, and the header maps and strings of the request
// are free at once. Only large bodies and values of headers are kept by reference, shared
// with the engine. A Filter looks at the first fields of a record, and only the records
// that it selects are decoded.
//
// Limit bounds the number of entries of each journal; the caller of Forget bounds
// their bytes. Nothing is kept on disk. Credentials are masked when an entry is
// read and not when it is added, because most entries are never read.
package traffic

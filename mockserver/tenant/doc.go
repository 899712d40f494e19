// Package tenant manages the accounts of a server, each with its credentials,
// journals, stubs, faults, key-value store, clock and dialect.
//
//	tenants, err := tenant.New(tenant.Config{Accounts: accounts, ...})
//	t, err := tenants.ByToken("token") // nil: no account
//	receipts, err := t.Account.Publish(request)
//
//	credential ──► Registry ──► Tenant ──► Account: all behaviour (package engine)
//	                               ├─ Requests, Deliveries: what went over the wire
//	                               ├─ Stubs, Faults, Rewrites: rules for deliveries
//	                               └─ KV, vector indexes: further APIs, each with a token
//
// The registry finds the account of a credential; the server decides what a caller
// may do. The lock of the registry comes before all others, and no method of an
// account is called while it is held.
package tenant
